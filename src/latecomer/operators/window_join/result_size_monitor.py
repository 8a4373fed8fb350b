"""How many results there were, by their time.

Paper: Ji et al. (ICDE 2016), Sections III-A and IV-C.
Symbols: N_prod(P − L) → `count`.
Holds: times ascend; nothing older than the period asked for is kept.
"""

import numpy as np

from latecomer.kernels.window_counts import Counts
from latecomer.operators.window_join.saving import Savable
from latecomer.time import Times


class ResultSizeMonitor(Savable):
    """Results of the recent past."""

    saves = ("_times", "_upto", "total")

    def __init__(self) -> None:
        self._times = np.empty(0, np.int64)
        self._upto = np.zeros(1)
        self.total = 0.0
        """How many there were in all."""

    def add(self, times: Times, results: Counts) -> None:
        """Take note of results.

        Args:
            times: When they are; ascending, and not before those already noted.
            results: How many there are at each.
        """
        self._times = np.concatenate([self._times, times])
        self._upto = np.concatenate([self._upto, self._upto[-1] + np.cumsum(results)])
        self.total += float(results.sum())

    def count(self, after: int, until: int) -> float:
        """Count the results after one time and until another."""
        start, stop = np.searchsorted(self._times, [after, until], side="right")
        return float(self._upto[stop] - self._upto[start])

    def retract(self, since: int) -> None:
        """Take back all results from a time on."""
        kept = int(np.searchsorted(self._times, since))
        self.total -= float(self._upto[-1] - self._upto[kept])
        self._times, self._upto = self._times[:kept], self._upto[: kept + 1]

    def forget(self, until: int) -> None:
        """Let go of results until a time."""
        gone = int(np.searchsorted(self._times, until, side="right"))
        self._times = self._times[gone:]
        # Begin to add up anew, so that sums stay small enough to be exact.
        self._upto = self._upto[gone:] - self._upto[gone]
