from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from latecomer.operators.window_join.arrival_order import arrivals_of
from latecomer.time import TimeColumn

TIME, ARRIVAL = TimeColumn("time", "us"), TimeColumn("came", "us")


def order(*streams: list[tuple[str, int | None]], known: list[bool]) -> str:
    """Return rows in one order. A row is a name and an arrival; its letter is its time."""
    tables = [
        pa.table(
            {
                "time": pa.array([ord(name) for name, _ in rows], pa.int64()),
                "came": pa.array([came for _, came in rows], pa.int64()),
            }
        )
        for rows in streams
    ]
    found = arrivals_of(
        tables,
        [TIME] * len(streams),
        [ARRIVAL if each else None for each in known],
        [np.arange(len(rows)) for rows in streams],
    )
    return "".join(map(chr, found.times.tolist()))


def test_arrivals_decide_where_every_stream_has_them() -> None:
    first, second = [("a", 1), ("b", 9), ("c", 4)], [("x", 5), ("y", 3)]

    assert order(first, second, known=[True, True]) == "aycxb"


def test_rows_that_arrived_together_are_in_the_order_of_their_streams() -> None:
    assert order([("a", 2), ("b", 2)], [("x", 2)], known=[True, True]) == "abx"


def test_a_row_without_an_arrival_is_the_last() -> None:
    assert order([("a", None), ("b", 9)], [("x", 5)], known=[True, True]) == "xba"


def test_without_arrivals_streams_have_come_side_by_side() -> None:
    first, second = [(name, None) for name in "abcd"], [(name, None) for name in "xy"]

    assert order(first, second, known=[False, False]) == "axbcyd"


def test_the_order_of_a_stream_that_has_arrivals_is_kept_beside_one_that_has_none() -> None:
    first, second = [("a", 9), ("b", 1)], [("x", None), ("y", None)]

    assert order(first, second, known=[True, False]) == "bxay"


@pytest.mark.parametrize("known", [[True, True], [False, False]])
def test_a_stream_may_have_no_rows(known: list[bool]) -> None:
    assert order([], [("x", 1), ("y", 2)], known=known) == "xy"
    assert order([], [], known=known) == ""


def test_each_row_has_its_stream_and_its_number() -> None:
    rows = [pa.table({"time": [1], "came": [7]}), pa.table({"time": [2], "came": [6]})]

    found = arrivals_of(rows, [TIME] * 2, [ARRIVAL] * 2, [np.array([40]), np.array([50])])

    assert found.streams.tolist() == [1, 0]
    assert found.rows.tolist() == [50, 40]
    assert found.times.tolist() == [2, 1]
