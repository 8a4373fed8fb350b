"""How much recall to ask for in the next interval, given what the last period had.

The model promises a recall; what comes is another one. Feedback closes the loop.

**`PaperFeedback`** is Eq. 7: ask of the next interval whatever brings the whole period to the
recall that was asked for. Taken literally it swings. Results that merely sit in the buffers count
as missing, and one interval has to make up for a period, or may squander what a period has saved.

**`Calibration`**, the default, asks a second join, which waits for everything, what has been lost
(`Hindsight`). It compares only what that one has answered for already, like with like. And it
corrects the model, not the period: if thrice as much is missed as the model said, a third is
allowed to be missed from now on. The correction is damped to be slower than its effect is seen.

    allowed to be missed = (1 − recall) · factor                    at most 1 − recall
    factor               ← factor · (missed aimed at / missed in the last period) ^ gain

Paper: Ji et al. (ICDE 2016), Section IV-C, Eq. 7.
Symbols: Γ → `recall`, Γ′ → what `instant` returns, P → `period`, L → `interval`.
Departures: the paper's max{Γ′, 1} must be min{Γ′, 1}, and at least 0.
Holds: what is asked for is from 0 to 1.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import exp, log
from typing import TYPE_CHECKING

import numpy as np

from latecomer.operators.window_join.saving import Savable

if TYPE_CHECKING:
    from latecomer.arrays import Arrays
    from latecomer.operators.window_join.hindsight import Hindsight
    from latecomer.operators.window_join.result_size_monitor import ResultSizeMonitor

AIM = 0.75
"""Of what may be missed, the share to aim at, because recall varies from period to period. Less
costs a longer wait, more breaks the promise more often: `python -m benchmarks.joins --json`."""
LOWEST, HIGHEST = 0.1, 1.0
"""How far the model is corrected: it is made stricter, never laxer. Delays come in lumps, and a
wait just short of one loses far more than what the last period had to spare."""
LEAST_MISSED = 0.05
"""Less than this share of what may be missed counts as that much: nothing has no logarithm."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known at the end of an interval."""

    newest: int
    produced: ResultSizeMonitor
    true_results: float
    """How many results the interval would have had without disorder, as the profiler estimates."""
    hindsight: Hindsight | None
    """What has been lost, as far as it is known; only where it was asked for."""


class Feedback(Savable):
    """From what was, to what to ask for. By itself it asks for the same recall again and again."""

    def __init__(self, recall: float) -> None:
        """Ask for a recall."""
        self._recall = recall

    def instant(self, seen: Seen) -> float:
        """Return which recall to ask for in the next interval."""
        return self._recall


class PaperFeedback(Feedback):
    """The rule of the paper, to the letter."""

    def __init__(self, recall: float, period: int, interval: int) -> None:
        """Ask for a recall over each period."""
        super().__init__(recall)
        self._before = period - interval
        self._true: deque[float] = deque(maxlen=max(self._before // interval, 1))

    def instant(self, seen: Seen) -> float:
        """Return which recall to ask for in the next interval."""
        self._true.append(seen.true_results)
        if not seen.true_results:
            return self._recall
        produced = seen.produced.count(seen.newest - self._before, seen.newest)
        needed = self._recall * (sum(self._true) + seen.true_results) - produced
        return min(max(needed / seen.true_results, 0.0), 1.0)

    def save(self) -> Arrays:
        return {"true": np.array(self._true, np.float64)}

    def load(self, arrays: Arrays) -> None:
        self._true.extend(arrays["true"].tolist())


class Calibration(Feedback):
    """A factor by which the model is corrected."""

    saves = ("factor",)

    def __init__(self, recall: float, period: int, interval: int) -> None:
        """Ask for a recall over each period."""
        super().__init__(recall)
        self._period = period
        # A correction shows a period and the longest delay later; it must not be repeated before.
        self._gain = 0.5 * interval / period
        # Begin strict: as long as nothing is known, the model may be wrong.
        self.factor = AIM

    def instant(self, seen: Seen) -> float:
        """Return which recall to ask for in the next interval."""
        may_miss = 1 - self._recall
        missed = seen.hindsight.missed(self._period) if seen.hindsight else None
        if missed is not None and may_miss > 0:
            wrong = max(missed / may_miss, LEAST_MISSED)
            factor = self.factor * exp(self._gain * log(AIM / wrong))
            self.factor = min(max(factor, LOWEST), HIGHEST)
        return max(1 - may_miss * self.factor, 0.0)
