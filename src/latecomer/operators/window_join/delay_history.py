"""The delays of one stream in its recent past, as far back as the past resembles the present.

ADWIN decides how far back that is. Delays are counted in steps of a granularity g:

    delay     0    up to g    up to 2g    …
    coarse    0    1          2

Paper: Ji et al. (ICDE 2016), Section IV-A.
Symbols: R_stat → the tuples remembered, D_i → coarse delay, H_i → `counts`, MaxDH → `largest`.
Departures: only as many buckets of ADWIN are remembered as have `MOST` tuples, even if nothing
    changes. Delays beyond `MOST_STEPS` steps are counted as that long. ADWIN is given the largest
    delay, because its bound is for values from 0 to 1.
Holds: `counts` adds up to the number of tuples remembered.
"""

import numpy as np

from latecomer.arrays import Arrays
from latecomer.batch import Positions
from latecomer.kernels.adwin import adwin_state, bucket_sizes
from latecomer.kernels.delays import END, LARGEST, SKEW, START, TUPLES, remember
from latecomer.kernels.recall_model import Shares, upto
from latecomer.time import Times

MOST = 1 << 18
MOST_STEPS = 1 << 16
LONGEST_SKEW = (1 << 62) // MOST
"""Longest skew, half a year; longer ones count as that, so that their sum fits an int64."""
FIRST = 256
"""Number of tuples for which there is room at first."""
DELTA = 0.002
"""Probability that ADWIN cuts where nothing has changed; the usual value."""


class DelayHistory:
    """The delays of one stream, as far back as the window of ADWIN.

    ADWIN forgets whole buckets. So the saved state has, for each bucket, the number of tuples with
    each delay, and stays small however many tuples there are. Tuples that have come since are
    remembered one by one.
    """

    def __init__(self, granularity: int) -> None:
        self.granularity = granularity
        self._window = adwin_state()
        self._reach = np.ones(1)
        # Each entry has a delay, a sum of skews and a number of tuples; the oldest is first.
        self._entries = np.empty((3, FIRST), np.int64)
        self._counts = np.zeros(MOST_STEPS + 1, np.int64)
        self._marks = np.zeros(5, np.int64)

    def add(self, delays: Times, skews: Times) -> None:
        """Remember more tuples.

        Args:
            delays: The delay of each tuple, behind the newest of its stream.
            skews: How far that newest was ahead of the slowest stream.
        """
        if len(delays):
            self._make_room(len(delays))
            limits = (self.granularity, MOST_STEPS, LONGEST_SKEW, MOST, DELTA)
            past = (self._entries, self._counts, self._marks)
            remember((delays, skews), limits, self._window, self._reach, past)

    def _make_room(self, count: int) -> None:
        start, end = self._marks[[START, END]].tolist()
        if end + count <= self._entries.shape[1]:
            return
        kept = end - start
        moved = np.empty((3, 2 * (kept + count)), np.int64)
        moved[:, :kept] = self._entries[:, start:end]
        self._entries = moved
        self._marks[[START, END]] = 0, kept

    def __len__(self) -> int:
        return int(self._marks[TUPLES])

    @property
    def counts(self) -> Positions:
        """Number of tuples with each coarse delay, up to the largest."""
        return self._counts[: self.largest + 1]

    @property
    def largest(self) -> int:
        """The largest coarse delay; 0 if there is none."""
        return int(self._marks[LARGEST])

    @property
    def skew(self) -> float:
        """Average distance of this stream from the slowest stream."""
        return int(self._marks[SKEW]) / len(self) if len(self) else 0.0

    def shares(self, steps: int) -> Shares:
        """Return the share of tuples with a coarse delay of up to 0, 1, 2 …; 1 if there are none.

        Args:
            steps: The number of shares, at least one more than the largest coarse delay.
        """
        return upto(self._counts[:steps], len(self))

    def save(self) -> Arrays:
        totals, variances, counts, window = self._window
        bounds = np.cumsum(bucket_sizes(self._window))
        bounds = bounds[: np.searchsorted(bounds, MOST) + 1]
        start, end = self._marks[[START, END]].tolist()
        # The newest first, in the order of buckets.
        steps, skews, many = self._entries[:, start:end][:, ::-1]
        bucket = np.searchsorted(bounds, np.cumsum(many))
        places, at = np.unique(bucket * (MOST_STEPS + 1) + steps, return_inverse=True)
        counted = np.zeros(len(places), np.int64)
        sizes, own = np.zeros((2, len(bounds)), np.int64)
        np.add.at(counted, at, many)
        np.add.at(sizes, bucket, many)
        np.add.at(own, bucket, skews)
        return {
            "sizes": sizes,
            "skews": own,
            "lines": np.stack([*np.divmod(places, MOST_STEPS + 1), counted]),
            "reach": np.array(self._reach[0]),
            "totals": totals,
            "variances": variances,
            "buckets": counts,
            "window": window,
        }

    def load(self, arrays: Arrays) -> None:
        self._reach[0] = arrays["reach"]
        self._window = arrays["totals"], arrays["variances"], arrays["buckets"], arrays["window"]
        buckets, steps, many = arrays["lines"]
        self._counts[:] = 0
        np.add.at(self._counts, steps, many)
        self._marks[:] = 0
        self._make_room(len(steps) + FIRST)
        self._marks[END] = len(steps)
        self._marks[TUPLES] = many.sum()
        self._marks[SKEW] = arrays["skews"].sum()
        self._marks[LARGEST] = steps.max(initial=0)
        skews = np.zeros(len(steps), np.int64)
        # Buckets are forgotten as a whole, so one entry can have the skew of all their tuples.
        some, firsts = np.unique(buckets, return_index=True)
        skews[firsts] = arrays["skews"][some]
        self._entries[:, : len(steps)] = np.stack([steps, skews, many])[:, ::-1]
