"""Counts by delay give the share of rows that a wait keeps, and the wait for a share."""

from __future__ import annotations

from fractions import Fraction
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.profile.delay_counts import (
    ERROR,
    LEVELS,
    DelayCounter,
    DelayCounts,
    level,
    level_start,
    rounded_up,
)

UINT64 = st.integers(0, 2**64 - 1)
DELAYS = st.lists(UINT64 | st.integers(0, 5) | st.integers(0, 63).map(lambda n: 2**n), max_size=40)


def counted(delays: list[int], most_distinct: int = 1_000, cut: int = 7) -> DelayCounts:
    counter = DelayCounter(most_distinct)
    for start in range(0, len(delays), cut):
        counter.add(np.array(delays[start : start + cut], np.uint64))
    return counter.result()


def test_the_worked_example_of_the_module() -> None:
    seen = counted([0, 0, 2, 0, 6])

    assert seen.delays.tolist() == [0, 2, 6]
    assert seen.rows.tolist() == [3, 1, 1]
    assert seen.in_time([0, 1, 2, 5, 6]) == [3, 3, 4, 4, 5]
    assert [seen.wait_for(share) for share in (0.5, 0.6, 0.8, 0.81, 1)] == [0, 0, 2, 6, 6]


def test_no_rows_need_no_wait() -> None:
    seen = counted([])

    assert (seen.total, seen.out_of_order, seen.largest, seen.wait_for(1)) == (0, 0, 0, 0)
    assert seen.in_time([0, 5]) == [0, 0]


def test_a_share_counts_no_row_too_many() -> None:
    assert counted(list(range(100))).wait_for(0.07) == 6


def test_rows_are_held_for_the_rest_of_the_wait() -> None:
    assert counted([0, 2, 6]).held(5) == 5 + 3


def test_a_wait_longer_than_any_delay_can_be_holds_all_rows() -> None:
    assert counted([0, 2**64 - 1]).held(2**65) == 2**65 + 2**64


@given(delays=DELAYS, wait=UINT64, share=st.sampled_from([0.01, 0.5, 0.9, 0.99, 0.999, 1.0]))
def test_exact_counts_agree_with_the_definition(delays: list[int], wait: int, share: float) -> None:
    seen = counted(delays)

    assert seen.is_exact
    assert seen.in_time([wait]) == [sum(delay <= wait for delay in delays)]
    enough = (
        wait
        for wait in sorted(delays)
        if sum(delay <= wait for delay in delays) >= Fraction(str(share)) * len(delays)
    )
    assert seen.wait_for(share) == next(enough, 0)


@given(delays=DELAYS, cut=st.integers(1, 10), share=st.sampled_from([0.2, 0.5, 0.9, 1.0]))
def test_rounded_counts_err_on_the_safe_side_and_by_less_than_a_thousandth(
    delays: list[int], cut: int, share: float
) -> None:
    exact, seen = counted(delays), counted(delays, most_distinct=0, cut=cut)

    assert (seen.total, seen.out_of_order) == (exact.total, exact.out_of_order)
    assert seen.largest == exact.largest == seen.wait_for(1)
    needed, told = exact.wait_for(share), seen.wait_for(share)
    assert needed <= told <= needed * (1 + ERROR)
    assert seen.in_time([needed])[0] <= exact.in_time([needed])[0]
    assert seen.in_time([int(needed * (1 + ERROR)) + 1])[0] >= exact.in_time([needed])[0]


@given(delays=DELAYS, cut=st.integers(1, 10), most=st.integers(0, 40))
def test_how_rows_are_cut_into_batches_makes_no_difference(
    delays: list[int], cut: int, most: int
) -> None:
    one, other = counted(delays, most, cut), counted(delays, most, 100)

    assert one.delays.tolist() == other.delays.tolist()
    assert one.rows.tolist() == other.rows.tolist()
    assert one.is_exact == other.is_exact == (len({*delays} - {0}) <= most)


@given(delay=UINT64)
def test_rounding_up_adds_less_than_a_thousandth(delay: int) -> None:
    rounded = int(rounded_up(np.array([delay], np.uint64))[0])

    assert delay <= rounded <= delay + delay // 1024
    assert int(rounded_up(np.array([rounded], np.uint64))[0]) == rounded


@pytest.mark.parametrize("delay", [2**53 - 1, 2**54 - 1, 2**63 - 1, 2**63, 2**64 - 1])
def test_delays_that_no_float_can_hold_are_rounded_as_well(delay: int) -> None:
    rounded = int(rounded_up(np.array([delay], np.uint64))[0])

    assert rounded.bit_length() == delay.bit_length()
    assert rounded >= delay


@given(delay=UINT64)
def test_a_level_holds_the_delays_from_its_start_to_that_of_the_next(delay: int) -> None:
    number = int(level(np.array([delay], np.uint64))[0])

    assert level_start(number) <= delay < level_start(number + 1)
    assert number < LEVELS
    assert number < 8 or log2(level_start(number + 1) / level_start(number)) < 0.33
