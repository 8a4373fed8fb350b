from __future__ import annotations

import json
from http.client import HTTPConnection, HTTPResponse
from typing import TYPE_CHECKING

import pytest

from latecomer.live.board import Board
from latecomer.live.server import Server
from tests.support.statuses import status

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module", params=[None, "secret-1"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    served = Server(Board(lambda: [status(1)]), token=request.param)
    served.start()
    yield served
    served.stop()


def get(server: Server, path: str, method: str = "GET", **headers: str) -> tuple[HTTPResponse, str]:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer, body


def known(server: Server) -> dict[str, str]:
    return {"Authorization": f"Bearer {server.token}"} if server.token else {}


def test_the_page_and_the_status_can_be_read(server: Server) -> None:
    answer, page = get(server, "/?last=600", **known(server))
    assert (answer.status, page[:15]) == (200, "<!DOCTYPE html>")
    assert answer.headers["Cache-Control"] == "no-store"

    answer, text = get(server, "/status.json", **known(server))
    assert json.loads(text) == [status(1)]
    assert get(server, "/nothing", **known(server))[0].status == 404
    assert get(server, "/", "HEAD", **known(server))[1] == ""
    assert get(server, "/?last=x", **known(server))[0].status == 200


def test_nothing_can_be_changed(server: Server) -> None:
    assert get(server, "/", "POST", **known(server))[0].status == 501


def test_a_name_of_another_host_is_refused(server: Server) -> None:
    assert get(server, "/", Host="attacker.example", **known(server))[0].status == 421


def test_a_token_is_required_and_goes_into_a_cookie(server: Server) -> None:
    if server.token is None:
        assert get(server, "/")[0].status == 200
        return
    assert get(server, "/")[0].status == 401
    assert get(server, "/status.json?token=wrong")[0].status == 401
    assert get(server, "/", Authorization="Bearer wrong")[0].status == 401
    assert get(server, "/", Cookie="\x7f{}")[0].status == 401

    answer, _ = get(server, f"//evil.example/?token={server.token}&last=60")

    assert answer.status == 303
    # The location is a path of this server, although it names another host.
    assert answer.headers["Location"] == "/evil.example/?last=60"
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    assert "HttpOnly; SameSite=Strict" in answer.headers["Set-Cookie"]
    assert get(server, "/", Cookie=cookie)[0].status == 200
