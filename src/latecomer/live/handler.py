"""The request handler of the live page's server; `live.server` describes who may read."""

from __future__ import annotations

import json
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

if TYPE_CHECKING:
    from latecomer.live.server import Server

_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Handler(BaseHTTPRequestHandler):
    """A handler of one request; a server makes a subclass of its own."""

    shown: Server
    """The server, which has the page and the token."""
    server_version = "Latecomer"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        """Answer a request, or refuse it if it may not read."""
        asked = urlsplit(self.path)
        options = {name: values[-1] for name, values in parse_qs(asked.query).items()}
        if not self.shown.knows(self.headers.get("Host", "")):
            self._say(HTTPStatus.MISDIRECTED_REQUEST, "This server is for this machine only.")
        elif self.shown.token is not None and self.shown.admits(options.get("token")):
            self._send_on(asked.path, options)
        elif not self.shown.admits(self._token()):
            self._say(HTTPStatus.UNAUTHORIZED, "A token is needed: open the address that has it.")
        else:
            self._show(asked.path, options)

    do_HEAD = do_GET  # noqa: N815 - the name that the base class calls

    def log_message(self, *_: object) -> None:
        """Print nothing: the terminal belongs to the query."""

    def _show(self, path: str, options: dict[str, str]) -> None:
        if path == "/":
            last = options.get("last", "")
            seconds = int(last) if last.isdecimal() else None
            self._answer(HTTPStatus.OK, "text/html", self.shown.page(options.get("query"), seconds))
        elif path == "/status.json":
            text = json.dumps(self.shown.statuses(), default=str)
            self._answer(HTTPStatus.OK, "application/json", text)
        else:
            self._say(HTTPStatus.NOT_FOUND, "There is nothing here.")

    def _token(self) -> str | None:
        """Return the token of a request, from a header or a cookie."""
        kind, _, given = self.headers.get("Authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return given.strip()
        try:
            found = SimpleCookie(self.headers.get("Cookie", "")).get(self.shown.cookie)
        except CookieError:
            return None
        return found.value if found else None

    def _send_on(self, path: str, options: dict[str, str]) -> None:
        """Set a cookie with the token, and redirect the browser to the address without it."""
        rest = {name: value for name, value in options.items() if name != "token"}
        # Redirect only within this server: two leading slashes would name another host.
        there = "/" + path.lstrip("/\\") + (f"?{urlencode(rest)}" if rest else "")
        cookie = f"{self.shown.cookie}={self.shown.token}; HttpOnly; SameSite=Strict; Path=/"
        self._answer(
            HTTPStatus.SEE_OTHER, "text/plain", "", {"Location": there, "Set-Cookie": cookie}
        )

    def _say(self, status: HTTPStatus, text: str) -> None:
        self._answer(status, "text/plain", f"{text}\n")

    def _answer(
        self, status: HTTPStatus, kind: str, text: str, more: dict[str, str] | None = None
    ) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        for name, value in {**_HEADERS, **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
