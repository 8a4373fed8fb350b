import math

import numpy as np
import pyarrow as pa
import pytest

from latecomer.operators.aggregates.extremes import Max, Min
from latecomer.operators.aggregates.slices import Slices
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


@pytest.mark.parametrize(
    "states",
    [
        pa.array([3, None, -(2**63), 2**63 - 1]),
        pa.array([3, None, 0, 2**64 - 1], pa.uint64()),
        pa.array([None, -7, 100], pa.int8()),
        pa.array([1.5, -math.inf, None, -2.0, math.nan, 0.0]),
        pa.array([1.5, -2.5, math.nan], pa.float32()),
        pa.array([True, None, False]),
        pa.array([5, None, 9], pa.timestamp("us")),
        pa.array([5, None, 9], pa.date32()),
    ],
    ids=lambda states: str(states.type),
)
@pytest.mark.parametrize("aggregate", [Min(VALUE), Max(VALUE)])
def test_the_state_of_the_highest_rank_is_the_merged_one(
    aggregate: Min | Max, states: pa.Array
) -> None:
    assert aggregate.has_ranks(pa.schema([(VALUE, states.type)]))
    # A slice begins within its buffers.
    for given in (states, states.slice(1)):
        ranks = aggregate.ranks([given])
        assert ranks is not None
        places = [i for i in range(len(given)) if given[i].is_valid]
        best = max(places, key=lambda i: ranks[i])
        expected = aggregate.merge([given], Slices(np.array([0, len(given)])))[0]
        assert repr(given[best]) == repr(expected[0])


def test_text_has_no_ranks() -> None:
    assert not Max(VALUE).has_ranks(pa.schema([(VALUE, pa.string())]))
    assert Max(VALUE).ranks([pa.array(["a"])]) is None
