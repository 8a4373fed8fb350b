"""Access to the live page; for its answers see test_handler.py."""

from __future__ import annotations

import pytest

from latecomer import OptionError
from latecomer.live import server as module
from latecomer.live.board import Board
from latecomer.live.server import Server, is_loopback
from tests.support.statuses import status

BOARD = Board(lambda: [status(1)])


def test_only_this_machine_is_loopback() -> None:
    assert all(map(is_loopback, ["127.0.0.1", "127.9.9.9", "::1", "localhost"]))
    assert not any(map(is_loopback, ["0.0.0.0", "10.0.0.1", "example.org", "", "::"]))  # noqa: S104


def test_away_from_loopback_there_is_always_a_token() -> None:
    # The server is bound, and never serves.
    server = Server(BOARD, host="0.0.0.0")  # noqa: S104
    try:
        assert server.token is not None
        assert len(server.token) >= 32
        assert server.url.endswith(f"/?token={server.token}")
        assert server.admits(server.token)
        assert not server.admits(None)
        assert not server.admits(server.token[:-1])
    finally:
        server.stop()


def test_on_loopback_a_token_is_optional() -> None:
    for token in (None, "secret-1"):
        server = Server(BOARD, token=token)
        assert server.token == token
        server.stop()


def test_a_token_that_no_cookie_can_hold_is_refused() -> None:
    with pytest.raises(OptionError, match="a token may only contain letters"):
        Server(BOARD, token="a; b")  # noqa: S106


def test_a_port_that_is_taken_is_refused() -> None:
    first = Server(BOARD)
    try:
        with pytest.raises(OptionError, match=rf"on 127.0.0.1, port {first.port}: .*in use"):
            Server(BOARD, port=first.port)
    finally:
        first.stop()


def test_ctrl_c_ends_the_wait_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        def wait(self) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr(module.threading, "Event", Interrupted)

    module.wait_for_the_user()
