from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from latecomer.live.board import Board
from latecomer.live.history import Sample
from latecomer.live.terminal import lines, view
from tests.support.statuses import START, status


def shown(board: Board, width: int = 80) -> str:
    screen = StringIO()
    Console(file=screen, width=width).print(view(board))
    return screen.getvalue()


def watched(count: int) -> Board:
    batches = iter(range(count))
    board = Board(lambda: [status(next(batches), "[bold] orders")], lambda: START)
    for _ in range(count):
        board.ask()
    return board


def test_a_query_is_shown_with_sparklines_and_its_event_time() -> None:
    printed = shown(watched(40))

    assert "[bold] orders" in printed
    assert "400,000 rows in, 673 of them late (0.16 %)" in printed
    assert "634 late, 39 no time, micro-batch 39" in printed
    assert "event time against arrival: • newest  ─ watermark" in printed
    assert "late rows by key: <device 0> & co 351" in printed
    assert "10 min 99.90 %" in printed


@pytest.mark.parametrize("width", [80, 100])
def test_nothing_is_cut_on_a_screen_of_eighty_columns(width: int) -> None:
    printed = shown(watched(40), width)

    assert "…" not in printed
    assert {len(line) for line in printed.splitlines()} == {width}


def test_each_line_has_its_last_value() -> None:
    samples = [Sample(START + n, status(n)) for n in range(3)]

    found = {name: value for name, _, value in lines(samples)}

    assert found == {
        "late": "0.07 %",
        "behind newest": "52 s",
        "behind now": "1.53 min",
        "micro-batch": "874 ms",
        "wait, recall 99 %": "1.4 s",
        "recall, wait 1 second": "90.00 %",
        "recall, wait 1 minute": "99.10 %",
        "recall 99 %": "98.56 %",
        "rows held": "900",
    }


def test_what_is_not_known_is_not_shown() -> None:
    assert list(lines([Sample(0, {}), Sample(1, {})])) == []
    board = Board(lambda: [{"query": "q"}])
    board.ask()
    assert "No rows have come yet." in shown(board)


def test_a_missing_query_or_answer_is_reported() -> None:
    def fail() -> list[dict[str, object]]:
        raise OSError("no route")

    empty, broken = Board(list), Board(fail)
    empty.ask()
    broken.ask()

    assert "There is no query yet." in shown(empty)
    assert "The source does not answer: no route" in shown(broken)
