from __future__ import annotations

import threading
from typing import Any

from latecomer.live.board import Board, name_of, now
from tests.support.statuses import status


def test_every_query_has_a_history_of_its_own() -> None:
    board = Board(lambda: [status(1, "b"), status(1, "a")])

    board.ask()

    assert board.names == ["a", "b"]
    found = board.read("a")
    assert found is not None
    assert found.last.status["query"] == "a"
    assert board.read("c") is None


def test_a_source_may_know_the_past() -> None:
    board = Board(lambda: [{**status(n, "a"), "at_ms": 1_000 * n} for n in (1, 2)], lambda: 7)

    board.ask()

    found = board.read("a")
    assert found is not None
    assert [sample.at for sample in found.since(None)] == [1_000_000, 2_000_000]


def test_a_failing_source_shows_the_error_and_keeps_its_last_values() -> None:
    answers: list[Any] = [[status(1, "a")], OSError("no route\nto it"), [status(2, "a")]]

    def source() -> list[Any]:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return list(answer)

    board = Board(source)
    board.ask()
    board.ask()
    assert (board.trouble, board.names) == ("no route", ["a"])
    board.ask()
    assert board.trouble is None


def test_a_thread_reads_until_it_is_stopped() -> None:
    asked = threading.Semaphore(0)

    def source() -> list[Any]:
        asked.release()
        return []

    board = Board(source)
    board.start(every=0.001)
    for _ in range(3):
        assert asked.acquire(timeout=60)
    board.stop()

    assert board._thread is not None
    assert not board._thread.is_alive()


def test_a_query_without_a_name_has_its_id() -> None:
    assert name_of({"query": None, "id": "0b1c"}) == "0b1c"
    assert name_of({}) == "query"
    assert now() > 1_700_000_000_000_000
