"""K-slack, against its twin, however tuples are cut into batches."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.arrays import read_arrays, write_arrays
from latecomer.operators.window_join.k_slack import KSlack
from latecomer.operators.window_join.tuples import Tuples
from latecomer.time import NEVER
from tests.support import brute
from tests.support.cuts import cuts, parts

small = st.integers(-6, 12)


@given(times=st.lists(small, max_size=25), wait=st.integers(0, 8), at=cuts)
def test_k_slack_does_what_its_twin_does_arrival_by_arrival(
    times: list[int], wait: int, at: list[int]
) -> None:
    buffer, out = KSlack(0), Tuples.none()
    for start, stop in parts(len(times), at):
        some, _ = buffer.push(np.array(times[start:stop], np.int64), np.arange(start, stop), wait)
        out += some

    assert out.rows.tolist() == brute.k_slack(times, wait)
    newest = [max(times[: i + 1]) for i in range(len(times))]
    assert [newest[i] - times[i] for i in out.rows] == out.delays.tolist()
    assert sorted([*out.rows, *buffer.held.rows]) == list(range(len(times)))


def test_a_tuple_comes_out_at_the_arrival_that_is_a_wait_ahead() -> None:
    out, at = KSlack(0).push(np.array([1, 4, 3, 6, 2, 9]), np.arange(6), 2)

    assert (out.times.tolist(), at.tolist()) == ([1, 3, 4, 2, 6], [1, 3, 3, 4, 5])


def test_no_tuples_change_nothing() -> None:
    buffer = KSlack(0)
    out, at = buffer.push(np.empty(0, np.int64), np.empty(0, np.int64), 3)

    assert (len(out), len(at), buffer.newest) == (0, 0, NEVER)


def test_a_new_wait_counts_from_the_next_arrival_on() -> None:
    buffer = KSlack(0)
    out, _ = buffer.push(np.array([1, 4]), np.arange(2), 5)
    assert len(out) == 0

    out, _ = buffer.push(np.array([4]), np.array([2]), 0)

    assert out.times.tolist() == [1, 4, 4]


def test_a_stream_that_has_come_as_far_elsewhere_lets_go_what_is_a_wait_behind() -> None:
    buffer = KSlack(0)
    buffer.push(np.array([3, 1, 6]), np.arange(3), 9)

    assert buffer.reach(9, 3).times.tolist() == [1, 3, 6]
    # What comes now is so much behind.
    out, _ = buffer.push(np.array([7]), np.array([3]), 0)
    assert out.delays.tolist() == [2]


def test_a_buffer_goes_on_where_it_was_written() -> None:
    one, other = KSlack(1), KSlack(1)
    one.push(np.array([3, 1, 6]), np.arange(3), 9)
    other.load(read_arrays(write_arrays(one.save())))

    assert other.newest == 6
    out, _ = other.push(np.array([8]), np.array([3]), 2)
    assert (out.times.tolist(), out.streams.tolist()) == ([1, 3, 6], [1, 1, 1])
