"""The smallest wait that keeps a share of the rows in time.

Of n rows whose delays are remembered, a wait may miss k. If the next row is like those, the chance
that it is missed too is (k + 1) / (n + 1): no more than that is known about the longest delays, and
that is all that is used.

    missed, of 9 remembered rows         k = 0    1    2
    chance that the next one is missed      0.1  0.2  0.3      for a recall of 0.8, miss one

**At first** too little is known even for k = 0: for a recall of 0.999 it takes a thousand rows. As
long as that is so, wait for the longest delay that is remembered. The rows of the first micro-batch
have no delays, because there was no clock. All that can be said of them is how far apart they are;
until `ENOUGH` delays are known, wait for that long too.

**What really happened counts.** Delays come in lumps, and not every row is like those before. So it
is counted which of the remembered rows were missed in fact, and if it was more than may be missed,
less is allowed from now on:

    allowed to be missed = (1 − recall) · factor                    at most 1 − recall
    factor               ← factor · (share aimed at / share missed) ^ gain

That is the feedback of the window joins (`joins.feedback`), damped in the same way: a correction is
as slow as the rows by which its effect is measured.

A recall of 1 waits for the longest delay ever seen.

Holds: a higher recall never has a shorter wait, from the same history (`chosen`).
"""

from __future__ import annotations

from math import exp, floor, log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from latecomer.disorder.recent_delays import RecentDelays

AIM = 0.75
"""Of what may be missed, the share to aim at, because what is missed varies."""
LOWEST, HIGHEST = 0.1, 1.0
"""How far the allowance is corrected: it is made smaller, never larger."""
LEAST_MISSED = 0.05
"""Less than this share of what may be missed counts as that much: nothing has no logarithm."""
ENOUGH = 1_000
"""From so many known delays on, the first micro-batch no longer matters."""
FEWEST, MOST, TAIL = 1 << 12, 1 << 17, 64
"""How many rows to remember: so many that about `TAIL` of them may be missed, within bounds."""


def remembered(recalls: Sequence[float]) -> int:
    """Tell how many rows to remember for the highest of some recalls."""
    may_miss = 1 - recalls[-1]
    return int(min(max(TAIL / may_miss if may_miss else MOST, FEWEST), MOST))


class RecallWait:
    """The wait for one recall."""

    def __init__(self, recall: float, level: int, factor: float = AIM) -> None:
        """Begin, or go on with a factor; the level is the place among all recalls."""
        self.recall = recall
        self.level = level
        self.factor = factor

    def learn(self, history: RecentDelays, rows: int) -> None:
        """Compare what was missed with what may be, after so many more rows are remembered."""
        may_miss = 1 - self.recall
        if not rows or not may_miss:
            return
        wrong = max(history.missed_by(self.level) / len(history) / may_miss, LEAST_MISSED)
        gain = 0.5 * min(rows / len(history), 1.0)
        factor = self.factor * exp(gain * log(AIM / wrong))
        self.factor = min(max(factor, LOWEST), HIGHEST)

    def wait(self, history: RecentDelays, apart: int) -> int:
        """Choose a wait, in microseconds.

        Args:
            history: What is remembered.
            apart: How far the rows of the first micro-batch are apart.
        """
        may_miss = 1 - self.recall
        misses = floor(may_miss * self.factor * (len(history) + 1)) - 1
        if misses >= 0:
            return history.wait_missing(misses)
        longest = history.longest if not may_miss else history.wait_missing(0)
        return max(longest, apart) if history.known < ENOUGH else longest


def chosen(waits: Sequence[RecallWait], history: RecentDelays, apart: int) -> list[int]:
    """Choose the waits for several recalls, ascending."""
    found: list[int] = []
    for each in waits:
        found.append(max(each.wait(history, apart), found[-1] if found else 0))
    return found


def extrapolated(history: RecentDelays, wait: int) -> float | None:
    """Estimate the recall of a wait, if rows to come are like those remembered."""
    if not len(history):
        return None
    return 1 - (history.beyond(wait) + 1) / (len(history) + 1)
