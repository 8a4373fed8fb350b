from __future__ import annotations

import numpy as np
import pyarrow as pa

from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.window_join.equalities import Equalities, Pair
from latecomer.operators.window_join.known_rows import KnownRows
from latecomer.operators.window_join.tuples import Tuples

ROWS = [pa.table({"a": [5, 6], "b": ["x", None]}), pa.table({"c": [6, 7, 5]})]
NUMBERS = [np.array([7, 9]), np.array([0, 1, 4])]


def test_equal_keys_have_equal_codes_and_null_has_none() -> None:
    by_key = KnownRows(Equalities.common("a", "c"), ROWS, NUMBERS)
    by_pair = KnownRows(
        Equalities(2, (Pair(1, "c", 0, "a"), Pair(0, "b", 1, "c"))),
        [ROWS[0], pa.table({"c": ["6", "x", None]})],
        NUMBERS,
    )

    (line,) = by_key.codes.tolist()
    assert (line[0], line[1]) == (line[4], line[2])
    assert len(set(line)) == 3
    assert (by_pair.codes[1] >= 0).tolist() == [True, False, True, True, False]
    assert by_pair.codes[1, 0] == by_pair.codes[1, 3]


def test_rows_are_found_by_their_numbers() -> None:
    known = KnownRows(Equalities(2), ROWS, NUMBERS)
    streams, rows = np.array([1, 0, 1]), np.array([4, 9, 0])

    assert known.places(Tuples(streams, rows, rows, rows)).tolist() == [4, 1, 2]
    assert known.numbers.tolist() == [7, 9, 0, 1, 4]


def test_a_condition_is_asked_of_rows_by_their_places() -> None:
    known = KnownRows(Equalities(2), ROWS, NUMBERS)
    places = np.array([[0, 0, 1], [2, 4, 3]])

    assert known.holds(Condition(lambda one, other: one.a == other.c), places).tolist() == [
        False,
        True,
        False,
    ]


def test_a_condition_that_is_not_compiled_is_called() -> None:
    known = KnownRows(Equalities(2), ROWS, NUMBERS)
    places = np.array([[0, 1], [2, 2]])

    where = Condition(lambda one, other: one.b == "x" and other.c > 0)

    assert known.holds(where, places).tolist() == [True, False]
    assert known.holds(where, places[:, :0]).tolist() == []
