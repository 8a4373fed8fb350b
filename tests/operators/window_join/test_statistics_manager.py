"""The statistics of the streams of a join."""

import numpy as np

from latecomer.operators.window_join.statistics_manager import StatisticsManager


def test_shares_and_skews_are_told_of_all_streams() -> None:
    statistics = StatisticsManager(2, 10)
    streams = np.array([0, 1, 0, 1, 0, 1, 0])
    times = np.array([100, 50, 200, 150, 175, 250, 300])

    statistics.add(streams, times)

    # The delays of stream 0 are 0, 0, 25 and 0. It was ahead by 0, 150, 50 and 50, and stream 1 by
    # 0, 0 and 50.
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
