from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from latecomer.operators.aggregates.keys import order_keys
from tests.operators.aggregates.catalogue import NEGATIVE_NAN


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
