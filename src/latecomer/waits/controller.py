"""The share of rows that may be missed next, so that the recall asked for holds in the long run.

Each row that arrives is known at once to be late or in time. So the *excess* is known exactly: the
number of rows missed so far, less the number that was allowed. A model of delays, however good,
drifts; a running count does not. The share that is allowed next falls as the excess grows:

    factor = min(exp(−excess / scale), 1.2)
    allowed = (1 − recall) · doubt · max(factor, min(factor / doubt, 1)³)

    excess   −scale    0     scale   2 scales   3 scales
    factor    1.2      1     0.37    0.14       the wait only grows until the excess has fallen

- The **scale** is the number of remembered rows that may be missed; at least ten. Where
  micro-batches are large, rows beyond the memory count twice, because they are late in groups.
- **Doubt** is below 1 while there are few rows or few micro-batches. Rows of one micro-batch tend
  to be late together, so a thousand of them are not a thousand independent observations. Doubt
  holds back a part of what may be missed, and an excess uses up that part first: as long as the
  factor is above the doubt, only the doubt counts. Then the factor takes over, gradually.
- A negative excess goes no further than one scale, and then allows a fifth more. So a calm year
  does not make up for a bad day.
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
"""Least number of rows that are remembered, and least number of them that may be missed."""
MEMORY_STEPS = 48
"""Least number of micro-batches that are remembered."""
FEW_STEPS = 69
"""Number of micro-batches after which the doubt is one half. With fewer, streams with few large
backlogs miss their recall; with more, they wait longer: `python -m benchmarks.recall`."""
HANDOVER = 3
"""Power by which the factor takes over from the doubt; see above."""
LEAST_SCALE = 10.0
LAX = 1.2
"""Largest factor on the allowed share, after fewer misses than allowed."""
SATURATED = 3
"""Excess, in scales, beyond which the wait only grows."""
GROWTH = 1.25
_STATE = ("excess", "seen", "steps", "remembered", "floor")


class Controller:
    """The share of rows that may be missed next, for one recall."""

    def __init__(self, recall: float, aim: float = 1.0, memory_steps: float = MEMORY_STEPS) -> None:
        """Begin with no rows.

        Args:
            recall: The share of rows that should be in time.
            aim: The share to use of what may be missed; the rest is a reserve.
            memory_steps: The least number of micro-batches that are remembered.
        """
        self._memory_steps = memory_steps
        self.recall = recall
        self.may_miss = (1 - recall) * aim
        self.memory = max(MEMORY_ROWS, MEMORY_MISSES / self.may_miss) if self.may_miss else inf
        self.excess = 0.0
        """Number of rows missed so far, less the number that was allowed."""
        self.seen = 0.0
        self.steps = 0.0
        self.remembered = 0.0
        """Number of rows that are remembered; older ones count for less than one."""
        self.floor = 0.0
        """Shortest wait that is allowed, in microseconds."""

    def kept(self, rows: float) -> float:
        """Return the factor by which the remembered rows shrink when `rows` more are added."""
        return exp(-min(rows / self.memory, 1 / self._memory_steps))

    def learn(self, rows: float, missed: float, longest: int = 0) -> None:
        """Count the rows of a micro-batch.

        Args:
            rows: The number of rows.
            missed: The number of rows that came too late.
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
        """Unit of the excess, in rows; see above."""
        if not self.may_miss:
            return LEAST_SCALE
        # After a busy hour, a quiet one must not shrink the scale to less than half.
        usual = self.seen * min(self._memory_steps / max(self.steps, 1), 1)
        beyond = max(max(self.remembered, usual / 2) - self.memory, 0.0)
        return max(self.may_miss * (min(self.seen, self.memory) + 2 * beyond), LEAST_SCALE)

    @property
    def doubt(self) -> float:
        """Factor on the allowed share, from 0 to 1, that grows with what is known."""
        misses = sqrt(self.may_miss * self.seen)
        return min(misses / (misses + 1), self.steps / (self.steps + FEW_STEPS))

    @property
    def sure(self) -> float:
        """The share that may be missed in the long run, reduced by doubt."""
        return self.may_miss * self.doubt

    @property
    def allowed(self) -> float:
        """The share that may be missed next."""
        doubt, factor = self.doubt, self.correction
        held_back = min(factor / doubt, 1.0) ** HANDOVER if doubt else 1.0
        return self.may_miss * doubt * max(factor, held_back)

    @property
    def correction(self) -> float:
        """Factor on the allowed share: below 1 after too many misses, above 1 after few."""
        return min(exp(-self.excess / self.scale), LAX)

    def save(self) -> Arrays:
        return {"controller": np.array([getattr(self, name) for name in _STATE])}

    def load(self, arrays: Arrays) -> None:
        for name, value in zip(_STATE, arrays["controller"].tolist(), strict=True):
            setattr(self, name, value)
