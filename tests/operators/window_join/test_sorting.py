"""K-slack and Synchronizer, against their twins, however tuples are cut into batches."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.operators.window_join.k_slack import KSlack
from latecomer.operators.window_join.synchronizer import Synchronizer
from latecomer.operators.window_join.tuples import Tuples
from latecomer.time import NEVER
from tests.support import brute

small = st.integers(-6, 12)
cuts = st.lists(st.integers(0, 25), max_size=4).map(sorted)


def parts(count: int, at: list[int]) -> list[tuple[int, int]]:
    bounds = [0, *(min(cut, count) for cut in at), count]
    return list(pairwise(bounds))


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


@given(arrivals=st.lists(st.tuples(st.integers(0, 2), small), max_size=25), at=cuts)
def test_the_synchronizer_does_what_algorithm_1_does(
    arrivals: list[tuple[int, int]], at: list[int]
) -> None:
    buffer, out = Synchronizer(3), Tuples.none()
    streams, times = (np.array([a[i] for a in arrivals], np.int64) for i in range(2))
    for start, stop in parts(len(times), at):
        rows = np.arange(start, stop)
        out += buffer.push(Tuples(streams[rows], times[rows], rows, rows))

    assert out.rows.tolist() == brute.synchronized([(s, t, 0) for s, t in arrivals], 3)
    assert sorted([*out.rows, *buffer.held.rows]) == list(range(len(times)))


def test_a_tuple_comes_out_at_the_arrival_that_is_a_wait_ahead() -> None:
    out, at = KSlack(0).push(np.array([1, 4, 3, 6, 2, 9]), np.arange(6), 2)

    assert (out.times.tolist(), at.tolist()) == ([1, 3, 4, 2, 6], [1, 3, 3, 4, 5])


def test_nothing_is_synchronized_before_every_stream_has_sent_something() -> None:
    buffer, none = Synchronizer(2), np.zeros(2, np.int64)

    out = buffer.push(Tuples(none, np.array([-5, 3]), none, none))

    assert (len(out), buffer.clock, len(buffer.held)) == (0, NEVER, 2)


def test_no_tuples_change_nothing() -> None:
    buffer = KSlack(0)
    out, at = buffer.push(np.empty(0, np.int64), np.empty(0, np.int64), 3)

    assert (len(out), len(at), buffer.newest) == (0, 0, NEVER)
    assert len(Synchronizer(2).push(Tuples.none())) == 0
