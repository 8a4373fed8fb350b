import math
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from latecomer.errors import AggregateOverflowError
from latecomer.operators.aggregates.sums import Mean, Sum
from tests.operators.aggregates.running import VALUE, result, table

MOST = 2**63 - 1
WIDE = pa.decimal128(38, 0)
MANY_DIGITS, LEAST = Decimal(10**38 - 1), Decimal(1 - 10**38)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([MOST, 1], pa.int64()),
        ([-MOST, -2], pa.int64()),
        ([timedelta(microseconds=2**62)] * 2, pa.duration("us")),
        ([MANY_DIGITS, Decimal(1)], WIDE),
        ([LEAST, Decimal(-1)], WIDE),
        ([MANY_DIGITS] * 9, WIDE),
    ],
    ids=str,
)
@pytest.mark.parametrize("cuts", [(), (1,)])
def test_a_sum_that_does_not_fit_raises(
    values: list[Any], kind: pa.DataType, cuts: tuple[int, ...]
) -> None:
    with pytest.raises(AggregateOverflowError, match='the sum of column "value" does not fit'):
        result(Sum(VALUE), values, kind, cuts)


def test_an_overflow_says_what_the_sum_is() -> None:
    with pytest.raises(OverflowError, match="it is 9,223,372,036,854,775,808"):
        result(Sum(VALUE), [MOST, 1], pa.int64())


def test_sums_at_the_limits_fit() -> None:
    assert result(Sum(VALUE), [MOST - 1, 1], pa.int64()) == MOST
    assert result(Sum(VALUE), [-MOST, -1], pa.int64()) == -MOST - 1
    assert result(Sum(VALUE), [Decimal(10**38 - 2), Decimal(1)], WIDE) == MANY_DIGITS
    assert result(Sum(VALUE), [MANY_DIGITS, LEAST, Decimal(5)], WIDE) == Decimal(5)


def test_a_part_of_one_batch_may_be_larger_than_the_sum() -> None:
    assert result(Sum(VALUE), [MOST, MOST, -MOST, -5], pa.int64()) == MOST - 5


def test_small_integers_add_up_to_large_ones() -> None:
    assert result(Sum(VALUE), [127] * 1_000, pa.int8(), cuts=(300,)) == 127_000


def test_decimals_have_as_many_digits_as_in_spark() -> None:
    def types(precision: int, scale: int) -> tuple[pa.DataType, pa.DataType]:
        schema = table([], pa.decimal128(precision, scale)).schema
        return Sum(VALUE).result_type(schema), Mean(VALUE).result_type(schema)

    assert types(10, 2) == (pa.decimal128(20, 2), pa.decimal128(14, 6))
    assert types(38, 10) == (pa.decimal128(38, 10), pa.decimal128(38, 14))
    assert types(38, 37) == (pa.decimal128(38, 37), pa.decimal128(38, 38))


def test_a_mean_of_decimals_is_rounded_half_away_from_zero() -> None:
    kind = pa.decimal128(10, 2)

    thirds = [Decimal("1.00"), Decimal("1.00"), Decimal("0.00")]
    assert result(Mean(VALUE), thirds, kind) == Decimal("0.666667")
    halves = [Decimal("-0.01"), *[Decimal("0.00")] * 31]
    assert result(Mean(VALUE), halves, kind, cuts=(1,)) == Decimal("-0.000313")


def test_a_mean_of_decimals_that_does_not_fit_raises() -> None:
    with pytest.raises(AggregateOverflowError, match='the mean of column "value"'):
        result(Mean(VALUE), [Decimal(9 * 10**36)] * 2, WIDE)


def test_a_mean_of_durations_is_rounded_half_away_from_zero() -> None:
    def mean(*micros: int) -> timedelta:
        return result(Mean(VALUE), [timedelta(microseconds=n) for n in micros], pa.duration("us"))

    assert mean(1, 2) == timedelta(microseconds=2)
    assert mean(-1, -2) == timedelta(microseconds=-2)
    assert mean(-1, 0, 0) == timedelta(0)


def test_integers_too_large_for_a_sum_have_a_mean() -> None:
    assert result(Mean(VALUE), [MOST, 1], pa.int64()) == 2.0**62


def test_floats_may_overflow_to_infinity() -> None:
    assert result(Sum(VALUE), [1e308, 1e308], pa.float64(), cuts=(1,)) == math.inf
    assert math.isnan(result(Sum(VALUE), [math.inf, -math.inf], pa.float64()))
