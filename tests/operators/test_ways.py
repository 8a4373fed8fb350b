import numpy as np
import pyarrow as pa

from latecomer.operators.aggregates.summary import SLOT
from latecomer.operators.levels import ahead
from latecomer.operators.temporal.alter import Quantize, Shift
from latecomer.operators.temporal.clip import Clip
from latecomer.operators.temporal.extend import Extend
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


def test_each_key_has_a_way_for_each_wait() -> None:
    way = KeyWays(np.array([10, NEVER]), np.array([15, 3]))

    each = way.each_ahead([4, 1, 0])

    assert way.each_ahead([0]) is way
    assert each.at(np.arange(6)).tolist() == [19, 16, 15, 7, 4, 3]
    before, _ = each.of(pa.table({SLOT: np.arange(6)}))
    assert before.tolist() == [14, 11, 10, NEVER, NEVER, NEVER]


def test_the_way_behind_an_operator_is_as_far_as_its_output_is_complete() -> None:
    slots = np.arange(len(MARKS))
    for spec in (Shift(-4), Shift(4), Extend(-6), Quantize(10, 5, 2), Clip(6)):
        found = KeyWays(MARKS, MARKS).through(spec).at(slots)
        # No watermark but the first and the last is that far away.
        inner = [at for at, mark in enumerate(MARKS) if abs(int(mark) + 5) < 20]
        assert [int(found[at]) for at in inner] == [spec.passes(int(MARKS[at])) for at in inner]
        assert (found[0], found[-1]) == (NEVER, FOREVER)


def test_a_way_moves_if_any_watermark_does_and_ends_with_the_stream() -> None:
    still, ended = KeyWays(MARKS[:4], MARKS[:4]), KeyWays(MARKS[2:4], MARKS[-1:].repeat(2))

    assert (still.moves, still.is_final) == (False, False)
    assert (ended.moves, ended.is_final) == (True, True)
    assert KeyWays(np.array([3, 4]), np.array([3, 5])).moves
    assert [OneWay(3, each).is_final for each in (5, FOREVER)] == [False, True]
    assert OneWay(3, 5).now(pa.table({"id": [1, 2]})).tolist() == 5
