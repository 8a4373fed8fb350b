"""What is remembered of the streams."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.operators.window_join.delay_history import MOST_STEPS, DelayHistory, coarse
from latecomer.operators.window_join.statistics_manager import StatisticsManager
from tests.operators.window_join.test_sorting import cuts, parts


def test_delays_are_counted_in_steps_rounded_up() -> None:
    assert coarse(np.array([0, 1, 10, 11, 20, 21]), 10).tolist() == [0, 1, 1, 2, 2, 3]
    assert coarse(np.array([2**62]), 10).tolist() == [MOST_STEPS]


@given(delays=st.lists(st.integers(0, 500), max_size=120), at=cuts)
def test_what_is_counted_is_what_the_window_of_adwin_holds(
    delays: list[int], at: list[int]
) -> None:
    history = DelayHistory(10)
    for start, stop in parts(len(delays), at):
        some = np.array(delays[start:stop], np.int64)
        history.add(some, some + 5)

    kept = coarse(np.array(delays[len(delays) - len(history) :], np.int64), 10)
    counts = np.bincount(kept, minlength=len(history.counts))
    assert history.counts.tolist() == counts.tolist()
    assert history.largest == kept.max(initial=0)
    assert np.isclose(history.skew, np.mean([d + 5 for d in delays]) if len(history) else 0)


def test_a_change_of_delays_is_noticed() -> None:
    history, ones = DelayHistory(10), np.ones(2_000, np.int64)

    history.add(10 * (np.arange(2_000) % 2), ones)
    assert len(history) == 2_000
    history.add(400 + 10 * (np.arange(2_000) % 2), ones)

    assert len(history) <= 2_100
    assert history.counts[40:42].sum() > 0.9 * len(history)


def test_shares_and_skews_are_told_of_all_streams() -> None:
    statistics = StatisticsManager(2, 10)
    streams = np.array([0, 1, 0, 1, 0, 1, 0])
    times = np.array([100, 50, 200, 150, 175, 250, 300])

    statistics.add(streams, times)

    # Stream 0 came 0, 0, 25 and 0 late; it was 0, 150, 50 and 50 ahead, stream 1 was 0, 0 and 50.
    assert statistics.shares().tolist() == [[0.75, 0.75, 0.75, 1.0], [1.0, 1.0, 1.0, 1.0]]
    assert statistics.largest == 3
    assert statistics.longest == 25
    assert statistics.newest == 300
    assert statistics.ahead.tolist() == [4, 0]


def test_streams_that_have_sent_nothing_have_no_delays() -> None:
    statistics = StatisticsManager(2, 10)
    statistics.add(np.empty(0, np.int64), np.empty(0, np.int64))

    assert statistics.shares().tolist() == [[1.0], [1.0]]
    assert statistics.ahead.tolist() == [0, 0]


def test_a_delay_counts_from_where_all_streams_have_come() -> None:
    statistics = StatisticsManager(2, 10)
    statistics.add(np.array([0, 1]), np.array([50, 50]))

    statistics.reach(100)
    statistics.add(np.array([0]), np.array([60]))

    assert statistics.newest == 100
    assert (statistics.longest, statistics.largest) == (40, 4)
