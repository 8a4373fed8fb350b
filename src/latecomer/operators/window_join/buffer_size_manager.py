"""Find the shortest wait that gives the recall asked for.

At the end of each interval, `feedback` decides which recall to ask for. `kernels.recall_model`
estimates the recall of each wait, from the statistics of delays and of productivity. The smallest
wait that reaches it is chosen.

Paper: Ji, Sun, Nica, Jerzak, Hackenbroich, Fetzer: Quality-Driven Disorder Handling for m-way
    Sliding Window Stream Joins (ICDE 2016), Algorithm 3, Eq. 2 to 6.
Symbols: k* → the wait, γ(L, K) → `recall`, g → `granularity`, b → `basic_window`, L → `interval`,
    P → `period`, Γ → `recall`, Γ′ → `instant`.
Departures: waits are not tried one after the other. Between two delays at which the selectivity
    changes the model rises, and is bisected; the wait found is the same. Parts of a step are
    rounded down: (K + K_sync)/g in Eq. 2, (l − 1)b/g in Eq. 3.
Holds: the wait is a whole number of steps, at most one beyond the largest delay remembered.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from latecomer.batch import Positions
from latecomer.errors import OptionError
from latecomer.kernels.recall_model import Shares, recall, smallest_wait
from latecomer.labels import Labelled
from latecomer.operators.window_join.feedback import Calibration, Feedback, PaperFeedback, Seen
from latecomer.operators.window_join.productivity_profiler import TupleProductivityProfiler
from latecomer.operators.window_join.saving import Savable
from latecomer.operators.window_join.statistics_manager import StatisticsManager
from latecomer.time import Times


@dataclass(frozen=True, slots=True)
class Quality(Labelled):
    """The recall that is asked for, and how to reach it. Times are in microseconds."""

    recall: float
    period: int = 60_000_000
    """Time over which the recall is measured."""
    interval: int = 1_000_000
    """Time after which the wait is chosen anew."""
    granularity: int = 10_000
    """Step in which waits are tried and delays are counted."""
    basic_window: int = 10_000
    """Length of the parts that windows are cut into, each with a fullness of its own."""
    selectivity: Literal["EqSel", "NonEqSel"] = "NonEqSel"
    """Whether tuples are assumed to be equally productive whatever their delay, or profiled."""
    feedback: Literal["calibrated", "paper", "none"] = "calibrated"
    """Way in which the achieved recall changes the recall asked for next; see `feedback`."""

    def __post_init__(self) -> None:
        if not 0 <= self.recall <= 1:
            message = f"recall must be from 0 to 1; got {self.recall}."
            raise OptionError(message + "\nHint: for 99 % of all results use 0.99.")
        if not 0 < self.interval <= self.period:
            raise OptionError(
                f"the interval must be above 0 and not longer than the period; got "
                f"{self.interval} and {self.period} microseconds.\n"
                "Hint: choose the wait anew every second, and measure over a minute."
            )
        if self.granularity <= 0 or self.basic_window <= 0:
            raise OptionError(
                f"granularity and basic window must be above 0; got {self.granularity} and "
                f"{self.basic_window} microseconds.\nHint: 10,000 is a good value for both."
            )


class BufferSizeManager(Savable):
    """Chooses the wait for the next interval."""

    saves = ("_feedback",)

    def __init__(self, quality: Quality, windows: tuple[int, ...]) -> None:
        self.quality = quality
        self.instant = quality.recall
        """The recall that was last asked for."""
        self._windows = np.array(windows, np.int64)
        self._feedback = self._made()

    def _made(self) -> Feedback:
        asked = self.quality
        if asked.feedback == "none":
            return Feedback(asked.recall)
        kind = PaperFeedback if asked.feedback == "paper" else Calibration
        return kind(asked.recall, asked.period, asked.interval)

    def choose(
        self, statistics: StatisticsManager, profiler: TupleProductivityProfiler, seen: Seen
    ) -> int:
        """Return the wait for the next interval."""
        self.instant = self._feedback.instant(seen)
        wait = smallest_wait(self.instant, *self._model(statistics, profiler))
        return self.quality.granularity * int(wait)

    def extrapolated(
        self, wait: int, statistics: StatisticsManager, profiler: TupleProductivityProfiler
    ) -> float:
        """Return an estimate of the recall of a wait; 1 if it is beyond the largest delay."""
        ratios, model = self._model(statistics, profiler)
        steps = wait // self.quality.granularity
        if steps >= len(ratios):
            return 1.0
        return min(max(ratios[steps] * recall(steps, *model), 0.0), 1.0)

    def _model(
        self, statistics: StatisticsManager, profiler: TupleProductivityProfiler
    ) -> tuple[Shares, tuple[Shares, Positions, Times, tuple[int, int]]]:
        waits = statistics.largest + 1
        ratios = (
            profiler.ratios(waits) if self.quality.selectivity == "NonEqSel" else np.ones(waits)
        )
        steps = (self.quality.granularity, self.quality.basic_window)
        return ratios, (statistics.shares(), statistics.ahead, self._windows, steps)
