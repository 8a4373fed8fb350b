from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from latecomer import agg
from latecomer.errors import AggregateOverflowError
from latecomer.operators.estimates.intervals import Sample, bound_type, estimate, spread_of
from latecomer.operators.estimates.spread import Spread

if TYPE_CHECKING:
    from latecomer.operators.aggregates.base import Columns

SCHEMA = pa.schema([("x", pa.int64())])
HALF = Sample(0.5, 0.95)
Z = 1.959964


def spread(
    units: int, mean: float = 1.0, squares: float = 0.0, *, rows: int | None = None
) -> Columns:
    """Return the state of one group. Each unit has one row, unless there are more rows."""
    many = units if rows is None else rows
    sizes = many**2 / max(units, 1)
    whole = [pa.array([number], pa.int64()) for number in (units, many)]
    return whole + [pa.array([number], pa.float64()) for number in (mean, squares, 0.0, sizes)]


def integers(*values: int | None) -> Columns:
    return [pa.array([value], pa.int64()) for value in values]


def test_a_count_is_scaled_and_its_width_is_that_of_a_bernoulli_sample() -> None:
    found = estimate(agg.count(), integers(100), spread(100), HALF, SCHEMA)

    # By hand: z · √((1 − f) · 100) / f.
    half = Z * 50**0.5 / 0.5
    assert found.value.to_pylist() == [200]
    assert found.low.to_pylist() == [pytest.approx(200 - half)]
    assert found.high.to_pylist() == [pytest.approx(200 + half)]


def test_a_count_is_never_below_the_number_of_sampled_rows() -> None:
    found = estimate(agg.count(), integers(1), spread(1), HALF, SCHEMA)

    assert (found.value.to_pylist(), found.low.to_pylist()) == ([2], [1.0])


def test_a_count_of_zero_has_no_upper_bound() -> None:
    found = estimate(agg.count(), integers(0), spread(0), HALF, SCHEMA)

    assert [each.to_pylist() for each in found] == [[0], [0.0], [None]]


def test_the_width_of_a_mean_is_found_with_students_t() -> None:
    states = [pa.array([6.0]), pa.array([3])]

    found = estimate(agg.mean("x"), states, spread(3, 2.0, 6.0), HALF, SCHEMA)

    # By hand: t with 2 degrees of freedom is 4.3027; √(0.5 · 6 · 3 / 2) / 3.
    half = 4.3027 * (0.5 * 6 * 3 / 2) ** 0.5 / 3
    assert found.value.to_pylist() == [2.0]
    assert found.high.to_pylist() == [pytest.approx(2 + half, rel=1e-4)]
    assert found.low.to_pylist() == [pytest.approx(2 - half, rel=1e-4)]


def test_a_mean_of_one_unit_has_no_bounds_however_many_rows_it_has() -> None:
    states = [pa.array([6.0]), pa.array([3])]

    found = estimate(agg.mean("x"), states, spread(1, 2.0, rows=3), HALF, SCHEMA)

    assert [each.to_pylist() for each in found] == [[2.0], [None], [None]]


def test_with_all_rows_the_bounds_are_the_result_and_no_spread_is_asked_for() -> None:
    found = estimate(agg.count(), integers(7), [], Sample(1, 0.95), SCHEMA)

    assert [each.to_pylist() for each in found] == [[7], [7.0], [7.0]]


def test_results_without_bounds_are_not_scaled() -> None:
    found = estimate(agg.max("x"), integers(7), [], HALF, SCHEMA)

    assert [each.to_pylist() for each in found] == [[7], [None], [None]]
    assert found.low.type == pa.float64()


def test_only_results_with_bounds_need_a_spread() -> None:
    assert spread_of(agg.count("x", where="ok")) == Spread("x", "ok")
    assert spread_of(agg.quantile("x", 0.5)) == Spread("x")
    assert spread_of(agg.sum("x")) == spread_of(agg.mean("x")) == Spread("x", is_summed=True)
    assert spread_of(agg.min("x")) is spread_of(agg.variance("x")) is None


def test_bounds_of_numbers_are_doubles_and_those_of_durations_are_durations() -> None:
    assert bound_type(pa.int8()) == bound_type(pa.decimal128(5, 2)) == pa.float64()
    assert bound_type(pa.duration("us")) == pa.duration("us")


def test_a_sum_of_durations_has_whole_microseconds() -> None:
    schema = pa.schema([("x", pa.duration("us"))])
    states = [pa.array([timedelta(microseconds=3)], pa.duration("us")), pa.array([1])]

    found = estimate(agg.sum("x"), states, spread(1, 3.0), HALF, schema)

    # By hand: 6 ± z · √(0.5 · 9) / 0.5 = 6 ± 8.3.
    assert found.value.to_pylist() == [timedelta(microseconds=6)]
    assert found.low.to_pylist() == [timedelta(microseconds=-2)]
    assert found.high.to_pylist() == [timedelta(microseconds=14)]


def test_a_scaled_decimal_is_rounded_to_its_own_digits() -> None:
    schema = pa.schema([("x", pa.decimal128(5, 2))])
    states = [pa.array([Decimal("0.01")], pa.decimal128(38, 2)), pa.array([1])]

    found = estimate(agg.sum("x"), states, spread(1, 0.01), Sample(0.625, 0.95), schema)

    assert found.value.to_pylist() == [Decimal("0.02")]


def test_an_estimate_that_does_not_fit_is_refused_with_a_hint() -> None:
    with pytest.raises(AggregateOverflowError, match='sum of column "x" does not fit') as caught:
        estimate(agg.sum("x"), integers(2**62, 1), spread(1, 2.0**62), Sample(0.1, 0.95), SCHEMA)

    assert "Hint: use a wider type" in str(caught.value)
