import numpy as np
import pytest

from latecomer.arrays import read_arrays, write_arrays
from latecomer.errors import OptionError
from latecomer.operators.window_join.buffer_size_manager import BufferSizeManager, Quality
from latecomer.operators.window_join.feedback import AIM, Seen
from latecomer.operators.window_join.productivity_profiler import (
    Productivity,
    TupleProductivityProfiler,
)
from latecomer.operators.window_join.result_size_monitor import ResultSizeMonitor
from latecomer.operators.window_join.statistics_manager import StatisticsManager


def seen(true_results: float = 0.0) -> Seen:
    return Seen(0, ResultSizeMonitor(), true_results, None)


def late_streams() -> StatisticsManager:
    """Return two streams; some tuples come 25 late, which is three steps of 10."""
    statistics = StatisticsManager(2, 10)
    streams, times = np.tile([0, 1], 50), np.repeat(np.arange(50) * 10 + 1_000, 2)
    # The newest time is that of the previous round.
    times[20:80:6] -= 35
    statistics.add(streams, times)
    return statistics


def test_the_wait_is_a_whole_number_of_steps() -> None:
    statistics = StatisticsManager(2, 10)
    streams, times = np.tile([0, 1], 50), np.repeat(np.arange(50) * 10 + 1_000, 2)
    # The newest time is that of the previous round, so these come 25 late: three steps.
    times[20:80:6] -= 35
    statistics.add(streams, times)
    profiler = TupleProductivityProfiler(10)
    none = seen(None)

    def wait(recall: float) -> int:
        quality = Quality(recall, 60, 1, 10, 10, "EqSel", "none")
        return BufferSizeManager(quality, (100, 100)).choose(statistics, profiler, none)

    assert wait(0.5) == 0
    assert wait(1.0) == 30


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"recall": 1.1}, "from 0 to 1; got 1.1"),
        ({"recall": 0.9, "period": 5, "interval": 6}, "not longer than the period; got 6 and 5"),
        ({"recall": 0.9, "granularity": 0}, "must be above 0; got 0"),
    ],
)
def test_impossible_qualities_are_refused(arguments: dict[str, float], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        Quality(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("feedback", "instant"), [("none", 0.9), ("paper", 0.9), ("calibrated", 1 - 0.1 * AIM)]
)
def test_feedback_says_which_recall_to_ask_for(feedback: str, instant: float) -> None:
    quality = Quality(0.9, 60, 1, 10, 10, "EqSel", feedback)  # type: ignore[arg-type]
    manager = BufferSizeManager(quality, (100, 100))
    assert manager.instant == 0.9

    manager.choose(StatisticsManager(2, 10), TupleProductivityProfiler(10), seen())

    assert manager.instant == pytest.approx(instant)


def test_late_tuples_that_give_more_results_are_waited_for_sooner() -> None:
    profiler = TupleProductivityProfiler(10)
    profiler.record(
        Productivity(
            np.array([0, 25]), np.ones(2, np.bool_), np.array([10.0, 10.0]), np.array([1.0, 9.0])
        )
    )

    def wait(selectivity: str) -> int:
        quality = Quality(0.8, 60, 1, 10, 10, selectivity, "none")  # type: ignore[arg-type]
        return BufferSizeManager(quality, (100, 100)).choose(late_streams(), profiler, seen())

    assert wait("EqSel") == 0
    assert wait("NonEqSel") == 30


def test_the_state_of_feedback_is_restored() -> None:
    quality = Quality(0.9, 30, 10, 10, 10, "EqSel", "paper")
    one, other = (BufferSizeManager(quality, (100, 100)) for _ in range(2))
    statistics, profiler = StatisticsManager(2, 10), TupleProductivityProfiler(10)
    one.choose(statistics, profiler, seen(100.0))
    other.load(read_arrays(write_arrays(one.save())))

    for each in (one, other):
        each.choose(statistics, profiler, seen(20.0))

    # None of 140 results in the period was produced, so all of the next interval are asked for.
    assert other.instant == one.instant == 1.0
