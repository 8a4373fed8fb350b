"""Count results by their time.

Paper: Ji et al. (ICDE 2016), Sections III-A and IV-C.
Symbols: N_prod(P − L) → `count`.
Holds: times ascend; nothing older than the period asked for is kept.
"""

import numpy as np

from latecomer.arrays import Arrays
from latecomer.kernels.window_probes import Counts
from latecomer.operators.window_join.saving import Savable
from latecomer.time import Times

FIRST = 256
"""Number of times for which there is room at first."""
TOO_LARGE = 2.0**50
"""Sum above which sums start from 0 again, before they are too large to be exact."""


class ResultSizeMonitor(Savable):
    """Counts of the results of the recent past."""

    def __init__(self) -> None:
        # Counts are from `_start` to `_end`, with room behind them. `_all_sums` has the number of
        # results before each time, and the total after the last.
        self._all_times = np.empty(FIRST, np.int64)
        self._all_sums = np.zeros(FIRST + 1)
        self._start = self._end = 0
        self.total = 0.0
        """Number of all results ever added, less those retracted."""

    @property
    def _times(self) -> Times:
        return self._all_times[self._start : self._end]

    @property
    def _sums(self) -> Counts:
        return self._all_sums[self._start : self._end + 1]

    def add(self, times: Times, results: Counts) -> None:
        """Add results.

        Args:
            times: The times of results; ascending, and not before those already added.
            results: The number of results at each time.
        """
        self._make_room(len(times))
        start, self._end = self._end, self._end + len(times)
        self._all_times[start : self._end] = times
        sums = self._all_sums[start + 1 : self._end + 1]
        np.cumsum(results, out=sums)
        sums += self._all_sums[start]
        self.total += float(results.sum())

    def count(self, after: int, until: int) -> float:
        """Return the number of results after one time and up to another."""
        start, stop = self._times.searchsorted([after, until], side="right")
        return float(self._sums[stop] - self._sums[start])

    def retract(self, since: int) -> None:
        """Remove all results from a time on."""
        kept = int(self._times.searchsorted(since))
        self.total -= float(self._sums[-1] - self._sums[kept])
        self._end = self._start + kept

    def forget(self, until: int) -> None:
        """Drop results up to a time; `total` still includes them."""
        self._start += int(self._times.searchsorted(until, side="right"))
        if self._sums[0] > TOO_LARGE:
            self._sums[:] -= self._sums[0]

    def save(self) -> Arrays:
        return {"_times": self._times, "_upto": self._sums, "total": np.asarray(self.total)}

    def load(self, arrays: Arrays) -> None:
        self._all_times, self._all_sums = arrays["_times"], arrays["_upto"]
        self._start, self._end = 0, len(self._all_times)
        self.total = float(arrays["total"])

    def _make_room(self, count: int) -> None:
        if self._end + count <= len(self._all_times):
            return
        kept = self._end - self._start
        times, sums = np.empty(2 * (kept + count), np.int64), np.zeros(2 * (kept + count) + 1)
        times[:kept], sums[: kept + 1] = self._times, self._sums
        self._all_times, self._all_sums = times, sums
        self._start, self._end = 0, kept
