"""The delays of one stream in its recent past, as far back as the past resembles the present.

How far back that is, ADWIN decides. Delays are counted in steps of a granularity g:

    delay     0    up to g    up to 2g    …
    coarse    0    1          2

Paper: Ji et al. (ICDE 2016), Section IV-A.
Symbols: R_stat → the tuples remembered, D_i → coarse delay, H_i → `counts`, MaxDH → `largest`.
Departures: at most `MOST` tuples are remembered, however little changes. Delays beyond `MOST_STEPS`
    steps are counted as that long. ADWIN is told how far delays reach, because its bound is for
    values from 0 to 1.
Holds: `counts` adds up to the number of tuples remembered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latecomer.kernels.adwin import adwin, adwin_state

if TYPE_CHECKING:
    from latecomer.arrays import Arrays
    from latecomer.batch import Positions
    from latecomer.time import Times

MOST = 1 << 18
MOST_STEPS = 1 << 16
LONGEST_SKEW = (1 << 62) // MOST
"""Half a year. Longer ones count as that, so that their sum is a number."""
DELTA = 0.002
"""How often ADWIN may cut where nothing has changed; the usual value."""


class DelayHistory:
    """What is remembered of one stream."""

    def __init__(self, granularity: int) -> None:
        self.granularity = granularity
        self._window = adwin_state()
        self._reach = 1.0
        self._start = self._stop = 0
        # Coarse delays and skews, one beside the other.
        self._past = np.empty((2, 1 << 10), np.int64)
        self._counts = np.zeros(64, np.int64)
        self._skews = 0

    def add(self, delays: Times, skews: Times) -> None:
        """Remember more tuples.

        Args:
            delays: How far behind the newest of its stream each came.
            skews: How far ahead of the slowest stream that newest was.
        """
        if not len(delays):
            return
        steps = coarse(delays, self.granularity)
        self._reach = max(self._reach, float(steps.max()))
        widths = adwin(steps.astype(np.float64), self._window, DELTA, self._reach)
        skews = np.minimum(skews, LONGEST_SKEW)
        self._append(np.stack([steps, skews]))
        longest = int(steps.max())
        if longest >= len(self._counts):
            self._counts = np.concatenate([self._counts, np.zeros(longest + 1, np.int64)])
        np.add.at(self._counts, steps, 1)
        self._skews += int(skews.sum())
        self._drop(len(self) - min(int(widths[-1]), MOST))

    def __len__(self) -> int:
        return self._stop - self._start

    @property
    def counts(self) -> Positions:
        """How many tuples had each coarse delay."""
        return self._counts

    @property
    def largest(self) -> int:
        """The largest coarse delay; 0 if there is none."""
        return int(np.flatnonzero(self._counts).max(initial=0))

    @property
    def skew(self) -> float:
        """How far ahead of the slowest stream this one was on average."""
        return self._skews / len(self) if len(self) else 0.0

    def save(self) -> Arrays:
        totals, variances, counts, window = self._window
        return {
            "past": self._past[:, self._start : self._stop],
            "reach": np.array(self._reach),
            "totals": totals,
            "variances": variances,
            "sizes": counts,
            "window": window,
        }

    def load(self, arrays: Arrays) -> None:
        self._past = arrays["past"]
        self._start, self._stop = 0, self._past.shape[1]
        self._reach = float(arrays["reach"])
        self._window = arrays["totals"], arrays["variances"], arrays["sizes"], arrays["window"]
        self._counts = np.bincount(self._past[0], minlength=64)
        self._skews = int(self._past[1].sum())

    def _append(self, columns: Times) -> None:
        count = columns.shape[1]
        if self._stop + count > self._past.shape[1]:
            kept = self._past[:, self._start : self._stop]
            self._past = np.empty((2, 2 * (len(self) + count)), np.int64)
            self._past[:, : kept.shape[1]] = kept
            self._start, self._stop = 0, kept.shape[1]
        self._past[:, self._stop : self._stop + count] = columns
        self._stop += count

    def _drop(self, count: int) -> None:
        if count <= 0:
            return
        gone = self._past[:, self._start : self._start + count]
        np.subtract.at(self._counts, gone[0], 1)
        self._skews -= int(gone[1].sum())
        self._start += count


def coarse(delays: Times, granularity: int) -> Positions:
    """Count delays in steps, rounded up."""
    return np.minimum(-(-delays // granularity), MOST_STEPS)
