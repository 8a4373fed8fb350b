from __future__ import annotations

import numpy as np

from latecomer.arrays import read_arrays, write_arrays
from latecomer.operators.window_join.saving import Savable
from latecomer.operators.window_join.tuples import Tuples


class Inner(Savable):
    saves = ("share",)

    def __init__(self) -> None:
        self.share = 0.0


class Outer(Savable):
    saves = ("count", "is_open", "times", "held", "inner", "several", "absent")

    def __init__(self) -> None:
        self.count, self.is_open = 0, False
        self.times = np.empty(0, np.int64)
        self.held = Tuples.none()
        self.inner, self.several = Inner(), [Inner(), Inner()]
        self.absent: Inner | None = None
        self.forgotten = 0


def test_every_attribute_that_is_named_is_read_again_and_no_other() -> None:
    one, other = Outer(), Outer()
    one.count, one.is_open, one.times, one.forgotten = 7, True, np.array([3, 5]), 1
    one.held = Tuples(*(np.array([each]) for each in range(4)))
    one.inner.share, one.several[0].share, one.several[1].share = 0.5, 0.25, 0.75

    other.load(read_arrays(write_arrays(one.save())))

    assert (other.count, other.is_open, other.times.tolist()) == (7, True, [3, 5])
    assert type(other.count) is int
    assert [array.tolist() for array in other.held.save().values()] == [[0], [1], [2], [3]]
    assert other.inner.share == 0.5
    assert [each.share for each in other.several] == [0.25, 0.75]
    assert (other.absent, other.forgotten) == (None, 0)
