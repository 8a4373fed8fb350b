"""Conditions on pairs of rows, compiled or not."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pyarrow as pa
import pytest

from latecomer.labels import function_label
from latecomer.operators.temporal.conditions import Condition

if TYPE_CHECKING:
    from collections.abc import Callable

LEFT = pa.table(
    {
        "k": ["a", "b", "c"],
        "v": [1, 2, 3],
        "x": [0.5, 1.5, 2.5],
        "flag": [True, False, True],
        "at": pa.array([10, 20, 30], pa.timestamp("us", "UTC")),
    }
)
RIGHT = pa.table({"k": ["a", "z", "c"], "w": [1, None, 2], "y": [0.0, 2.0, 2.0]})


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda left, right: left.x > right.y, [True, False, True]),
        (lambda left, _: left.flag and left.v > 1, [False, False, True]),
        (lambda left, _: left.at >= 20, [False, True, True]),
        (lambda left, _: left.v, [True, True, True]),
    ],
    ids=["numbers", "booleans", "times", "truth"],
)
def test_numbers_booleans_and_times_are_compared_in_one_loop(
    function: Callable[[Any, Any], bool], expected: list[bool]
) -> None:
    with patch.object(Condition, "_row_by_row", side_effect=AssertionError):
        assert Condition(function).holds(LEFT, RIGHT).tolist() == expected


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda left, right: left.k == right.k, [True, False, True]),
        (lambda _, right: right.w is None, [False, True, False]),
        (lambda _, right: right.w, [True, False, True]),
    ],
    ids=["text", "nulls", "truth"],
)
def test_any_other_function_is_called_with_python_values(
    function: Callable[[Any, Any], bool], expected: list[bool]
) -> None:
    assert Condition(function).holds(LEFT, RIGHT).tolist() == expected


def test_times_are_integers_to_a_function_that_reads_text_as_well() -> None:
    noon = 12 * 3_600 * 1_000_000
    condition = Condition(lambda left, right: left.k == right.k and left.at < noon)

    assert condition.holds(LEFT, RIGHT).tolist() == [True, False, True]


def test_without_pairs_the_function_is_not_called() -> None:
    condition = Condition(lambda _left, _right: 1 / 0)

    assert condition.holds(LEFT.slice(0, 0), RIGHT.slice(0, 0)).tolist() == []


def test_a_column_may_have_a_name_that_is_no_python_identifier() -> None:
    rows = pa.table({"class": [1, 2], "v": [5, 6]})

    condition = Condition(lambda left, right: left[0] + 4 == right.v)

    assert condition.holds(rows, rows).tolist() == [True, True]


@pytest.mark.parametrize(
    "function",
    [
        lambda left, right: left[2] > right.v,
        lambda left, right: [*left][2] > right.v,
        lambda left, right: max(each for each in left[2:]) > right.v,
    ],
)
def test_a_column_may_be_read_by_its_place(function: Callable[..., bool]) -> None:
    left = pa.table({"time": [1, 2], "name": ["a", "b"], "v": [5, 1]})
    right = pa.table({"v": [3, 3]})

    assert Condition(function).holds(left, right).tolist() == [True, False]


def test_a_comparison_with_a_null_is_false() -> None:
    left = pa.table({"v": pa.array([1, None, 3])})
    right = pa.table({"v": [2, 2, 2], "word": ["a", "b", None]})

    is_less = Condition(lambda left, right: left.v + 1 <= right.v)
    assert is_less.holds(left, right).tolist() == [True, False, False]
    with pytest.raises(TypeError, match="str"):
        Condition(lambda left, right: left.v < right.word).holds(left, right)


def is_near(left: object, right: object) -> bool:
    return left == right


def test_a_checkpoint_knows_a_condition_by_its_function() -> None:
    assert Condition(is_near).label == f"Condition(function={function_label(is_near)})"


class IsNear:
    def __call__(self, left: object, right: object) -> bool:
        return left == right


def test_a_checkpoint_knows_an_object_that_is_called_wherever_it_is() -> None:
    assert Condition(IsNear()).label == Condition(IsNear()).label
    assert Condition(partial(is_near, 1)).label == Condition(partial(is_near, 1)).label


def test_a_condition_gives_the_same_result_for_integers_that_do_not_fit() -> None:
    left = pa.table({"x": pa.array([2**40, 3, 2**62], pa.int64())})
    right = pa.table({"x": pa.array([2**40, 5, 4], pa.int64())})
    is_large = Condition(lambda one, other: one.x * other.x > 10)

    for rows in (3, 2, 1):
        assert is_large.holds(left.slice(0, rows), right.slice(0, rows)).tolist() == [True] * rows


def test_a_condition_that_might_not_be_exact_is_called_and_may_read_anything() -> None:
    left = pa.table({"x": [3.0], "word": ["a"]})
    right = pa.table({"x": [4.0], "word": ["b"]})
    is_five = Condition(lambda a, b: math.hypot(a.x, b.x) == 5 and a.word < b.word)

    is_five.check(("one", "other"), [left.schema, right.schema])
    assert is_five.columns([left.schema, right.schema]) == [["x", "word"]] * 2
    assert is_five.holds(left, right).tolist() == [True]


def test_a_condition_sees_short_floats_as_python_does() -> None:
    rows = pa.table({"x": pa.array([0.1], pa.float32())})

    assert not Condition(lambda one, _: one.x == 0.1).holds(rows, rows)[0]
    assert Condition(lambda one, _: one.x * one.x == 0.010000000298023226).holds(rows, rows)[0]
