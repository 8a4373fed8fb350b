"""Rows that are not too close to each other, compared with a slow twin."""

from itertools import accumulate

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.apart import keep_apart


def kept(groups: list[list[int]], within: int) -> list[bool]:
    bounds = np.array([0, *accumulate(map(len, groups))], np.int64)
    times = np.array([time for group in groups for time in group], np.int64)
    return keep_apart(times, bounds, within).tolist()


def test_a_row_at_the_given_distance_is_kept_and_a_nearer_one_is_not() -> None:
    assert kept([[0, 4, 5, 9, 10]], 5) == [True, False, True, False, True]


def test_rows_of_one_time_are_kept_once() -> None:
    assert kept([[3, 3, 3], [3]], 1) == [True, False, False, True]


def test_the_largest_distance_does_not_overflow() -> None:
    assert kept([[-(2**63), 2**63 - 9, 2**63 - 2]], 8) == [True, True, False]


@given(
    groups=st.lists(st.lists(st.integers(-20, 20), max_size=10).map(sorted), max_size=4),
    within=st.integers(1, 15),
)
def test_the_kernel_gives_the_result_of_a_loop_over_rows(
    groups: list[list[int]], within: int
) -> None:
    expected = []
    for group in groups:
        last: int | None = None
        for time in group:
            is_kept = last is None or time - last >= within
            last = time if is_kept else last
            expected.append(is_kept)

    assert kept(groups, within) == expected
