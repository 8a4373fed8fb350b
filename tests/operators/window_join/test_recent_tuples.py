import numpy as np

from latecomer.arrays import read_arrays, write_arrays
from latecomer.operators.window_join.recent_tuples import RecentTuples
from latecomer.operators.window_join.tuples import Tuples


def tuples(*times: int) -> Tuples:
    return Tuples(*np.array([times] * 4, np.int64))


def test_tuples_are_told_in_the_order_in_which_they_came() -> None:
    recent = RecentTuples()
    for some in (tuples(5, 3), tuples(), tuples(9)):
        recent.add(some)

    assert recent.tuples.times.tolist() == recent.tuples.rows.tolist() == [5, 3, 9]


def test_tuples_before_a_time_are_forgotten_wherever_they_are() -> None:
    recent = RecentTuples()
    for some in (tuples(1, 2), tuples(4, 9), tuples(3, 8)):
        recent.add(some)

    recent.forget(4)
    recent.forget(2)

    assert recent.tuples.times.tolist() == [4, 9, 8]
    assert len(recent._parts) == 2
    recent.forget(10)
    assert len(recent.tuples) == 0


def test_what_is_written_is_read_again() -> None:
    one, other = RecentTuples(), RecentTuples()
    one.add(tuples(5, 3, 7))
    one.forget(4)
    other.load(read_arrays(write_arrays(one.save())))

    assert other.tuples.times.tolist() == [5, 7]
