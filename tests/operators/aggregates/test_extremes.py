import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from latecomer.operators.aggregates.extremes import Max, Min, order_keys
from latecomer.operators.aggregates.slices import Slices
from tests.operators.aggregates.catalogue import NEGATIVE_NAN
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


def test_integers_beyond_the_doubles_are_distinguished() -> None:
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


@pytest.mark.parametrize(
    ("ascending", "kind"),
    [
        (
            [-math.inf, -1e300, -1.5, -5e-324, 0.0, 5e-324, 1.5, 1e300, math.inf, math.nan],
            pa.float64(),
        ),
        ([-math.inf, -1.5, 0.0, 1.5, math.inf, math.nan], pa.float32()),
        ([-(2**63), -1, 0, 1, 2**63 - 1], pa.int64()),
        ([0, 255], pa.uint8()),
        ([0, 2**63 - 1, 2**63, 2**64 - 1], pa.uint64()),
        ([False, True], pa.bool_()),
        (["", "A", "a", "aa", "z", "ä"], pa.string()),
        ([b"", b"\x00", b"\x00\x01", b"\xff"], pa.binary()),
        ([Decimal("-9.99"), Decimal("0.00"), Decimal("10.00")], pa.decimal128(10, 2)),
        ([date(1900, 1, 1), date(1970, 1, 1), date(2024, 2, 29)], pa.date32()),
        ([datetime(1969, 7, 20), datetime(2024, 2, 29)], pa.timestamp("us")),  # noqa: DTZ001
    ],
    ids=str,
)
def test_keys_ascend_as_values_do(ascending: list[Any], kind: pa.DataType) -> None:
    keys = order_keys(pa.array(ascending, kind))

    assert keys.dtype == np.int64
    assert (keys[1:] > keys[:-1]).all()


def test_values_that_are_equal_in_spark_have_one_key() -> None:
    zeros = order_keys(pa.array([0.0, -0.0]))
    nans = order_keys(pa.array([math.nan, NEGATIVE_NAN]))
    texts = order_keys(pa.array(["b", "a", "b"]))

    assert zeros[0] == zeros[1]
    assert nans[0] == nans[1]
    assert texts.tolist() == [2, 1, 2]


def test_no_values_have_no_keys() -> None:
    assert order_keys(pa.array([], pa.string())).tolist() == []
    assert order_keys(pa.array([], pa.float64())).tolist() == []
