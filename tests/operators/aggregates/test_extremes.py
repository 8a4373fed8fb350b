import math

import pyarrow as pa

from latecomer.operators.aggregates.extremes import Max, Min
from tests.operators.aggregates.running import VALUE, result


def test_nan_is_larger_than_any_number() -> None:
    values = [math.inf, math.nan, 1.0]

    assert math.isnan(result(Max(VALUE), values, pa.float64(), cuts=(1,)))
    assert result(Min(VALUE), values, pa.float64(), cuts=(1,)) == 1.0
    assert math.isnan(result(Min(VALUE), [math.nan], pa.float64()))


def test_a_zero_comes_out_without_its_sign() -> None:
    for values in ([0.0, -0.0], [-0.0, 0.0], [-0.0]):
        for aggregate in (Min(VALUE), Max(VALUE)):
            assert math.copysign(1, result(aggregate, values, pa.float32())) == 1


def test_text_compares_by_its_bytes() -> None:
    assert result(Max(VALUE), ["z", "é", "Z"], pa.string()) == "é"
    assert result(Min(VALUE), ["b", "ab", "a"], pa.large_string()) == "a"


def test_integers_beyond_the_doubles_are_told_apart() -> None:
    assert result(Max(VALUE), [2**62 + 1, 2**62], pa.int64()) == 2**62 + 1
