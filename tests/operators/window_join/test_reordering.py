from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from latecomer.arrays import read_arrays, write_arrays
from latecomer.operators.window_join.reordering import Arrivals, Reordering

if TYPE_CHECKING:
    from latecomer.operators.window_join.tuples import Tuples

Row = tuple[int, int]


def arrivals(*rows: Row, first: int = 0) -> Arrivals:
    """Make arrivals of streams and times; their rows are numbered."""
    streams, times = np.array(rows, np.int64).reshape(-1, 2).T
    return Arrivals(streams, times, np.arange(first, first + len(rows)))


def told(out: Tuples) -> list[Row]:
    return list(zip(out.streams.tolist(), out.times.tolist(), strict=True))


def test_streams_come_out_in_one_order_of_time() -> None:
    out = Reordering(2).push(arrivals((0, 5), (0, 3), (1, 4), (0, 9), (1, 8)), wait=2)

    # The wait of stream 0 is over up to 7, and that of stream 1 up to 6.
    assert told(out) == [(0, 3), (1, 4)]


def test_a_tuple_that_a_wait_does_not_reach_comes_out_of_order() -> None:
    out = Reordering(2).push(arrivals((0, 5), (1, 5), (0, 9), (1, 9), (0, 2)), wait=0)

    assert told(out) == [(0, 5), (1, 5), (0, 9), (1, 9), (0, 2)]
    assert out.delays.tolist() == [0, 0, 0, 0, 7]


def test_nothing_is_lost_between_the_buffers() -> None:
    reordering = Reordering(2)
    rows = [(0, 5), (1, 1), (0, 3), (1, 7), (0, 9)]

    out = reordering.push(arrivals(*rows), wait=3)

    assert sorted([*told(out), *told(reordering.held)]) == sorted(rows)
    assert len(reordering.held) > 0


@pytest.mark.parametrize("cut", range(6))
def test_it_does_not_matter_how_arrivals_are_cut(cut: int) -> None:
    rows = [(0, 5), (1, 1), (0, 3), (1, 7), (0, 9), (1, 9)]
    whole, cut_up = Reordering(2), Reordering(2)

    expected = told(whole.push(arrivals(*rows), wait=2))
    first = cut_up.push(arrivals(*rows[:cut]), wait=2)
    second = cut_up.push(arrivals(*rows[cut:], first=cut), wait=2)

    assert told(first + second) == expected
    assert sorted(told(cut_up.held)) == sorted(told(whole.held))


def test_streams_that_have_come_as_far_elsewhere_are_waited_for_no_longer() -> None:
    reordering = Reordering(2)
    assert told(reordering.push(arrivals((0, 5), (0, 3)), wait=1)) == []

    assert told(reordering.reach(4, wait=1)) == [(0, 3)]
    assert told(reordering.reach(6, wait=1)) == [(0, 5)]
    assert len(reordering.held) == 0


def test_at_the_end_all_comes_out_in_order_and_nothing_is_remembered() -> None:
    reordering = Reordering(2)
    reordering.push(arrivals((0, 5), (0, 3), (1, 4)), wait=100)

    assert told(reordering.finish()) == [(0, 3), (1, 4), (0, 5)]
    assert len(reordering.held) == 0
    assert told(reordering.push(arrivals((0, 1), (1, 1)), wait=0)) == [(0, 1), (1, 1)]


def test_what_is_written_goes_on_where_it_was() -> None:
    one = Reordering(2)
    one.push(arrivals((0, 5), (0, 3), (1, 4)), wait=2)
    other = Reordering(2)
    other.load(read_arrays(write_arrays(one.save())))

    more = arrivals((0, 9), (1, 9), (0, 4), first=3)

    assert told(other.push(more, wait=2)) == told(one.push(more, wait=2)) != []
