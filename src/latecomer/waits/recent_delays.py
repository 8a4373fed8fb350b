"""The delays of a stream in its recent past, micro-batch by micro-batch: what a wait is chosen by.

**Steps grow with the delay.** Delays are counted in steps of a millisecond up to 64 of them, and
from there on in steps of a 32nd of the delay; they are rounded up. So seconds and weeks can be told
apart with the same few hundred steps, and a wait is never too short.

    delay    0    1 ms   63 ms   64 ms   66 ms   …   128 ms   132 ms   …   1 hour
    step     0    1      63      64      65          96       97           551

**The past fades.** Each micro-batch is added to counts that shrink a little with it
(`Controller.kept`). A higher recall needs more rows to judge by, so each recall has counts of its
own; what is remembered is a few kilobytes for each, however long the stream is.

Holds: the same micro-batches give the same history, whatever order their rows have, and wherever it
    was saved and restored.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from latecomer.time import FOREVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from latecomer.batch import Positions
    from latecomer.time import Times

_FINEST, _PER_DOUBLING = 6, 32
"""Up to 2^6 milliseconds each is a step; then there are so many from a delay to its double."""
_MILLISECOND = 1_000
_STEPS = 2_048
"""An upper bound on the number of steps."""
_GONE = 1e-3
"""What is left of a row that no longer counts."""


class RecentDelays:
    """How many rows had which delay, for each recall by a memory of its own."""

    def __init__(self, levels: int) -> None:
        self.counts: npt.NDArray[np.float64] = np.zeros((levels, _STEPS))
        """By level and step; a row of the past counts for less than one."""
        self._missed = self.counts
        """Rows that a wait misses, by level, from the longest wait to none at all."""

    def add(self, delays: Times, kept: Sequence[float]) -> None:
        """Remember the rows of a micro-batch, in any order.

        Args:
            delays: How long one would have had to wait for each, in microseconds.
            kept: By what share the past still counts for each level.
        """
        self.counts *= np.array(kept)[:, np.newaxis]
        # Most rows have no delay; a step is looked for only where there is one.
        behind = delays[delays > 0]
        self.counts[:, 0] += len(delays) - len(behind)
        self.counts += np.bincount(steps_of(behind), minlength=_STEPS)
        self._add_up()

    def load(self, counts: npt.NDArray[np.float64]) -> None:
        """Remember what `counts` had."""
        self.counts = counts
        self._add_up()

    def rows(self, level: int) -> float:
        """Return how many rows are remembered."""
        return float(self._missed[level, -1])

    def beyond(self, level: int, wait: int) -> float:
        """Count the remembered rows for which a wait, in microseconds, would be too short."""
        # Of a step that is longer than the wait, all rows may be.
        longer = _STEPS - bisect_right(_DELAYS, wait)
        return float(self._missed[level, longer - 1]) if longer else 0.0

    def wait_missing(self, level: int, rows: float) -> int:
        """Find the shortest wait that misses no more than so many of the remembered rows."""
        fits = int(self._missed[level].searchsorted(max(rows, _GONE), side="right"))
        return _DELAYS[max(_STEPS - 1 - fits, 0)]

    def _add_up(self) -> None:
        self._missed = self.counts[:, ::-1].cumsum(axis=1)


def steps_of(delays: Times) -> Positions:
    """Count delays in steps, rounded up."""
    ticks = -(-np.maximum(delays, 0) // _MILLISECOND)
    halvings = np.maximum(np.frexp(ticks.astype(np.float64))[1] - _FINEST, 0).astype(np.int64)
    return _PER_DOUBLING * halvings - (-ticks >> halvings)


def delay_of(step: int) -> int:
    """Return the longest delay that is counted as so many steps, in microseconds."""
    halvings = max(step // _PER_DOUBLING - 1, 0)
    return min(((step - _PER_DOUBLING * halvings) << halvings) * _MILLISECOND, FOREVER)


_DELAYS = [delay_of(step) for step in range(_STEPS)]
