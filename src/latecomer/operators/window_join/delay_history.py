"""The delays of one stream in its recent past, as far back as the past resembles the present.

How far back that is, ADWIN decides. Delays are counted in steps of a granularity g:

    delay     0    up to g    up to 2g    …
    coarse    0    1          2

Paper: Ji et al. (ICDE 2016), Section IV-A.
Symbols: R_stat → the tuples remembered, D_i → coarse delay, H_i → `counts`, MaxDH → `largest`.
Departures: no more buckets of ADWIN are remembered than have `MOST` tuples, however little
    changes. Delays beyond `MOST_STEPS` steps are counted as that long. ADWIN is told how far delays
    reach, because its bound is for values from 0 to 1.
Holds: `counts` adds up to the number of tuples remembered.
"""

import numpy as np

from latecomer.arrays import Arrays
from latecomer.batch import Positions
from latecomer.kernels.adwin import adwin, adwin_state, bucket_sizes
from latecomer.time import Times

MOST = 1 << 18
MOST_STEPS = 1 << 16
LONGEST_SKEW = (1 << 62) // MOST
"""Half a year. Longer ones count as that, so that their sum is a number."""
DELTA = 0.002
"""How often ADWIN may cut where nothing has changed; the usual value."""


class DelayHistory:
    """What is remembered of one stream: for each bucket of ADWIN how many tuples had which delay.

    ADWIN forgets whole buckets, so nothing finer is needed, and the state stays small however many
    tuples it is about.
    """

    def __init__(self, granularity: int) -> None:
        self.granularity = granularity
        self._window = adwin_state()
        self._reach = 1.0
        # Of each bucket the number of its tuples and the sum of their skews, the newest first.
        self._sizes = self._skews = np.empty(0, np.int64)
        # Lines of bucket, coarse delay, number of tuples.
        self._lines = np.empty((3, 0), np.int64)
        self._counts = np.zeros(1, np.int64)

    def add(self, delays: Times, skews: Times) -> None:
        """Remember more tuples.

        Args:
            delays: How far behind the newest of its stream each came.
            skews: How far ahead of the slowest stream that newest was.
        """
        count = len(delays)
        if not count:
            return
        steps = coarse(delays, self.granularity)
        self._reach = max(self._reach, float(steps.max()))
        adwin(steps.astype(np.float64), self._window, DELTA, self._reach)
        # Each new tuple is a bucket of its own, until ADWIN's buckets say where it belongs.
        ones = np.ones(count, np.int64)
        own = np.stack([np.arange(count), steps[::-1], ones])
        before = self._lines + np.array([[count], [0], [0]])
        skews = np.minimum(skews[::-1], LONGEST_SKEW)
        self._merge(
            np.concatenate([ones, self._sizes]),
            np.concatenate([skews, self._skews]),
            np.concatenate([own, before], axis=1),
        )

    def _merge(self, sizes: Positions, skews: Positions, lines: Positions) -> None:
        """Unite buckets as ADWIN has, and forget those that it has cut off."""
        bounds = np.cumsum(bucket_sizes(self._window))
        # The last bucket is the one with which there are enough.
        bounds = bounds[: np.searchsorted(bounds, MOST) + 1]
        bucket = np.searchsorted(bounds, np.cumsum(sizes))
        self._sizes, self._skews = np.zeros((2, len(bounds) + 1), np.int64)
        np.add.at(self._sizes, bucket, sizes)
        np.add.at(self._skews, bucket, skews)
        self._sizes, self._skews = self._sizes[:-1], self._skews[:-1]
        places, at = np.unique(bucket[lines[0]] * (MOST_STEPS + 1) + lines[1], return_inverse=True)
        many = np.zeros(len(places), np.int64)
        np.add.at(many, at, lines[2])
        kept = slice(0, np.searchsorted(places, len(bounds) * (MOST_STEPS + 1)))
        self._lines = np.stack([*np.divmod(places, MOST_STEPS + 1), many])[:, kept]
        self._count()

    def _count(self) -> None:
        self._counts = np.zeros(int(self._lines[1].max(initial=0)) + 1, np.int64)
        np.add.at(self._counts, self._lines[1], self._lines[2])

    def __len__(self) -> int:
        return int(self._sizes.sum())

    @property
    def counts(self) -> Positions:
        """How many tuples had each coarse delay, up to the largest."""
        return self._counts

    @property
    def largest(self) -> int:
        """The largest coarse delay; 0 if there is none."""
        return len(self._counts) - 1

    @property
    def skew(self) -> float:
        """How far ahead of the slowest stream this one was on average."""
        return int(self._skews.sum()) / len(self) if len(self) else 0.0

    def save(self) -> Arrays:
        totals, variances, counts, window = self._window
        return {
            "sizes": self._sizes,
            "skews": self._skews,
            "lines": self._lines,
            "reach": np.array(self._reach),
            "totals": totals,
            "variances": variances,
            "buckets": counts,
            "window": window,
        }

    def load(self, arrays: Arrays) -> None:
        self._sizes, self._skews, self._lines = arrays["sizes"], arrays["skews"], arrays["lines"]
        self._reach = float(arrays["reach"])
        self._window = arrays["totals"], arrays["variances"], arrays["buckets"], arrays["window"]
        self._count()


def coarse(delays: Times, granularity: int) -> Positions:
    """Count delays in steps, rounded up."""
    return np.minimum(-(-delays // granularity), MOST_STEPS)
