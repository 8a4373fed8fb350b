from __future__ import annotations

import numpy as np

from latecomer.arrays import read_arrays, write_arrays
from latecomer.operators.window_join.tuples import Tuples

GIVEN = Tuples(np.array([0, 1, 0]), np.array([5, 6, 4]), np.array([0, 0, 1]), np.array([0, 0, 1]))


def columns(tuples: Tuples) -> list[list[int]]:
    arrays = (tuples.streams, tuples.times, tuples.rows, tuples.delays)
    return [array.tolist() for array in arrays]


def test_all_columns_of_a_tuple_are_selected() -> None:
    assert columns(GIVEN.take(np.array([2, 1]))) == [[0, 1], [4, 6], [1, 0], [1, 0]]
    assert len(GIVEN.take(np.array([], np.int64))) == 0


def test_tuples_are_put_one_after_the_other() -> None:
    more = Tuples(np.array([1]), np.array([9]), np.array([1]), np.array([0]))

    assert columns(GIVEN + more) == [[0, 1, 0, 1], [5, 6, 4, 9], [0, 0, 1, 1], [0, 0, 1, 0]]


def test_no_tuples_add_nothing() -> None:
    assert GIVEN + Tuples.none() is GIVEN
    assert Tuples.none() + GIVEN is GIVEN
    assert len(Tuples.none() + Tuples.none()) == 0


def test_what_is_written_is_read_again() -> None:
    for tuples in (GIVEN, Tuples.none()):
        again = Tuples.saved(read_arrays(write_arrays(tuples.save())))
        assert columns(again) == columns(tuples)
