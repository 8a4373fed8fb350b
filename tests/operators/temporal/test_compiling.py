from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pytest

from latecomer.errors import ConditionError
from latecomer.operators.temporal.compiling import (
    check_arguments,
    columns_read,
    explained,
    is_compilable,
    not_compiled,
)
from latecomer.operators.temporal.conditions import Condition

if TYPE_CHECKING:
    from collections.abc import Callable


def is_near(left: Any, right: Any) -> bool:  # noqa: ANN401
    return left.x < right.x


class IsNear:
    def __call__(self, left: object, right: object) -> bool:
        return left == right


@pytest.mark.parametrize(
    "function",
    [
        lambda left, right: left.x > right.x and left.x != 3,
        lambda left, right: abs(left.x - right.x) < 2,
    ],
)
def test_a_function_that_reads_columns_by_name_may_be_compiled(
    function: Callable[..., bool],
) -> None:
    assert is_compilable(function)


def unpacks(left: Any, right: Any) -> bool:  # noqa: ANN401
    x, _ = left
    return x == right.x


def iterates(left: Any, _right: object) -> bool:  # noqa: ANN401
    return any(value for value in left)


@pytest.mark.parametrize(
    "function",
    [lambda left, _: left[0] > 1, lambda left, _: left[1:], unpacks, iterates, IsNear(), max],
)
def test_a_function_that_reads_columns_by_place_may_not(function: Callable[..., Any]) -> None:
    assert not is_compilable(function)


class Row(NamedTuple):
    price: int
    limit: int


def _with_helper(row: Row) -> bool:
    return _is_low(row)


def _is_low(row: Row) -> bool:
    return row.price < 3


def _with_inner(row: Row) -> bool:
    def inner() -> bool:
        return row.price < 3

    return inner()


def _with_another(row: Row, other: Row) -> bool:
    row = other
    return row.price < 3


def test_the_columns_that_a_function_reads_are_found() -> None:
    assert columns_read(_is_low.__code__) == {"price"}
    both = lambda order, quote: order.limit > 3 and quote.price <= order.limit  # noqa: E731
    assert columns_read(both.__code__) == {"limit", "price"}
    assert columns_read((lambda _: True).__code__) == set()


@pytest.mark.parametrize(
    "function",
    [
        _with_helper,
        _with_inner,
        _with_another,
        lambda row: [row.price, row],
        lambda row, other: row == other,
        lambda row, other: (row if row.price < 3 else other).limit,
        lambda row: row._1 < 3,
        lambda *rows: rows[0].price < 3,
    ],
)
def test_a_function_that_does_anything_else_with_a_row_may_read_all(
    function: Callable[..., Any],
) -> None:
    assert columns_read(function.__code__) is None


def test_a_condition_must_take_one_row_of_each_stream() -> None:
    check_arguments(is_near, ("left", "right"))
    check_arguments(lambda *rows: bool(rows), ("a", "b", "c"))

    with pytest.raises(ConditionError) as caught:
        check_arguments(is_near, ("a", "b", "c"))

    assert str(caught.value) == (
        "the condition is called with one row of each of a, b, c, in this order: "
        "too many positional arguments.\nHint: for example lambda a, b, c: ..."
    )


def test_a_function_without_a_signature_is_accepted() -> None:
    check_arguments(max, ("left", "right"))


def compares_with_text(left: Any, right: Any) -> bool:  # noqa: ANN401
    bonus = right.x + 1
    return left.name == bonus


def test_a_failure_to_compile_is_explained_with_its_line() -> None:
    schema = pa.schema({"x": pa.int64(), "name": pa.string()})

    with pytest.raises(ConditionError) as caught:
        Condition(compares_with_text).check(("left", "right"), [schema, schema])

    first, place, hint = str(caught.value).split("\n")
    assert first.startswith("the condition cannot be compiled: Unknown attribute 'name'")
    assert place.endswith(": return left.name == bonus")
    assert place.startswith("  test_compiling.py, line ")
    assert "arithmetic, comparisons and math on left.x, right.x." in hint


def test_color_codes_of_the_compiler_are_removed() -> None:
    text = "\x1b[1m\x1b[1mFailed in nopython mode pipeline (step: ...)\n\x1b[1mno way\x1b[0m\n"

    assert "cannot be compiled: no way.\n" in str(explained(ValueError(text), is_near, "left.x"))


def test_without_a_place_the_first_line_of_the_function_is_shown() -> None:
    error = explained(ValueError("no way"), is_near, "left.x")

    assert "cannot be compiled: no way.\n" in str(error)
    assert (
        str(error)
        .split("\n")[1]
        .endswith(": def is_near(left: Any, right: Any) -> bool:  # noqa: ANN401")
    )


def test_the_errors_of_the_compiler_are_known() -> None:
    import numba

    @numba.njit
    def divides(text: str) -> float:
        return text / 2

    with pytest.raises(not_compiled()):
        divides("a")
