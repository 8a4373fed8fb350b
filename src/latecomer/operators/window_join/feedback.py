"""Choose the recall to ask for in the next interval, given that of the last period.

The recall that the model predicts differs from the one achieved. Feedback corrects for that.

**`PaperFeedback`** is Eq. 7: ask the next interval for whatever brings the whole period to the
recall that was asked for. Taken literally, it oscillates. Results that are still in the buffers
count as missing, and a single interval has to make up for a period, or may use up all that a period
has saved.

**`Calibration`**, the default, learns what has been lost from a second join, which waits for
everything (`Hindsight`). It compares only times that this join has completed. The misses go to the
controller that all recalls use (`waits.controller`), with results in place of rows. The model gives
the recall of each wait; the controller decides how much the model may miss, so that the actual
misses stay within what is allowed. If that is next to nothing, the wait is the longest remembered
delay, like that of Max-K-slack. The controller aims at four fifths of what may be missed, because
every period should reach the recall, and some are worse than others.

Paper: Ji et al. (ICDE 2016), Section IV-C, Eq. 7.
Symbols: Γ → `recall`, Γ′ → what `instant` returns, P → `period`, L → `interval`.
Departures: the paper's max{Γ′, 1} must be min{Γ′, 1}, and at least 0.
Holds: the recall asked for is from 0 to 1.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from latecomer.arrays import nested, part
from latecomer.operators.window_join.saving import Savable
from latecomer.waits.controller import MEMORY_STEPS, Controller

if TYPE_CHECKING:
    from latecomer.arrays import Arrays
    from latecomer.operators.window_join.hindsight import Hindsight
    from latecomer.operators.window_join.result_size_monitor import ResultSizeMonitor

AIM = 0.8
"""Share to use of what may be missed, because recall varies from period to period. Less costs a
longer wait; more misses the recall more often: `python -m benchmarks.joins --json`."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The measurements at the end of an interval."""

    newest: int
    produced: ResultSizeMonitor
    true_results: float
    """Number of results without disorder in this interval, as estimated by the profiler."""
    hindsight: Hindsight | None
    """The join that counts what has been lost; None if it does not run."""


class Feedback(Savable):
    """The recall to ask for next. This base class always asks for the same recall."""

    def __init__(self, recall: float) -> None:
        """Begin with the recall to reach."""
        self._recall = recall

    def instant(self, seen: Seen) -> float:
        """Return the recall to ask for in the next interval."""
        return self._recall


class PaperFeedback(Feedback):
    """The rule of the paper, taken literally."""

    def __init__(self, recall: float, period: int, interval: int) -> None:
        """Begin with the recall to reach over each period."""
        super().__init__(recall)
        self._before = period - interval
        self._true: deque[float] = deque(maxlen=max(self._before // interval, 1))

    def instant(self, seen: Seen) -> float:
        """Return the recall to ask for in the next interval."""
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
    """The controller that all recalls use, with the misses that hindsight has counted."""

    saves = ("_produced", "_true", "_learning")

    def __init__(self, recall: float, period: int, interval: int) -> None:
        """Begin with the recall to reach, and a reserve for periods that are worse than others."""
        super().__init__(recall)
        # Results are many and alike, so rare misses show only over many intervals.
        steps = MEMORY_STEPS * max(1.0, 0.01 / max(1 - recall, 1e-6))
        self.controller = Controller(recall, AIM, steps)
        self._produced = self._true = 0.0
        # The model knows little in the first period, so its misses are not made up for.
        self._learning = period // interval

    def instant(self, seen: Seen) -> float:
        """Return the recall to ask for in the next interval."""
        if seen.hindsight is not None:
            produced, true = seen.hindsight.settled()
            if true > self._true:
                missed = max((true - produced) - (self._true - self._produced), 0.0)
                if self._learning:
                    self._learning -= 1
                else:
                    self.controller.learn(true - self._true, missed)
                self._produced, self._true = produced, true
        # The controller's doubt is left out: the model itself allows for few delays.
        return 1 - self.controller.may_miss * self.controller.correction

    def save(self) -> Arrays:
        return super().save() | nested("controller", self.controller.save())

    def load(self, arrays: Arrays) -> None:
        super().load(arrays)
        self.controller.load(part("controller", arrays))
