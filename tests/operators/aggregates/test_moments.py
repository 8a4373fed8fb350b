import math
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.operators.aggregates.moments import Stddev, Variance
from tests.operators.aggregates.running import VALUE, result


def test_fewer_than_two_numbers_have_no_variance() -> None:
    for values in ([], [None], [1.0], [math.nan], [1.0, None]):
        found = result(Variance(VALUE), [None, *values], pa.float64())
        assert found is None


def test_a_nan_makes_the_result_a_nan() -> None:
    for odd in (math.nan, math.inf, -math.inf):
        for cuts in ((), (1,)):
            assert math.isnan(result(Variance(VALUE), [1.0, odd], pa.float64(), cuts))
            assert math.isnan(result(Stddev(VALUE), [odd, 1.0, 2.0], pa.float64(), cuts))


def test_decimals_are_read_as_doubles() -> None:
    found = result(Variance(VALUE), [Decimal("1.5"), Decimal("2.5")], pa.decimal128(10, 1))

    assert found == 0.5


@given(st.lists(st.integers(0, 9), max_size=8))
def test_large_numbers_close_together_do_not_cancel_out(cuts: list[int]) -> None:
    values = [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16] * 2

    # The mean, near 1e9, is exact to 1e-7. A sum of squares, 8e18, would be exact to thousands.
    assert result(Variance(VALUE), values, pa.float64(), cuts) == pytest.approx(180 / 7, rel=1e-7)


def test_the_largest_doubles_do_not_overflow_the_mean() -> None:
    assert result(Variance(VALUE), [1e308, 1e308, 1e308], pa.float64(), cuts=(1,)) == 0.0
    assert result(Variance(VALUE), [1e200, -1e200], pa.float64()) == math.inf
