from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.profile.measures import (
    QUANTILES,
    Disorder,
    Measures,
    delay_counts,
    delays,
    measure,
    order_measures,
)
from latecomer.time import FOREVER, NEVER

INT64 = st.integers(NEVER, FOREVER)


def test_the_worked_example_of_the_module() -> None:
    seen = measure(np.array([10, 14, 12, 19, 13]), quantiles=(0.5, 0.6, 0.8, 1))

    assert seen == Disorder(
        rows=5, out_of_order=2, largest=6, quantiles={0.5: 0, 0.6: 0, 0.8: 2, 1: 6}
    )
    assert seen.share == 0.4


def test_no_rows_have_no_disorder() -> None:
    seen = measure(np.array([], np.int64))

    assert seen == Disorder(0, 0, 0, dict.fromkeys(QUANTILES, 0))
    assert seen.share == 0.0


def test_one_row_is_in_order() -> None:
    seen = measure(np.array([-7]))

    assert seen == Disorder(1, 0, 0, dict.fromkeys(QUANTILES, 0))


def test_rows_of_equal_time_are_in_order() -> None:
    assert measure(np.array([3, 3, 3])).out_of_order == 0


def test_times_before_1970_count_like_any_other() -> None:
    seen = measure(np.array([-10, -30, 0, -5]), quantiles=(1.0,))

    assert seen == Disorder(rows=4, out_of_order=2, largest=20, quantiles={1.0: 20})


def test_times_as_far_apart_as_can_be_are_measured_exactly() -> None:
    assert measure(np.array([FOREVER, NEVER])).largest == 2**64 - 1


def test_a_quantile_counts_no_row_too_many() -> None:
    times = np.concatenate([[100], 100 - np.arange(1, 100)])

    assert measure(times, quantiles=(0.07,)).quantiles == {0.07: 6}


@pytest.mark.parametrize("kind", [np.int64, np.int32])
def test_a_column_of_a_wider_array_can_be_measured(kind: type[np.signedinteger]) -> None:
    wide = np.array([[5, 0], [3, 0]], kind)

    assert delays(wide[:, 0]).tolist() == [0, 2]


def test_interleaved_and_concatenated_streams_have_different_measures() -> None:
    end_to_end = order_measures(np.array([1, 3, 5, 7, 2, 4, 6, 8]))
    shuffled = order_measures(np.array([1, 3, 2, 5, 4, 7, 6, 8]))

    assert end_to_end == Measures(inversions=6, distance=3, runs=2, interleaved=2)
    assert shuffled == Measures(inversions=3, distance=1, runs=4, interleaved=2)


def test_no_rows_have_no_order_to_measure() -> None:
    assert order_measures(np.array([], np.int64)) == Measures(0, 0, 0, 0)


def test_order_is_measured_on_a_column_that_cannot_be_written_to() -> None:
    column = np.array([[3, 0], [1, 0], [2, 0]], np.int32)[:, 0]
    column.flags.writeable = False

    assert order_measures(column) == Measures(2, 2, 2, 2)


def test_measuring_order_leaves_the_times_as_they_are() -> None:
    times = np.array([3, 1, 2])
    order_measures(times)

    assert times.tolist() == [3, 1, 2]


def test_a_row_whose_delay_is_the_wait_is_in_time() -> None:
    assert delay_counts(np.array([10, 14, 12, 19, 13])).in_time([0, 1, 2, 5, 6]) == [3, 3, 4, 4, 5]


def test_the_longest_wait_of_all_is_long_enough() -> None:
    assert delay_counts(np.array([FOREVER, NEVER])).in_time([2**64 - 2, 2**64 - 1]) == [1, 2]


def test_no_rows_are_in_time_where_there_are_none() -> None:
    assert delay_counts(np.array([], np.int64)).in_time([0, 5]) == [0, 0]


@given(times=st.lists(INT64, max_size=20), wait=st.integers(0, 2**64 - 1))
def test_rows_in_time_are_those_within_the_wait(times: list[int], wait: int) -> None:
    behind = [max(times[: at + 1]) - time for at, time in enumerate(times)]

    assert delay_counts(np.array(times, np.int64)).in_time([wait]) == [
        sum(delay <= wait for delay in behind)
    ]


@given(times=st.lists(INT64 | st.integers(-5, 5), max_size=30))
def test_measuring_agrees_with_its_slow_twin(times: list[int]) -> None:
    assert measure(np.array(times, np.int64)) == measure_slowly(times)


def measure_slowly(times: list[int]) -> Disorder:
    behind = [max(times[: at + 1]) - time for at, time in enumerate(times)]
    return Disorder(
        rows=len(times),
        out_of_order=sum(delay > 0 for delay in behind),
        largest=max(behind, default=0),
        quantiles={share: smallest_enough(behind, share) for share in QUANTILES},
    )


def smallest_enough(behind: list[int], share: float) -> int:
    """Try delays from the smallest up, until enough rows have no longer delay."""
    for delay in sorted(behind):
        if sum(other <= delay for other in behind) >= Fraction(str(share)) * len(behind):
            return delay
    return 0
