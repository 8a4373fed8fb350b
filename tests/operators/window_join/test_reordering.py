import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.arrays import read_arrays, write_arrays
from latecomer.operators.window_join.reordering import Arrivals, Reordering
from latecomer.operators.window_join.tuples import Tuples
from tests.support import brute
from tests.support.cuts import cuts, parts

Row = tuple[int, int]


def arrivals(*rows: Row, first: int = 0) -> Arrivals:
    """Return arrivals of streams and times, with numbered rows."""
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
def test_arrivals_may_be_cut_anywhere(cut: int) -> None:
    rows = [(0, 5), (1, 1), (0, 3), (1, 7), (0, 9), (1, 9)]
    whole, cut_up = Reordering(2), Reordering(2)

    expected = told(whole.push(arrivals(*rows), wait=2))
    first = cut_up.push(arrivals(*rows[:cut]), wait=2)
    second = cut_up.push(arrivals(*rows[cut:], first=cut), wait=2)

    assert told(first + second) == expected
    assert sorted(told(cut_up.held)) == sorted(told(whole.held))


def test_streams_that_are_as_far_in_another_bucket_are_not_waited_for() -> None:
    reordering = Reordering(2)
    assert told(reordering.push(arrivals((0, 5), (0, 3)), wait=1)) == []

    assert told(reordering.reach(4, wait=1)) == [(0, 3)]
    assert told(reordering.reach(6, wait=1)) == [(0, 5)]
    assert len(reordering.held) == 0


def test_at_the_end_all_tuples_come_out_in_order_and_none_is_held() -> None:
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


small = st.integers(-6, 12)


@given(times=st.lists(small, max_size=25), wait=st.integers(0, 8), at=cuts)
def test_one_stream_is_sorted_as_k_slack_does_arrival_by_arrival(
    times: list[int], wait: int, at: list[int]
) -> None:
    buffer, out = Reordering(1), Tuples.none()
    for start, stop in parts(len(times), at):
        out += buffer.push(arrivals(*((0, t) for t in times[start:stop]), first=start), wait)

    assert out.rows.tolist() == brute.k_slack(times, wait)
    newest = [max(times[: i + 1]) for i in range(len(times))]
    assert [newest[i] - times[i] for i in out.rows] == out.delays.tolist()
    assert sorted([*out.rows, *buffer.held.rows]) == list(range(len(times)))


@given(rows=st.lists(st.tuples(st.integers(0, 2), small), max_size=25), at=cuts)
def test_without_a_wait_streams_come_together_as_by_algorithm_1(
    rows: list[Row], at: list[int]
) -> None:
    buffer, out = Reordering(3), Tuples.none()
    for start, stop in parts(len(rows), at):
        out += buffer.push(arrivals(*rows[start:stop], first=start), 0)

    assert out.rows.tolist() == brute.synchronized([(s, t, 0) for s, t in rows], 3)
    assert sorted([*out.rows, *buffer.held.rows]) == list(range(len(rows)))


def test_a_new_wait_counts_from_the_next_arrival_on() -> None:
    buffer = Reordering(1)
    assert told(buffer.push(arrivals((0, 1), (0, 4)), wait=5)) == []

    assert told(buffer.push(arrivals((0, 4), first=2), wait=0)) == [(0, 1), (0, 4), (0, 4)]


def test_nothing_comes_out_before_every_stream_has_sent_something() -> None:
    buffer = Reordering(2)

    assert told(buffer.push(arrivals((0, -5), (0, 3)), wait=0)) == []
    assert (buffer.oldest, len(buffer)) == (-5, 2)


def test_a_delay_counts_from_where_a_stream_has_come_elsewhere() -> None:
    buffer = Reordering(1)
    buffer.push(arrivals((0, 3), (0, 1), (0, 6)), wait=9)

    assert told(buffer.reach(9, wait=3)) == [(0, 1), (0, 3), (0, 6)]
    assert buffer.push(arrivals((0, 7), first=3), wait=0).delays.tolist() == [2]
