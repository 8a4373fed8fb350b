"""What is asked for, given what was; and the two components that tell it."""

from dataclasses import dataclass

import numpy as np
import pytest

from latecomer.errors import OptionError
from latecomer.operators.window_join.buffer_size_manager import BufferSizeManager, Quality
from latecomer.operators.window_join.feedback import (
    AIM,
    HIGHEST,
    LOWEST,
    Calibration,
    PaperFeedback,
    Seen,
)
from latecomer.operators.window_join.productivity_profiler import (
    Productivity,
    TupleProductivityProfiler,
)
from latecomer.operators.window_join.result_size_monitor import ResultSizeMonitor
from latecomer.operators.window_join.statistics_manager import StatisticsManager


@dataclass
class Known:
    """A hindsight that says what it is told to."""

    share: float | None

    def missed(self, period: int) -> float | None:
        return self.share


def seen(missed: float | None) -> Seen:
    return Seen(0, ResultSizeMonitor(), 0.0, Known(missed))  # type: ignore[arg-type]


def gave(
    delays: list[int], cross: list[float], joined: list[float], late: int = -1
) -> Productivity:
    in_order = np.arange(len(delays)) != late
    return Productivity(np.array(delays), in_order, np.array(cross), np.array(joined))


def test_results_are_counted_by_their_times() -> None:
    monitor = ResultSizeMonitor()
    monitor.add(np.array([1, 3, 3]), np.array([2.0, 1.0, 1.0]))
    monitor.add(np.array([7]), np.array([5.0]))

    assert [monitor.count(0, 7), monitor.count(1, 3), monitor.count(3, 6)] == [9, 2, 0]
    monitor.forget(3)
    assert (monitor.count(0, 9), monitor.total) == (5, 9)


def test_the_selectivity_under_a_wait_is_that_of_tuples_with_no_longer_delay() -> None:
    profiler = TupleProductivityProfiler(10)
    profiler.record(gave([0, 0, 20], [10.0, 10.0, 20.0], [1.0, 1.0, 6.0]))

    # 2 of 20 without a wait; 8 of 40 in all.
    assert profiler.ratios(4).tolist() == [0.5, 0.5, 1.0, 1.0]
    assert profiler.true_results == 8


def test_a_tuple_out_of_order_is_taken_to_be_as_productive_as_any() -> None:
    profiler = TupleProductivityProfiler(10)
    profiler.record(gave([0, 0, 20], [10.0, 10.0, 0.0], [1.0, 3.0, 0.0], late=2))

    assert (profiler.cross.tolist(), profiler.joined.tolist()) == ([20, 0, 10], [4, 0, 3])


def test_long_after_the_last_result_nothing_is_known_of_the_selectivity() -> None:
    profiler = TupleProductivityProfiler(10, memory=2)
    profiler.record(gave([0, 20], [8.0, 8.0], [1.0, 4.0]))
    assert profiler.ratios(3).tolist() != [1, 1, 1]
    for _ in range(1_100):
        profiler.record(gave([0, 20], [8.0, 8.0], [0.0, 0.0]))
        assert np.isfinite(profiler.ratios(3)).all()

    assert profiler.ratios(3).tolist() == [1, 1, 1]


def test_intervals_before_are_forgotten_or_fade() -> None:
    last, both = TupleProductivityProfiler(10), TupleProductivityProfiler(10, memory=2)
    for profiler in (last, both):
        profiler.record(gave([30], [8.0], [4.0]))
        profiler.record(gave([0], [8.0], [4.0]))

    assert last.joined.tolist() == [4, 0, 0, 0]
    assert both.joined.tolist() == [4, 0, 0, 2]


def test_where_nothing_joins_all_delays_are_equally_productive() -> None:
    profiler = TupleProductivityProfiler(10)
    profiler.record(gave([0, 20], [5.0, 5.0], [0.0, 0.0]))

    assert profiler.ratios(3).tolist() == [1, 1, 1]


def test_where_nothing_meets_without_a_wait_nothing_is_known_of_it() -> None:
    profiler = TupleProductivityProfiler(10)
    profiler.record(gave([0, 20], [0.0, 5.0], [0.0, 1.0]))

    assert profiler.ratios(3).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("produced", "asked"),
    # True are 100 in the two intervals before, and will be in the next: 270 of 300 are needed.
    [(200.0, 0.7), (180.0, 0.9), (160.0, 1.0), (290.0, 0.0)],
)
def test_the_paper_asks_for_what_the_period_lacks(produced: float, asked: float) -> None:
    feedback, monitor = PaperFeedback(0.9, period=30, interval=10), ResultSizeMonitor()
    monitor.add(np.array([95]), np.array([produced]))

    feedback.instant(Seen(90, ResultSizeMonitor(), 100.0, None))

    assert feedback.instant(Seen(100, monitor, 100.0, None)) == pytest.approx(asked)


def test_calibration_stays_where_as_much_is_missed_as_is_aimed_at() -> None:
    feedback = Calibration(0.99, 60, 1)

    assert feedback.instant(seen(0.01 * AIM)) == pytest.approx(1 - 0.01 * AIM)
    assert feedback.instant(seen(None)) == pytest.approx(1 - 0.01 * AIM)


def test_calibration_settles_where_the_model_is_wrong_by_a_factor() -> None:
    feedback = Calibration(0.99, 60, 1)
    # Twice as much is missed as is allowed to be, and it is seen a minute and a half later.
    missed = [0.02] * 90
    asked = [
        feedback.instant(seen(missed[-90]))
        for _ in range(2_000)
        if missed.append(2 * 0.01 * feedback.factor) is None
    ]

    assert 1 - asked[-1] == pytest.approx(0.01 * AIM / 2, rel=1e-3)
    assert max(asked) - asked[-1] < 0.002


@pytest.mark.parametrize(("missed", "factor"), [(0.9, LOWEST), (0.0, HIGHEST)])
def test_calibration_has_bounds(missed: float, factor: float) -> None:
    feedback = Calibration(0.99, 60, 1)
    for _ in range(5_000):
        feedback.instant(seen(missed))

    assert feedback.factor == factor


def test_all_results_are_asked_for_where_all_are_wanted() -> None:
    assert Calibration(1.0, 60, 1).instant(seen(0.5)) == 1.0


def test_the_wait_is_a_whole_number_of_steps() -> None:
    statistics = StatisticsManager(2, 10)
    streams, times = np.tile([0, 1], 50), np.repeat(np.arange(50) * 10 + 1_000, 2)
    # The newest is that of the round before, so these come 25 late: three steps.
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
def test_what_cannot_be_asked_for_is_refused(arguments: dict[str, float], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        Quality(**arguments)  # type: ignore[arg-type]
