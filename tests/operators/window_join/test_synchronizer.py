"""The Synchronizer, against Algorithm 1, however tuples are cut into batches."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.arrays import read_arrays, write_arrays
from latecomer.operators.window_join.synchronizer import Synchronizer
from latecomer.operators.window_join.tuples import Tuples
from latecomer.time import NEVER
from tests.support import brute
from tests.support.cuts import cuts, parts

small = st.integers(-6, 12)


def tuples(*rows: tuple[int, int]) -> Tuples:
    """Make tuples of streams and times."""
    streams, times = np.array(rows, np.int64).reshape(-1, 2).T
    nothing = np.zeros(len(rows), np.int64)
    return Tuples(streams, times, nothing, nothing)


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


def test_nothing_is_synchronized_before_every_stream_has_sent_something() -> None:
    buffer, none = Synchronizer(2), np.zeros(2, np.int64)

    out = buffer.push(Tuples(none, np.array([-5, 3]), none, none))

    assert (len(out), buffer.clock, len(buffer.held)) == (0, NEVER, 2)


def test_no_tuples_change_nothing() -> None:
    buffer = Synchronizer(2)

    assert len(buffer.push(Tuples.none())) == 0
    assert buffer.clock == NEVER


def test_a_tuple_at_or_before_the_clock_comes_out_at_once() -> None:
    buffer = Synchronizer(2)
    buffer.push(tuples((0, 5), (1, 5)))

    assert buffer.clock == 5
    assert buffer.push(tuples((0, 5), (1, 3), (0, 6))).times.tolist() == [5, 3]


def test_streams_that_have_come_as_far_elsewhere_are_waited_for_no_longer() -> None:
    buffer = Synchronizer(2)
    buffer.push(tuples((0, 5), (0, 9)))

    assert buffer.reach(6, tuples((0, 4), (0, 8))).times.tolist() == [4, 5]
    assert sorted(buffer.held.times.tolist()) == [8, 9]


def test_a_buffer_goes_on_where_it_was_written() -> None:
    one, other = Synchronizer(2), Synchronizer(2)
    one.push(tuples((0, 5), (0, 9)))
    other.load(read_arrays(write_arrays(one.save())))

    assert other.push(tuples((1, 7))).times.tolist() == [5, 7]
