import numpy as np

from latecomer.kernels.adwin import adwin_state
from latecomer.kernels.delays import remember


def test_enough_buckets_are_kept_and_others_are_not_counted() -> None:
    past = np.zeros((3, 40), np.int64), np.zeros(5, np.int64), np.zeros(5, np.int64)
    delays, skews = np.array([31, *[0] * 19, 15]), np.array([9, *[1] * 19, 1 << 40])
    reach = np.ones(1)

    # A step is 10 long, no delay counts for more than 3 steps, and 7 tuples are enough.
    remember((delays, skews), (10, 3, 100, 7, 0.002), adwin_state(), reach, past)

    (steps, _, many), counts, (start, end, tuples, skew, largest) = past
    assert reach[0] == 3
    # There are five buckets of one and one of two, without the first tuple and its longest delay.
    assert (end, tuples, many[start:end].sum()) == (21, 7, 7)
    assert steps[start:end].tolist() == [0, 0, 0, 0, 0, 0, 2]
    assert counts.tolist() == [6, 0, 1, 0, 0]
    assert (skew, largest) == (6 + 100, 2)
