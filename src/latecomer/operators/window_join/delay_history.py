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
from latecomer.kernels.adwin import adwin_state, bucket_sizes
from latecomer.kernels.delays import END, LARGEST, SKEW, START, remember
from latecomer.time import Times

MOST = 1 << 18
MOST_STEPS = 1 << 16
LONGEST_SKEW = (1 << 62) // MOST
"""Half a year. Longer ones count as that, so that their sum is a number."""
FIRST = 256
"""For how many tuples there is room at first."""
DELTA = 0.002
"""How often ADWIN may cut where nothing has changed; the usual value."""


class DelayHistory:
    """What is remembered of one stream: tuple by tuple, as far back as the window of ADWIN.

    ADWIN forgets whole buckets. So for each of them only is written how many tuples had which
    delay, and what is written stays small however many tuples it is about.
    """

    def __init__(self, granularity: int) -> None:
        self.granularity = granularity
        self._window = adwin_state()
        self._reach = np.ones(1)
        # The coarse delay and the skew of each tuple, the oldest first.
        self._past = np.empty((2, FIRST), np.int64)
        self._counts = np.zeros(MOST_STEPS + 1, np.int64)
        self._marks = np.zeros(4, np.int64)

    def add(self, delays: Times, skews: Times) -> None:
        """Remember more tuples.

        Args:
            delays: How far behind the newest of its stream each came.
            skews: How far ahead of the slowest stream that newest was.
        """
        if len(delays):
            self._make_room(len(delays))
            limits = (self.granularity, MOST_STEPS, LONGEST_SKEW, MOST, DELTA)
            past = (*self._past, self._counts, self._marks)
            remember((delays, skews), limits, self._window, self._reach, past)

    def _make_room(self, count: int) -> None:
        start, end = self._marks[[START, END]].tolist()
        if end + count <= self._past.shape[1]:
            return
        kept = end - start
        moved = np.empty((2, 2 * (kept + count)), np.int64)
        moved[:, :kept] = self._past[:, start:end]
        self._past = moved
        self._marks[[START, END]] = 0, kept

    def __len__(self) -> int:
        return int(self._marks[END] - self._marks[START])

    @property
    def counts(self) -> Positions:
        """How many tuples had each coarse delay, up to the largest."""
        return self._counts[: self.largest + 1]

    @property
    def largest(self) -> int:
        """The largest coarse delay; 0 if there is none."""
        return int(self._marks[LARGEST])

    @property
    def skew(self) -> float:
        """How far ahead of the slowest stream this one was on average."""
        return int(self._marks[SKEW]) / len(self) if len(self) else 0.0

    def save(self) -> Arrays:
        totals, variances, counts, window = self._window
        bounds = np.cumsum(bucket_sizes(self._window))
        bounds = bounds[: np.searchsorted(bounds, MOST) + 1]
        start, end = self._marks[[START, END]].tolist()
        # The newest first, as buckets are.
        steps, skews = self._past[:, start:end][:, ::-1]
        bucket = np.searchsorted(bounds, np.arange(1, end - start + 1))
        places, many = np.unique(bucket * (MOST_STEPS + 1) + steps, return_counts=True)
        own = np.zeros(len(bounds), np.int64)
        np.add.at(own, bucket, skews)
        return {
            "sizes": np.bincount(bucket, minlength=len(bounds)),
            "skews": own,
            "lines": np.stack([*np.divmod(places, MOST_STEPS + 1), many]),
            "reach": np.array(self._reach[0]),
            "totals": totals,
            "variances": variances,
            "buckets": counts,
            "window": window,
        }

    def load(self, arrays: Arrays) -> None:
        self._reach[0] = arrays["reach"]
        self._window = arrays["totals"], arrays["variances"], arrays["buckets"], arrays["window"]
        sizes, lines = arrays["sizes"], arrays["lines"]
        self._marks[:] = 0
        self._make_room(int(sizes.sum()) + FIRST)
        self._marks[END] = sizes.sum()
        self._marks[SKEW] = arrays["skews"].sum()
        self._counts[:] = 0
        np.add.at(self._counts, lines[1], lines[2])
        self._marks[LARGEST] = lines[1].max(initial=0)
        # Buckets are forgotten as a whole: which of their tuples has which skew does not matter.
        steps, skews = self._past[:, : self._marks[END]]
        steps[:] = np.repeat(lines[1], lines[2])[::-1]
        skews[:] = 0
        is_some = sizes > 0
        lasts = (np.cumsum(sizes) - 1)[is_some]
        skews[::-1][lasts] = arrays["skews"][is_some]


def coarse(delays: Times | np.int64, granularity: int) -> Positions:
    """Count delays in steps, rounded up."""
    return np.minimum(-(-delays // granularity), MOST_STEPS)
