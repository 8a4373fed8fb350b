"""Measure the disorder of a stream in a few numbers.

`measure` is about delays, which decide how long to wait. The delay of a row is the newest time so
far, its own included, less its time. So it is never negative, and 0 for a row that is the newest:

    time    10    14    12    19    13
    newest  10    14    14    19    19
    delay    0     0     2     0     6      two of five out of order, the largest delay is 6

A quantile of the delays is a wait: 80 % of these rows have a delay of 2 or less, so a wait of 2 is
enough for them. Quantiles are therefore delays that occurred, never values in between.

`order_measures` looks at order alone: any times in the same order give the same measures.
`latecomer.kernels.disorder` defines what it counts.

**All numbers are exact**, even for times so far apart that their difference does not fit an int64.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from latecomer.profile.delay_counts import DelayCounter, DelayCounts, Delays
from latecomer.time import Times

QUANTILES = (0.5, 0.9, 0.99, 0.999)


@dataclass(frozen=True, slots=True)
class Disorder:
    """The delays of the rows of a stream. All values are zero if there are no rows."""

    rows: int
    out_of_order: int
    """Number of rows that came after a newer one, so that they have a delay."""
    largest: int
    """Largest delay, in microseconds."""
    quantiles: Mapping[float, int] = field(hash=False)
    """For each share, the smallest delay that at least this share of the rows does not exceed."""

    @property
    def share(self) -> float:
        """Share of rows that were out of order, from 0 to 1."""
        return self.out_of_order / self.rows if self.rows else 0.0


def measure(times: Times, quantiles: Sequence[float] = QUANTILES) -> Disorder:
    """Measure the disorder of a stream, given its times in order of arrival.

    Quantiles are above 0 and up to 1. Cost: one sort of the delays.
    """
    found = delay_counts(times)
    waits = {share: found.wait_for(share) for share in quantiles}
    return Disorder(found.total, found.out_of_order, found.largest, waits)


@dataclass(frozen=True, slots=True)
class Measures:
    """The four measures of order of the Impatience paper (Section II). All are zero for no rows."""

    inversions: int
    """Number of pairs of rows in which the earlier row came later."""
    distance: int
    """Largest distance between the rows of such a pair, in places."""
    runs: int
    """Number of maximal stretches that do not descend."""
    interleaved: int
    """Least number of ascending sequences that interleave to the stream (Patience sort's runs)."""


def order_measures(times: Times) -> Measures:
    """Measure the order of a stream, given its times in order of arrival.

    Cost: O(n log n), a few seconds for 20 million rows.
    """
    # Imported here, because delays alone do not need Numba.
    from latecomer.kernels import disorder as kernels

    times = np.ascontiguousarray(times, np.int64)
    return Measures(
        inversions=int(kernels.inversions(times)),
        distance=int(kernels.distance(times)),
        runs=int(kernels.runs(times)),
        interleaved=int(kernels.interleaved(times)),
    )


def delay_counts(times: Times) -> DelayCounts:
    """Return the number of rows by delay, given times in order of arrival; all exact."""
    counter = DelayCounter(len(times))
    counter.add(delays(times))
    return counter.result()


def delays(times: Times) -> Delays:
    """Return the delay of each row behind the newest so far, given times in order of arrival."""
    times = np.ascontiguousarray(times, np.int64)
    newest = np.maximum.accumulate(times)
    # The larger int64 less the smaller always fits a uint64, so wrap-around gives the right value.
    return newest.view(np.uint64) - times.view(np.uint64)
