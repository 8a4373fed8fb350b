"""The recent delays of a stream, from which a wait is chosen.

**Steps grow with the delay.** Delays are rounded up to a step: a whole millisecond up to 64 of
them, and from there on 32 steps for each doubling. So a few hundred steps cover milliseconds as
well as weeks, and a wait is never too short.

    delay    0    1 ms   63 ms   64 ms   66 ms   …   128 ms   132 ms   …   1 hour
    step     0    1      63      64      65          96       97           551

**The past fades.** Before a micro-batch is added, all counts shrink a little (`Controller.kept`). A
higher recall needs more rows to judge by, so each recall has counts of its own. They take a few
kilobytes each, however long the stream is.

Holds: the same micro-batches give the same history, whatever the order of their rows, and wherever
    it was saved and restored.
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
"""Each millisecond up to 2^6 is a step of its own; then there are 32 steps for each doubling."""
_MILLISECOND = 1_000
_BELOW = 52 - _PER_DOUBLING.bit_length() + 1
"""Number of a floating-point number's last bits that are too fine for a step."""
_FIRST = (int(np.float64(_PER_DOUBLING).view(np.int64)) >> _BELOW) - _PER_DOUBLING
_ROUNDED_UP = (1 << _BELOW) - 1 - (_FIRST << _BELOW)
"""Added to the bits of a number, so that a shift gives its step, rounded up."""
_STEPS = 2_048
"""An upper bound on the number of steps."""
_GONE = 1e-3
"""Weight of faded rows below which they no longer count."""


class RecentDelays:
    """Number of recent rows with each delay. Each recall has a memory of its own."""

    def __init__(self, levels: int) -> None:
        self.counts: npt.NDArray[np.float64] = np.zeros((levels, _STEPS))
        """Rows by level and step; older rows count for less than one."""
        self._longest = 0
        """The largest step that has ever been counted."""
        self._add_up()

    def add(self, rows: int, delays: Times, kept: Sequence[float]) -> None:
        """Remember the rows of a micro-batch, in any order.

        Args:
            rows: The number of rows.
            delays: The wait that each row would have needed, in microseconds; rows that needed none
                may be left out.
            kept: The factor by which earlier counts shrink, for each level.
        """
        if len(delays):
            added = np.bincount(steps_of(delays))
            self._longest = max(self._longest, len(added) - 1)
        counts = self.counts[:, : self._longest + 1]
        counts *= np.array(kept)[:, np.newaxis]
        counts[:, 0] += rows - len(delays)
        if len(delays):
            counts[:, : len(added)] += added
        self._add_up()

    def load(self, counts: npt.NDArray[np.float64]) -> None:
        """Restore the saved `counts`."""
        self.counts = counts
        self._longest = int(np.flatnonzero(counts.any(axis=0)).max(initial=0))
        self._add_up()

    def rows(self, level: int) -> float:
        """Return the number of rows that are remembered."""
        return float(self._missed[level, -1])

    def beyond(self, level: int, wait: int) -> float:
        """Return the number of remembered rows for which a wait would be too short.

        The wait is in microseconds. All rows of a step that ends beyond it are counted.
        """
        longer = self._longest + 1 - bisect_right(_DELAYS, wait)
        return float(self._missed[level, longer - 1]) if longer > 0 else 0.0

    def wait_missing(self, level: int, rows: float) -> int:
        """Return the shortest wait that misses no more than `rows` of the remembered rows."""
        fits = int(self._missed[level].searchsorted(max(rows, _GONE), side="right"))
        return _DELAYS[max(self._longest - fits, 0)]

    def _add_up(self) -> None:
        # Rows that a wait misses, by level, from the longest wait down to none.
        self._missed = self.counts[:, self._longest :: -1].cumsum(axis=1)


def steps_of(delays: Times) -> Positions:
    """Return the step of each delay, rounded up. Delays are not negative."""
    # Each pass over the rows is written to the same array: new arrays took half of the time.
    ticks = delays - 1
    ticks //= _MILLISECOND
    ticks += 1
    # The first bits of a floating-point number are its exponent and a fraction: up to a constant,
    # the step. This holds from 2^5 milliseconds on; delays before that have a step each, which is
    # more than the bits say.
    steps = ticks.astype(np.float64).view(np.int64)
    steps += _ROUNDED_UP
    steps >>= _BELOW
    np.minimum(ticks, _PER_DOUBLING, out=ticks)
    return np.maximum(steps, ticks, out=steps)


def delay_of(step: int) -> int:
    """Return the longest delay of a step, in microseconds."""
    halvings = max(step // _PER_DOUBLING - 1, 0)
    return min(((step - _PER_DOUBLING * halvings) << halvings) * _MILLISECOND, FOREVER)


_DELAYS = [delay_of(step) for step in range(_STEPS)]
