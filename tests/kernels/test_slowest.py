import numpy as np

from latecomer.kernels.slowest import progress
from latecomer.time import FOREVER, NEVER


def test_a_tuple_is_behind_its_stream_and_that_ahead_of_the_slowest() -> None:
    streams, times = np.array([0, 1, 0, 1, 0]), np.array([5, 3, 9, 4, 7])

    delays, ahead, reached = progress(streams, times, np.full(2, NEVER))

    assert delays.tolist() == [0, 0, 0, 0, 2]
    assert ahead.tolist() == [0, 0, 6, 0, 5]
    assert reached.tolist() == [9, 4]


def test_tuples_go_on_where_those_before_have_come_to() -> None:
    before = np.array([9, 4])

    delays, ahead, reached = progress(np.array([1, 1]), np.array([2, 12]), before)

    assert (delays.tolist(), ahead.tolist()) == ([2, 0], [0, 3])
    assert (reached.tolist(), before.tolist()) == ([9, 12], [9, 4])


def test_a_difference_too_large_for_a_number_is_for_ever() -> None:
    before = np.array([FOREVER - 1, FOREVER - 1])

    delays, ahead, _ = progress(np.array([0]), np.array([NEVER + 1]), before)

    assert (delays.tolist(), ahead.tolist()) == ([FOREVER], [0])
