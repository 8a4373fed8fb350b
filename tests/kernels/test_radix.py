import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels import radix
from latecomer.kernels.order import index_bits, span
from latecomer.kernels.radix import radix_order


def order(times: list[int]) -> list[int]:
    array = np.array(times, np.int64)
    return radix_order(array, *span(array), index_bits(len(array))).tolist()


def test_rows_of_equal_time_keep_their_places() -> None:
    assert order([3, 1, 3, 1, 2]) == [1, 3, 4, 0, 2]


def test_rows_that_all_have_one_time_stay_as_they_are() -> None:
    assert order([7] * 5) == [0, 1, 2, 3, 4]


def test_one_row_is_in_order() -> None:
    assert order([7]) == [0]


@pytest.mark.parametrize("scale", [1, 1_000, 2**40])
@pytest.mark.parametrize("part", [1, 3, 8_192])
@given(times=st.lists(st.integers(-(2**16), 2**16), min_size=1, max_size=40))
def test_the_order_is_that_of_a_stable_sort(times: list[int], part: int, scale: int) -> None:
    """Times have one digit or several, in one part or distributed over many."""
    times = [time * scale for time in times]
    before = radix.MANY, radix.PART
    radix.MANY, radix.PART = (0, part) if part < 8_192 else before
    try:
        found = order(times)
    finally:
        radix.MANY, radix.PART = before

    assert found == np.argsort(np.array(times), kind="stable").tolist()


def test_many_rows_are_dealt_out_and_sorted() -> None:
    rows = radix.MANY + 1
    times = np.arange(rows) + np.random.default_rng(1).integers(0, 5_000, rows)

    found = radix_order(times, *span(times), index_bits(rows))

    assert np.array_equal(found, np.argsort(times, kind="stable"))
