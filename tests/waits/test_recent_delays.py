"""The delays of recent rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.time import FOREVER
from latecomer.waits.recent_delays import RecentDelays, delay_of, steps_of
from tests.support.slow_adaptation import rounded


@given(st.integers(0, 2**62))
def test_a_delay_is_rounded_up_by_a_thirty_second_at_the_most(delay: int) -> None:
    step = int(steps_of(np.array([delay]))[0])

    assert delay <= delay_of(step) <= delay + max(delay // 32, 1_000) + 1_000
    assert step == 0 or delay_of(step - 1) < delay


@given(st.integers(0, 10**9))
def test_steps_are_those_of_the_slow_twin(delay: int) -> None:
    step, longest = rounded(delay)

    assert steps_of(np.array([delay])).tolist() == [step]
    assert delay_of(step) == longest


def test_no_delay_is_too_long_to_be_counted() -> None:
    history = RecentDelays(1)
    history.add(2, np.array([FOREVER, 0]), [1.0])

    assert history.wait_missing(0, 0) == FOREVER
    assert history.beyond(0, 0) == 1


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=30), st.integers(0, 30))
def test_the_wait_is_the_shortest_that_misses_no_more(delays: list[int], rows: int) -> None:
    history = RecentDelays(1)
    history.add(len(delays), np.array(delays), [1.0])

    wait = history.wait_missing(0, rows)

    steps = [rounded(delay)[1] for delay in delays]
    assert sum(delay > wait for delay in steps) <= rows
    assert wait == 0 or sum(delay >= wait for delay in steps) > rows


def test_each_level_forgets_at_its_own_pace() -> None:
    history = RecentDelays(2)
    history.add(1, np.array([5_000]), [1.0, 1.0])
    history.add(2, np.array([0, 0]), [0.5, 1.0])

    assert [history.rows(0), history.rows(1)] == [2.5, 3.0]
    assert [history.beyond(level, 4_000) for level in (0, 1)] == [0.5, 1.0]


def test_a_row_with_almost_no_weight_no_longer_counts() -> None:
    history = RecentDelays(1)
    history.add(1, np.array([5_000]), [1.0])
    history.add(1, np.array([], np.int64), [0.002])
    assert history.wait_missing(0, 0) == 5_000

    history.add(1, np.array([0]), [0.4])
    assert history.wait_missing(0, 0) == 0
    assert history.beyond(0, 0) == pytest.approx(0.0008)
