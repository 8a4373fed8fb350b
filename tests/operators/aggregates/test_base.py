from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from latecomer.errors import ColumnNotFoundError, ColumnTypeError
from latecomer.operators.aggregates.base import (
    Input,
    column_type,
    doubles,
    is_number,
    lists,
    one_array,
)
from latecomer.operators.aggregates.distinct import CountDistinct
from latecomer.operators.aggregates.slices import Slices
from latecomer.operators.aggregates.sums import Sum

GIVEN = Input(
    pa.table(
        {"x": [1, None, 3, 4, None], "y": [9, 8, None, 6, 5], "ok": [True, True, True, None, False]}
    ),
    np.array([10, 20, 30, 40, 50]),
    Slices(np.array([0, 2, 5])),
)


def test_rows_that_fail_the_filter_leave_their_slice_and_null_is_no_success() -> None:
    (x,), times, slices = GIVEN.filtered("ok", "x")

    assert x.to_pylist() == [1, None, 3]
    assert times.tolist() == [10, 20, 30]
    assert slices.bounds.tolist() == [0, 2, 3]


def test_rows_that_are_null_in_any_column_are_not_counted() -> None:
    (x, y), times, slices = GIVEN.counted(None, "x", "y")

    assert (x.to_pylist(), y.to_pylist()) == ([1, 4], [9, 6])
    assert times.tolist() == [10, 40]
    assert slices.bounds.tolist() == [0, 1, 2]


def test_a_slice_without_rows_that_count_is_empty() -> None:
    (x,), _, slices = GIVEN.counted("ok", "y")

    assert x.to_pylist() == [9, 8]
    assert slices.bounds.tolist() == [0, 2, 2]


def test_without_a_filter_and_without_nulls_nothing_is_copied() -> None:
    given = Input(pa.table({"x": [1, 2]}), np.array([1, 2]), Slices(np.array([0, 2])))

    _, times, slices = given.counted(None, "x")

    assert times is given.times
    assert slices is given.slices


def test_the_chunks_of_a_column_are_put_together() -> None:
    assert one_array(pa.chunked_array([[1, 2], [3]])).to_pylist() == [1, 2, 3]
    assert one_array(pa.chunked_array([[1]])).to_pylist() == [1]
    assert one_array(pa.chunked_array([], pa.string())).type == pa.string()


def test_the_type_of_a_missing_column_is_refused_by_name() -> None:
    schema = pa.schema([("x", pa.int8()), ("y", pa.string())])

    assert column_type(schema, "x") == pa.int8()
    with pytest.raises(ColumnNotFoundError, match='no column "z"; the stream has "x", "y"'):
        column_type(schema, "z")


def test_a_wrong_type_is_refused_with_the_name_of_the_aggregate_and_a_hint() -> None:
    error = Sum("price").refuse(pa.string(), "numbers")

    assert isinstance(error, ColumnTypeError)
    assert str(error) == (
        'sum needs numbers; column "price" is of type string.\n'
        "Hint: cast it first, for example with_columns(price=...)."
    )
    computed = CountDistinct("_lc_input_0", texts=(("column", "struct(price)"),))
    assert str(computed.refuse(pa.string(), "values that can be compared")) == (
        "count_distinct needs values that can be compared; struct(price) is of type string.\n"
        'Hint: cast it, for example count_distinct("CAST(struct(price) AS DOUBLE)").'
    )


def test_an_aggregate_reads_its_column_and_its_filter() -> None:
    assert Sum("x").columns == ("x",)
    assert Sum("x", "ok").columns == ("x", "ok")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([Decimal("1.25"), Decimal("-3.00")]), [1.25, -3.0]),
        (pa.array([timedelta(milliseconds=2)], pa.duration("us")), [2000.0]),
        (pa.array([2**53 + 1]), [2.0**53]),
        (pa.array([0.1], pa.float32()), [float(np.float32(0.1))]),
    ],
    ids=lambda each: str(getattr(each, "type", "")),
)
def test_numbers_become_doubles(values: pa.Array, expected: list[float]) -> None:
    found = doubles(values)

    assert found.dtype == np.float64
    assert found.tolist() == expected


def test_times_and_texts_are_no_numbers() -> None:
    numbers = [pa.uint8(), pa.int64(), pa.float32(), pa.decimal128(5, 2)]
    others = [pa.bool_(), pa.string(), pa.duration("us"), pa.date32(), pa.timestamp("us")]

    assert [is_number(kind) for kind in numbers] == [True] * 4
    assert [is_number(kind) for kind in others] == [False] * 5


def test_lists_are_cut_where_the_bounds_say() -> None:
    found = lists(np.array([0, 2, 2, 3]), pa.array(["a", "b", "c"]))

    assert found.to_pylist() == [["a", "b"], [], ["c"]]
