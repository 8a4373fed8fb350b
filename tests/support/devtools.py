"""Control headless Chromium through the pipe of its developer tools.

Messages are JSON followed by a zero byte. They are written to file descriptor 3 of the browser and
read from file descriptor 4.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import signal
import time
from typing import TYPE_CHECKING, Any, Self

from tests.support.browser import CHROMIUM, FLAGS

if TYPE_CHECKING:
    from pathlib import Path

_PATIENCE = 60


class Browser:
    """A browser with one page, which records its console messages."""

    def __init__(self, profile: Path) -> None:
        assert CHROMIUM is not None
        self.console: list[str] = []
        self._number = 0
        self._unread = b""
        from_us, self._write = os.pipe()
        self._read, to_us = os.pipe()
        # Neither end of the pipes may have one of the two numbers that the browser gets.
        from_us, to_us = (os.dup2(end, end + 50) for end in (from_us, to_us))
        arguments = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "--remote-debugging-pipe"]
        self._log = profile.with_suffix(".log")
        self._pid = os.posix_spawn(
            CHROMIUM,
            arguments,
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 2, str(self._log), os.O_WRONLY | os.O_CREAT, 0o600),
                (os.POSIX_SPAWN_DUP2, from_us, 3),
                (os.POSIX_SPAWN_DUP2, to_us, 4),
            ],
            setpgroup=0,
        )
        for end in (from_us, to_us, from_us - 50, to_us - 50):
            os.close(end)
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._read)
        os.close(self._write)

    def call(self, method: str, **arguments: object) -> dict[str, Any]:
        """Call a method of the developer tools, and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": arguments}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, url: str) -> None:
        """Open a page, and wait until it has loaded."""
        self.ask("window.isOld = true")
        went = self.call("Page.navigate", url=url)
        assert "errorText" not in went, went
        self.wait_for_a_page()

    def wait_for_a_page(self) -> None:
        """Wait until the page that was marked as old has been replaced."""
        self.wait_for("!window.isOld && document.readyState === 'complete'")

    def ask(self, expression: str) -> Any:  # noqa: ANN401 - whatever JavaScript answers
        """Return the value of a JavaScript expression."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + _PATIENCE
        while not self.ask(condition):
            assert time.monotonic() < end, f"never true: {condition}"
            time.sleep(0.02)

    def click(self, selector: str) -> None:
        """Click with the mouse in the middle of an element."""
        place = self.ask(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
            " return [r.left + r.width / 2, r.top + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=place[0],
                y=place[1],
                button="left",
                clickCount=1,
            )

    def show(self, width: int, scheme: str) -> None:
        """Set the width of the window, and the preferred color scheme."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def photograph(self) -> bytes:
        """Return a picture of the whole page, as PNG."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._read], [], [], _PATIENCE)
            more = os.read(self._read, 1 << 16) if ready else b""
            assert more, f"the browser does not answer; see {self._log}"
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\0")
        found: dict[str, Any] = json.loads(line)
        if found.get("method") in {"Runtime.consoleAPICalled", "Runtime.exceptionThrown"}:
            self.console.append(line.decode())
        elif found.get("method") == "Log.entryAdded":
            self.console.append(found["params"]["entry"]["text"])
        return found
