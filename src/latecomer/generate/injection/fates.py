"""The disorder to put into a stream, and the possible arrivals of each of its rows.

Paper: Generating Reproducible Out-of-Order Data Streams (Grulich and others, DEBS 2019), steps 1
    and 2 of its algorithm.
Symbols: event time → `time`, ingestion time → `arrival`, percentage → `fraction`.
Departures: the authors' percentage is of rows delayed, an upper bound on the rows out of order;
    ours is the true fraction (see `fraction`). They draw whether and how long to delay a row from
    one sequence of random numbers; our draws are independent, and depend on the row (see `draws`).
Holds: times never change. A row that was out of order in the source keeps its arrival, unless an
    outage holds it back.

Every row has two possible arrivals, `early` and `late`, and a draw. It arrives at `late` if its
draw is below the share of rows to delay, and at `early` otherwise. All three depend on the row
alone, so they are computed once, and each share that is tried only needs comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from latecomer.generate.injection.delays import Delay
from latecomer.generate.injection.distributions import Floats
from latecomer.generate.injection.draws import uniform
from latecomer.generate.injection.patterns import Drift, Outage, Override, Pattern
from latecomer.kernels.hashing import Hashes
from latecomer.kernels.overtaking import NOBODY, First, Flags, count_overtaken, overtaken
from latecomer.time import FOREVER, NEVER, TimeColumn, Times

if TYPE_CHECKING:
    from latecomer.batch import Positions

ALWAYS, NOT_AT_ALL = -1.0, 2.0
"""Draws of rows that are delayed whatever the share, and of rows that never are."""

NOTHING = ALWAYS
"""The share that delays no row at all."""

P = TypeVar("P", Drift, Outage, Override)

_WHETHER, _HOW_LONG, _OUTAGES = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Injection:
    """The disorder to put into a stream."""

    time: TimeColumn
    arrival: TimeColumn | None
    fraction: float
    delay: Delay
    seed: int
    patterns: tuple[Pattern, ...] = ()
    resolution: int = 1
    """Resolution of the arrival column, in microseconds: rows are counted with rounded arrivals."""
    latest: int = FOREVER - 1
    """The last arrival that the column can hold."""

    @property
    def columns(self) -> list[str]:
        """Columns that the fate of a row depends on, besides its identity."""
        named = (pattern.by for pattern in self.patterns if not isinstance(pattern, Drift))
        return list(dict.fromkeys([self.time.name, *(name for name in named if name)]))

    def fates(self, rows: pa.Table, base: Times, ids: Hashes, origin: int) -> Fates:
        """Return the possible arrivals of some rows, which arrive at `base` in the source.

        `origin` is the first arrival of the whole stream in the source.
        """
        draws = drawn = uniform(ids, self.seed, _WHETHER)
        delays = self._delays(rows, base, uniform(ids, self.seed, _HOW_LONG))
        for override in self._those(Override):
            if override.fraction is not None:
                fixed = np.where(drawn < override.fraction, ALWAYS, NOT_AT_ALL)
                draws = np.where(override.applies(rows), fixed, draws)
        draws = np.where(self.time.is_null(rows), NOT_AT_ALL, draws)
        early, late = base, _later(base, delays)
        for number, outage in enumerate(self._those(Outage), _OUTAGES):
            silent = outage.silences(rows, self.seed, number)
            early, late = (outage.hold(when, silent, origin) for when in (early, late))
        return Fates(self._rounded(early), self._rounded(late), draws)

    def _delays(self, rows: pa.Table, base: Times, how_long: Floats) -> Times:
        delays = self.delay.draw(how_long)
        for override in self._those(Override):
            if isinstance(override.delay, Delay):
                chosen = override.applies(rows)
                delays[chosen] = override.delay.draw(how_long[chosen])
        for drift in self._those(Drift):
            # Floats are too coarse near the largest int64, so the delays are capped well below.
            delays = np.minimum(np.rint(delays * drift.at(base)), 2.0**62).astype(np.int64)
        return delays

    def _those(self, kind: type[P]) -> list[P]:
        return [pattern for pattern in self.patterns if isinstance(pattern, kind)]

    def _rounded(self, arrivals: Times) -> Times:
        inside = np.minimum(arrivals, self.latest)
        rounded = -(-inside // self.resolution) * self.resolution
        return np.where(arrivals == NEVER, NEVER, rounded)


@dataclass(frozen=True, slots=True)
class Fates:
    """The possible arrivals of some rows."""

    early: Times
    late: Times
    draws: Floats

    def at(self, positions: Positions) -> Fates:
        """Return the fates of the rows at these positions, in this order."""
        return Fates(self.early[positions], self.late[positions], self.draws[positions])

    def arrivals(self, share: float) -> Times:
        """Return the arrivals of the rows if this share is delayed."""
        return np.where(self.draws < share, self.late, self.early)


@dataclass(frozen=True, slots=True)
class Part:
    """Rows with a time, in time order: all of a stream, or all of a stretch of time."""

    times: Times
    base: Times
    """Their arrivals in the source."""
    orders: Times
    """Order among rows with the same arrival: the smaller comes first."""
    fates: Fates

    def out_of_order(self, later: First) -> Flags:
        """Return True for rows out of order in the source; `later` is the first of later rows."""
        return overtaken(self.times, self.base, self.orders, later)

    def leaving(self, rows: Flags) -> Part:
        """Return the part with these rows never delayed."""
        draws = np.where(rows, NOT_AT_ALL, self.fates.draws)
        return replace(self, fates=replace(self.fates, draws=draws))

    def count(self, share: float, later: First) -> tuple[int, int]:
        """Return the counts of rows out of order and of rows delayed.

        `share` is the share of rows to delay, `later` the first arrival of later rows.
        """
        delayed = self.fates.draws < share
        return self._count(delayed, later)[0], int(np.count_nonzero(delayed))

    def first(self, share: float) -> First:
        """Return the first arrival of these rows if a share is delayed."""
        return self._count(self.fates.draws < share, NOBODY)[1]

    def source_first(self) -> First:
        """Return the first arrival of these rows in the source."""
        at_base = replace(self.fates, early=self.base)
        return replace(self, fates=at_base).first(NOTHING)

    def _count(self, delayed: Flags, later: First) -> tuple[int, First]:
        fates = self.fates
        return count_overtaken(self.times, fates.early, fates.late, delayed, self.orders, later)


def _later(base: Times, delays: Times) -> Times:
    """Return `base` plus delays, capped just below `FOREVER`."""
    room = FOREVER - 1 - np.maximum(base, 0)
    return base + np.minimum(delays, room)
