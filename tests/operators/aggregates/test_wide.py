from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.operators.aggregates.slices import Slices
from latecomer.operators.aggregates.wide import decimal_totals, integer_totals

MOST = 2**63 - 1
WIDE = pa.decimal128(38, 0)


@given(st.lists(st.integers(-(2**63), MOST), max_size=20))
def test_integers_are_added_exactly(numbers: list[int]) -> None:
    slices = Slices(np.array([0, len(numbers)]))
    values = np.array(numbers, np.int64)

    if -(2**63) <= sum(numbers) <= MOST:
        assert integer_totals(values, slices).tolist() == [sum(numbers)]
    else:
        with pytest.raises(OverflowError, match=f"it is {sum(numbers):,}"):
            integer_totals(values, slices)


@given(st.lists(st.integers(1 - 10**38, 10**38 - 1), max_size=20))
def test_decimals_are_added_exactly(numbers: list[int]) -> None:
    slices = Slices(np.array([0, 0, len(numbers)]))
    values = pa.array([Decimal(number) for number in numbers], WIDE)

    if abs(sum(numbers)) < 10**38:
        total = Decimal(sum(numbers)) if numbers else None
        assert decimal_totals(values, slices).to_pylist() == [None, total]
    else:
        with pytest.raises(OverflowError, match="it "):
            decimal_totals(values, slices)


def test_a_sum_may_pass_the_limits_on_its_way() -> None:
    slices = Slices(np.array([0, 4, 4]))

    assert integer_totals(np.array([MOST, MOST, -MOST, -MOST - 1]), slices).tolist() == [-1, 0]


def test_decimals_of_a_slice_of_an_array_are_its_own() -> None:
    values = pa.array([Decimal("9.99"), Decimal("0.01"), Decimal("-2.50")], pa.decimal128(38, 2))

    found = decimal_totals(values.slice(1), Slices(np.array([0, 2])))

    assert found.to_pylist() == [Decimal("-2.49")]
    assert found.type == pa.decimal128(38, 2)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_decimal_has_38_digits_and_not_39(sign: int) -> None:
    def total(*numbers: int) -> Decimal:
        values = pa.array([Decimal(sign * number) for number in numbers], WIDE)
        return decimal_totals(values, Slices(np.array([0, len(numbers)])))[0].as_py()

    assert total(10**38 - 2, 1) == Decimal(sign * (10**38 - 1))
    with pytest.raises(OverflowError, match="it has more than 38 digits"):
        total(10**38 - 1, 1)
