import math
from datetime import timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from latecomer.operators.aggregates.quantiles import Quantile
from tests.operators.aggregates.running import VALUE, result

NAN, INFINITY = math.nan, math.inf


@pytest.mark.parametrize(
    ("values", "q", "expected"),
    [
        ([1.0, 2.0, NAN, -INFINITY, INFINITY], 0.0, -INFINITY),
        ([1.0, 2.0, NAN, -INFINITY, INFINITY], 0.25, 1.0),
        ([1.0, 2.0, NAN, -INFINITY, INFINITY], 0.75, INFINITY),
        ([1.0, 2.0, NAN, -INFINITY, INFINITY], 1.0, NAN),
        ([1.0, NAN], 0.0, 1.0),
        ([1.0, NAN], 0.25, NAN),
        ([INFINITY, INFINITY], 0.5, INFINITY),
        ([INFINITY, -INFINITY], 0.5, NAN),
        ([1e308, -1e308, 5.0], 0.1, -8e307),
        ([1.0, INFINITY], 0.5, INFINITY),
        ([-INFINITY, 1.0], 0.5, NAN),
        ([0.1, 0.2, 0.7, 5.3, 1e15], 0.123456, 0.1493824),
    ],
)
def test_results_are_those_that_spark_gives(values: list[float], q: float, expected: float) -> None:
    for cuts in ((), (1,), (1, 2)):
        found = result(Quantile(VALUE, q=q), values, pa.float64(), cuts)
        assert found == expected or (math.isnan(found) and math.isnan(expected))


def test_integers_and_decimals_give_doubles() -> None:
    assert result(Quantile(VALUE, q=0.3), [2**63 - 1, 2**63 - 2], pa.int64()) == 2.0**63
    decimals = [Decimal("1.5"), Decimal("2.5"), Decimal("3.0")]
    assert result(Quantile(VALUE, q=0.3), decimals, pa.decimal128(2, 1)) == 2.1


def test_durations_give_a_duration() -> None:
    days = [timedelta(days=1), timedelta(days=2)]

    found = result(Quantile(VALUE, q=0.3), days, pa.duration("us"))

    assert found == timedelta(days=1, seconds=25_920)
