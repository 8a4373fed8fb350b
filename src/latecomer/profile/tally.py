"""Measure a stream of any length, batch by batch, in order of arrival.

The state carried from one batch to the next is small: the newest time so far, the last time, and
counts. In addition all times are kept, eight bytes a row, because three of the four measures of
order need them. Above `MOST_MEASURED` rows the times are dropped, and those measures are not taken.
No number comes from a sample.
"""

import logging
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.profile.delay_counts import LEVELS, MOST_DISTINCT, DelayCounter, DelayCounts, level
from latecomer.profile.density import Density, DensityCounter
from latecomer.profile.key_counts import KeyCounter
from latecomer.profile.measures import Measures, delays, order_measures
from latecomer.time import Times

log = logging.getLogger(__name__)

MOST_MEASURED = 100_000_000
"""Largest number of rows whose order is measured: 800 MB of times, three times that meanwhile."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits up to which all measures are exact: distinct delays, and rows."""

    distinct: int = MOST_DISTINCT
    measured: int = MOST_MEASURED


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """The measures of a stream, from rows that have a time."""

    delays: DelayCounts
    first: int
    """Time of the first row; it and the next two are 0 if there are no rows."""
    oldest: int
    newest: int
    runs: int
    measures: Measures | None
    """Measures of order; None if there were too many rows to keep their times."""
    by_time: Density
    by_level: Density
    """The same rows, by level of delay."""
    keys: pa.Table | None
    """Rows, rows out of order and largest delay of each key; the worst key comes first."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The findings, and the numbers of rows that were counted and left out."""

    rows: int
    without_time: int
    without_arrival: int
    """Number of rows that have a time but no arrival, which are left out too."""
    findings: Findings


class Tally:
    """A stream that is being measured."""

    def __init__(self, key: tuple[str, ...] = (), limits: Limits | None = None) -> None:
        """Begin with no rows. If there is a key, rows are counted by key as well."""
        self._limits = limits or Limits()
        self._rows = 0
        self._first = self._oldest = self._newest = self._last = 0
        self._descents = 0
        self._times: list[Times] | None = []
        self._delays = DelayCounter(self._limits.distinct)
        self._by_time = DensityCounter()
        self._by_level = DensityCounter(rows=LEVELS)
        self._keys = KeyCounter(key) if key else None

    def add(self, times: Times, keys: pa.Table | None = None) -> None:
        """Measure more rows, in order of arrival; with their keys if they are counted by key."""
        if not len(times):
            return
        if not self._rows:
            self._first = self._last = self._oldest = self._newest = int(times[0])
        behind = delays(np.concatenate([[self._newest], times]))[1:]
        self._descents += int(np.count_nonzero(times[1:] < times[:-1]))
        self._descents += int(times[0] < self._last)
        self._last = int(times[-1])
        self._oldest = min(self._oldest, int(times.min()))
        self._newest = max(self._newest, int(times.max()))
        self._rows += len(times)
        if self._times is not None:
            self._times.append(times)
        if self._rows > self._limits.measured:
            self._times = None
        self._delays.add(behind)
        self._by_time.add(times)
        self._by_level.add(level(behind))
        if self._keys and keys is not None:
            self._keys.add(keys, behind)

    def result(self) -> Findings:
        """Return the findings from all rows so far."""
        return Findings(
            delays=self._delays.result(),
            first=self._first,
            oldest=self._oldest,
            newest=self._newest,
            runs=self._descents + 1 if self._rows else 0,
            measures=self._measures(),
            by_time=self._by_time.result(),
            by_level=self._by_level.result(),
            keys=self._keys.result() if self._keys else None,
        )

    def _measures(self) -> Measures | None:
        if self._times is None:
            return None
        log.info("measuring the order of %s rows", f"{self._rows:,}")
        return order_measures(np.concatenate([np.empty(0, np.int64), *self._times]))
