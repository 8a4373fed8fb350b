import numpy as np
import pyarrow as pa

from latecomer.operators.aggregates.summary import SLOT
from latecomer.operators.levels import ahead
from latecomer.operators.ways import KeyWays, OneWay
from latecomer.time import FOREVER, NEVER

MARKS = np.array([NEVER, NEVER + 1, -5, 7, FOREVER - 3, FOREVER])


def test_each_key_goes_its_own_way() -> None:
    held = pa.table({SLOT: [2, 0, 2]})

    way = KeyWays(np.array([10, 3, NEVER]), np.array([15, 3, 12]))

    assert (way.lowest, way.highest) == (NEVER, 15)
    assert [side.tolist() for side in way.of(held)] == [[NEVER, 10, NEVER], [12, 15, 12]]
    assert way.now(held).tolist() == [12, 15, 12]


def test_one_way_is_that_of_all() -> None:
    before, now = OneWay(3, 5).of(pa.table({"id": [1, 2]}))

    assert (before.tolist(), now.tolist()) == ([3, 3], [5, 5])


def test_without_a_change_of_watermarks_there_are_no_steps() -> None:
    for marks in (MARKS, MARKS[:0]):
        way = KeyWays(marks, marks)
        assert way.lowest == way.highest


def test_many_watermarks_move_ahead_as_one_does() -> None:
    held = pa.table({SLOT: np.arange(len(MARKS))})

    for by in (0, 5, FOREVER - 1):
        before, _ = KeyWays(MARKS, MARKS).ahead(by).of(held)
        assert before.tolist() == [ahead(int(mark), by) for mark in MARKS]
