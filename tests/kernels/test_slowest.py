import numpy as np

from latecomer.kernels.slowest import progress
from latecomer.time import NEVER


def test_each_stream_has_come_as_far_as_its_newest_tuple() -> None:
    streams, times = np.array([0, 1, 0, 1, 0]), np.array([5, 3, 9, 4, 7])

    newest, slowest, reached = progress(streams, times, np.full(2, NEVER))

    assert newest.tolist() == [5, 3, 9, 4, 9]
    assert slowest.tolist() == [5, 3, 3, 4, 4]
    assert reached.tolist() == [9, 4]


def test_tuples_go_on_where_those_before_have_come_to() -> None:
    before = np.array([9, 4])

    newest, slowest, reached = progress(np.array([1, 1]), np.array([2, 12]), before)

    assert (newest.tolist(), slowest.tolist()) == ([4, 12], [4, 9])
    assert (reached.tolist(), before.tolist()) == ([9, 12], [9, 4])
