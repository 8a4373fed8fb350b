"""One small server for the live page: the standard library's, on this machine by default.

    GET /                 the page; ?query=NAME&last=SECONDS choose what is shown
    GET /status.json      the last status of every query

**Who may read.** On a loopback address, anyone on this machine. Requests that name another host are
refused, so that no web page can read it through a host name of its own that points to this machine.
On any other address a token is needed. The address in `url` has it. The first request with the
token gets a cookie and is redirected to an address without the token, so that the token does not
stay in the browser's history. Programs may send it as "Authorization: Bearer TOKEN". The server is
read-only.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
import threading
from contextlib import suppress
from http.server import ThreadingHTTPServer
from socket import AF_INET6
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from latecomer.errors import OptionError
from latecomer.live.handler import Handler
from latecomer.live.history import Status
from latecomer.live.page import page

if TYPE_CHECKING:
    from latecomer.live.board import Board
    from latecomer.live.windows import Answers

LOOPBACK = "127.0.0.1"
_TOKEN = re.compile(r"[\w.~-]+", re.ASCII)


class Server:
    """A server that shows a board until it is stopped."""

    def __init__(
        self,
        board: Board,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        token: str | None = None,
        answers: Answers | None = None,
        every: float = 2.0,
    ) -> None:
        """Bind an address; the arguments are those of `latecomer.dashboard`.

        A browser fetches the page again after `every` seconds.

        Raises:
            OptionError: The address cannot be bound, or the token has characters that cannot be
                sent.
        """
        self._board, self._answers, self._every = board, answers, every
        self._lock = threading.Lock()
        self.is_loopback = is_loopback(host)
        if token is not None and not _TOKEN.fullmatch(token):
            raise OptionError(
                "a token may only contain letters, digits and the characters - . _ ~.\n"
                "Hint: leave it out, and one is generated where it is needed."
            )
        self.token = token or (None if self.is_loopback else secrets.token_urlsafe(24))
        kind = _Six if ":" in host else ThreadingHTTPServer
        try:
            self._http = kind((host, port), type("_Handler", (Handler,), {"shown": self}))
        except OSError as error:
            raise OptionError(
                f"the page cannot be served on {host}, port {port}: {error.strerror or error}.\n"
                "Hint: choose another port, or 0 for a free one."
            ) from error
        self._host, self.port = host, int(self._http.server_address[1])
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The address of the page, with the token if there is one."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        token = f"?{urlencode({'token': self.token})}" if self.token else ""
        return f"http://{host}:{self.port}/{token}"

    def start(self) -> None:
        """Serve in a thread, which does not keep the process alive."""
        self._board.start(self._every)
        serve = self._http.serve_forever
        self._thread = threading.Thread(
            target=serve, kwargs={"poll_interval": 0.1}, name="latecomer-page", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop serving, and stop reading the statuses of queries."""
        if self._thread is not None:
            self._http.shutdown()
            self._thread.join(timeout=10)
        self._http.server_close()
        self._board.stop()

    def page(self, query: str | None, last: int | None) -> str:
        """Return the page of a query, as HTML."""
        # Rendering the page reads the answers, so only one request may do it at a time.
        with self._lock:
            return page(self._board, query, last, answers=self._answers, every=self._every)

    @property
    def cookie(self) -> str:
        """The name of the cookie. It has the port, because browsers send cookies to all ports."""
        return f"latecomer-{self.port}"

    def statuses(self) -> list[Status]:
        """Return the last status of every query."""
        return self._board.statuses()

    def knows(self, host: str) -> bool:
        """Return True if a request may name this host."""
        return not self.is_loopback or is_loopback(urlsplit(f"//{host}").hostname or "")

    def admits(self, token: str | None) -> bool:
        """Return True if a request with this token may read."""
        if self.token is None:
            return True
        return token is not None and hmac.compare_digest(token.encode(), self.token.encode())


def wait_for_the_user() -> None:
    """Wait for Ctrl-C."""
    with suppress(KeyboardInterrupt):
        threading.Event().wait()


def is_loopback(host: str) -> bool:
    """Return True for names and addresses that only this machine can reach."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Six(ThreadingHTTPServer):
    address_family = AF_INET6
