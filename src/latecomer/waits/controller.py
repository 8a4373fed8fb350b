"""The share that may be missed next, so that the share missed in the long run is the one asked for.

Every row that arrives shows at once whether it was late. So the *excess* is known exactly: how many
rows were missed so far, less how many were allowed to be. A model of delays, however good, drifts;
a running count does not. The share that is allowed next falls as the excess grows:

    allowed = (1 − recall) · doubt · min(exp(−excess / scale), 1.2)

    excess   −scale    0     scale   2 scales   3 scales
    factor    1.2      1     0.37    0.14       the wait only grows until the excess has fallen

- The **scale** is what is allowed of all rows that are remembered; at least ten rows. Where
  micro-batches are large, rows beyond the memory count twice: they come late in lumps.
- **Doubt** is below 1 while little is known: rows are few, or came in few micro-batches. Rows of
  one micro-batch are late together, so a thousand of them are no thousand witnesses.
- What was saved is kept only up to one scale, and spent by a fifth more than is allowed. So a calm
  year does not pay for a bad day.
- **Beyond three scales** the wait is at least a quarter longer than the longest delay that was
  missed since. It does not fall before the excess has.

Why it holds. Let delays be at most D, let micro-batches have at most r rows, and let at most R rows
arrive while the newest time moves by D. Beyond three scales each miss either has a delay above the
wait, and then the wait grows by a quarter: that happens at most j = log(D / 1 ms) / log(5/4) times;
or it lies behind a watermark that stands still since the wait grew, for at most R rows each time.
After that nothing is late, and every row lowers the excess. Only misses raise it, so after n rows

    missed ≤ (1 − recall) · n + 3 · scale + (j + 2) · R,    scale ≤ 10 + (1 − recall) · (H + 100 r)

with the memory H = max(10,000, 50 / (1 − recall)): the share missed is at most the one allowed plus
a constant over n, whatever the order of arrival. D need not be known.

Based on: Gibbs, Candès: Adaptive Conformal Inference Under Distribution Shift (NeurIPS 2021), and
    Angelopoulos, Candès, Tibshirani: Conformal PID Control for Time Series Prediction (NeurIPS
    2023), whose integral part this is.
Departures: rows are weighted, not steps; the level saturates in a growing wait and not in an
    infinite one, because a watermark that stands still for ever gives no answers.
Holds: `allowed` is from 0 to 1 − recall, but for a fifth; `floor` is 0 up to three scales.
"""

from __future__ import annotations

from math import exp, inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from latecomer.arrays import Arrays

MEMORY_ROWS, MEMORY_MISSES = 10_000, 50
"""Number of rows that are remembered, and how many of them may be missed, at least."""
MEMORY_STEPS = 48
"""How many micro-batches are remembered, at least."""
FEW_STEPS = 75
"""After so many micro-batches the doubt is one half."""
LEAST_SCALE = 10.0
LAX = 1.2
"""By how much more is allowed when less was missed than may be."""
SATURATED = 3
"""From so many scales on the wait only grows."""
GROWTH = 1.25
_STATE = ("excess", "seen", "steps", "remembered", "floor")


class Controller:
    """What may be missed next, for one recall."""

    def __init__(self, recall: float, aim: float = 1.0, memory_steps: float = MEMORY_STEPS) -> None:
        """Begin with nothing.

        Args:
            recall: The share to have.
            aim: Of what may be missed, the share to aim at; the rest is a reserve.
            memory_steps: How many micro-batches are remembered, at least.
        """
        self._memory_steps = memory_steps
        self.recall = recall
        self.may_miss = (1 - recall) * aim
        self.memory = max(MEMORY_ROWS, MEMORY_MISSES / self.may_miss) if self.may_miss else inf
        self.excess = 0.0
        """Number of rows that were missed beyond what was allowed."""
        self.seen = 0.0
        self.steps = 0.0
        self.remembered = 0.0
        """Number of rows that are remembered: older ones count for less."""
        self.floor = 0.0
        """The shortest wait that is allowed, in microseconds."""

    def kept(self, rows: float) -> float:
        """Return by what share the past still counts after so many more rows."""
        return exp(-min(rows / self.memory, 1 / self._memory_steps))

    def learn(self, rows: float, missed: float, longest: int = 0) -> None:
        """Take note of a micro-batch.

        Args:
            rows: How many there were.
            missed: How many of them came too late.
            longest: The longest delay among them, in microseconds, for `floor`.
        """
        self.steps += 1
        self.seen += rows
        self.remembered = self.remembered * self.kept(rows) + rows
        scale = self.scale
        self.excess = max(self.excess + missed - self.may_miss * rows, -scale)
        if self.excess <= SATURATED * scale:
            self.floor = 0.0
        elif missed:
            self.floor = max(self.floor, GROWTH * longest)

    @property
    def scale(self) -> float:
        """How many misses count as much."""
        if not self.may_miss:
            return LEAST_SCALE
        # In a quiet hour the misses of a busy one must not weigh more than twice as much.
        usual = self.seen * min(self._memory_steps / max(self.steps, 1), 1)
        beyond = max(max(self.remembered, usual / 2) - self.memory, 0.0)
        return max(self.may_miss * (min(self.seen, self.memory) + 2 * beyond), LEAST_SCALE)

    @property
    def sure(self) -> float:
        """The share that may be missed, as far as what is known can bear it out."""
        misses = sqrt(self.may_miss * self.seen)
        return self.may_miss * min(misses / (misses + 1), self.steps / (self.steps + FEW_STEPS))

    @property
    def allowed(self) -> float:
        """The share that may be missed next."""
        return self.sure * self.correction

    @property
    def correction(self) -> float:
        """By how much less, or more, is allowed than may be missed in the long run."""
        return min(exp(-self.excess / self.scale), LAX)

    def save(self) -> Arrays:
        return {"controller": np.array([getattr(self, name) for name in _STATE])}

    def load(self, arrays: Arrays) -> None:
        for name, value in zip(_STATE, arrays["controller"].tolist(), strict=True):
            setattr(self, name, value)
