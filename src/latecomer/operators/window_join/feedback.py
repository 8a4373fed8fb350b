"""How much recall to ask for in the next interval, given what the last period had.

The model promises a recall; what comes is another one. Feedback closes the loop.

**`PaperFeedback`** is Eq. 7: ask of the next interval whatever brings the whole period to the
recall that was asked for. Taken literally it swings. Results that merely sit in the buffers count
as missing, and one interval has to make up for a period, or may squander what a period has saved.

**`Calibration`**, the default, asks a second join, which waits for everything, what has been lost
(`Hindsight`). It compares only what that one has answered for already, like with like; and it tells
the controller of all recalls (`waits.controller`), results in the place of rows. The model says
what each wait would give; the controller says how much the model may be allowed to miss, so that
what was missed in fact is what may be. If that is next to nothing, the wait is the longest delay
that is remembered, as that of Max-K-slack. It aims at four fifths of what may be missed, because
recall is asked for in every period, and some are worse than others.

Paper: Ji et al. (ICDE 2016), Section IV-C, Eq. 7.
Symbols: Γ → `recall`, Γ′ → what `instant` returns, P → `period`, L → `interval`.
Departures: the paper's max{Γ′, 1} must be min{Γ′, 1}, and at least 0.
Holds: what is asked for is from 0 to 1.
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
"""Of what may be missed, the share to aim at, because recall varies from period to period. Less
costs a longer wait, more breaks the promise more often: `python -m benchmarks.joins --json`."""


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
    """The controller of all recalls, told what hindsight knows."""

    saves = ("_produced", "_true", "_learning")

    def __init__(self, recall: float, period: int, interval: int) -> None:
        """Ask for a recall, with a reserve for periods that are worse than others."""
        super().__init__(recall)
        # Results are many and alike: it takes time, not results, to see a rare miss.
        steps = MEMORY_STEPS * max(1.0, 0.01 / max(1 - recall, 1e-6))
        self.controller = Controller(recall, AIM, steps)
        self._produced = self._true = 0.0
        # The model knows little in the first period; what is missed then is not made up for.
        self._learning = period // interval

    def instant(self, seen: Seen) -> float:
        """Return which recall to ask for in the next interval."""
        if seen.hindsight is not None:
            produced, true = seen.hindsight.settled()
            if true > self._true:
                missed = max((true - produced) - (self._true - self._produced), 0.0)
                if self._learning:
                    self._learning -= 1
                else:
                    self.controller.learn(true - self._true, missed)
                self._produced, self._true = produced, true
        # Doubt is a matter of delays that are few; the model has its own way with them.
        return 1 - self.controller.may_miss * self.controller.correction

    def save(self) -> Arrays:
        return super().save() | nested("controller", self.controller.save())

    def load(self, arrays: Arrays) -> None:
        super().load(arrays)
        self.controller.load(part("controller", arrays))
