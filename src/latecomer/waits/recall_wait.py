"""The smallest wait that keeps a share of the rows in time.

Of n rows whose delays are remembered, a wait may miss k. If the next row is like those, the chance
that it is missed too is (k + 1) / (n + 1). So the wait is the smallest that misses k of them, with
the largest k for which that chance is small enough:

    missed, of 9 remembered rows         k = 0    1    2
    chance that the next one is missed      0.1  0.2  0.3      for a recall of 0.8, miss one

**At first** too little is known even for k = 0: for a recall of 0.999 it takes a thousand rows. As
long as that is so, wait for twice the longest delay that is remembered. The rows of the first
micro-batch have no delays, because there was no clock. All that can be said of them is how far
apart they are; until `ENOUGH` delays are known, wait for that long at least.

**What really happened counts.** Delays come in lumps, and not every row is like those before. So it
is counted which of the remembered rows were missed in fact, and if it was more than may be missed,
less is allowed from now on. (What was missed while too little was known does not count here.)

    allowed to be missed = (1 − recall) · factor
    factor               ← factor · (share aimed at / share missed) ^ gain

That is the feedback of the window joins (`joins.feedback`), damped in the same way: a correction is
as slow as the rows by which its effect is measured.

**A wait grows at once, and falls slowly**, by an eighth per block at the most. When delays begin to
grow, ADWIN may forget the longest, just when they are needed.

A recall of 1 waits for the longest delay ever seen.
"""

from __future__ import annotations

from math import exp, floor, log
from typing import TYPE_CHECKING

from latecomer.time import FOREVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from latecomer.waits.recent_delays import RecentDelays

AIM = 0.75
"""Of what may be missed, the share to aim at, because what is missed varies."""
LOWEST = 0.1
"""How far less than what is aimed at is allowed, at the most. More is never allowed."""
LEAST_MISSED = 0.05
"""Less than this share of what may be missed counts as that much: nothing has no logarithm."""
FALL = 1 / 8
"""By how much a wait falls per block, at the most."""
ENOUGH = 1_000
"""From so many known delays on, the first micro-batch no longer matters."""
LEAST_BLOCK, MOST_BLOCK = 1 << 6, 1 << 16


def block_size(recalls: Sequence[float]) -> int:
    """Return how many rows a block has at least, so that one of them may be missed."""
    may_miss = 1 - recalls[-1]
    return MOST_BLOCK if may_miss * MOST_BLOCK < 1 else max(round(1 / may_miss), LEAST_BLOCK)


class RecallWait:
    """The wait for one recall."""

    def __init__(self, recall: float, level: int, factor: float = AIM) -> None:
        """Begin, or go on with a factor; the level is the place among all recalls."""
        self.recall = recall
        self.level = level
        self.factor = factor

    def is_informed(self, history: RecentDelays) -> bool:
        """Return True if enough is remembered to choose a wait by it."""
        return self._misses(history) >= 0

    def learn(self, history: RecentDelays, rows: int) -> None:
        """Compare what was missed with what may be, after so many more rows are remembered."""
        may_miss = 1 - self.recall
        if not self.is_informed(history):
            return
        wrong = max(history.missed_by(self.level) / len(history) / may_miss, LEAST_MISSED)
        gain = 0.5 * min(rows / len(history), 1.0)
        factor = self.factor * exp(gain * log(AIM / wrong))
        self.factor = min(max(factor, LOWEST), AIM)

    def wait(self, history: RecentDelays, apart: int) -> int:
        """Choose a wait, in microseconds.

        Args:
            history: What is remembered.
            apart: How far the rows of the first micro-batch are apart.
        """
        misses = self._misses(history)
        if misses >= 0:
            return history.wait_missing(misses)
        longest = history.longest
        if self.recall < 1:
            longest = min(2 * history.wait_missing(0), FOREVER)
        return max(longest, apart) if history.known < ENOUGH else longest

    def _misses(self, history: RecentDelays) -> int:
        """Return how many of the remembered rows may be missed; -1 if too little is known."""
        return floor((1 - self.recall) * self.factor * (len(history) + 1)) - 1


def extrapolated(history: RecentDelays, wait: int) -> float | None:
    """Estimate the recall of a wait, if rows to come are like those remembered."""
    if not len(history):
        return None
    return 1 - (history.beyond(wait) + 1) / (len(history) + 1)
