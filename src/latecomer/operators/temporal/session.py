"""Sessions: rows of a key that come soon after each other.

Each row counts until its session ends:

    timeout 5        1  3  6              15
                     ├──────────────┤     ├────────┤
                        ├───────────┤
                           ├────────┤ 11           20

A session ends `timeout` after its last row. A row before that end belongs to the session, and moves
its end. A row exactly at that end begins the next session, because lifetimes are half open. The
ends that rows had before do not matter.

A *streak* is a series of rows of a key, each less than `timeout` after the one before. Without
`max_duration`, a streak is a session. With it, streaks are cut, so that a key that never falls
silent has results too. Cuts are at the multiples of `max_duration`, counted from 1970. The first
cut is at least `max_duration` after the streak began:

    timeout 10, max_duration 20

    rows         11 12     21  25    31 32       41  45    51
    streak       ├──────────────────────────────────────────────┤ 61
    sessions     ├─────────────────────────┤ 40  ├────────────┤ 60

So every session is shorter than twice the `max_duration`, and streaks that began at different times
are cut at the same instants. `max_duration` may be shorter than the timeout.

Paper: none; it is SessionTimeoutWindow in the code of Trill.
Departures: in Trill the second row of a session may decide where it is cut, and whether it does
    depends on what else has come. Here the first row of the streak decides.
Holds: between calls, a key has at most one streak, which ends after the watermark. The rows of its
    open session are held. After a cut no session is open until the next row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import Positions
from latecomer.labels import Labelled
from latecomer.operators.aggregates.slices import dense_codes
from latecomer.operators.aggregates.summary import slotted
from latecomer.operators.base import Chunks, by
from latecomer.operators.temporal.base import Settler, Spec, untold
from latecomer.operators.temporal.edges import FINAL, Edges
from latecomer.operators.temporal.specification import Temporal
from latecomer.operators.windows.grid import floored
from latecomer.time import Times, format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from latecomer.operators.ways import Way


@dataclass(frozen=True, slots=True)
class Closing(Labelled):
    """The rule by which sessions end; durations are in microseconds."""

    timeout: int
    max_duration: int | None = None

    def __str__(self) -> str:
        """Return the rule in words."""
        ends = f"a session ends after {format_duration(self.timeout)} of silence"
        most = self.max_duration
        return f"{ends}, and is cut every {format_duration(most)}" if most else ends

    def ends(self, times: Times, streaks: Times, streak_ends: Times) -> Times:
        """Return the end of each row's session, given the begin and end of its streak."""
        if self.max_duration is None:
            return streak_ends
        first_cut = floored(streaks + (2 * self.max_duration - 1), self.max_duration, 0)
        next_cut = floored(times, self.max_duration, 0) + self.max_duration
        return np.minimum(streak_ends, np.maximum(first_cut, next_cut))


@dataclass(frozen=True, slots=True)
class Session(Temporal):
    """Let each row count until its session ends."""

    keys: tuple[str, ...]
    closing: Closing

    @property
    def keyed(self) -> tuple[str, ...]:
        """Columns of the key: all rows of a session must be in the same bucket."""
        return self.keys

    def describe(self, schema: pa.Schema) -> str:
        return (
            f"let rows count until the session ends{by(self.keys)}: {self.closing}; rows of open "
            "sessions are held"
        )

    def with_slot(self, columns: tuple[str, ...]) -> Session:
        return replace(self, keys=slotted(self.keys, columns))

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Sessionizer:
        return Sessionizer(self, [schema], chunks, saved)


@dataclass(frozen=True, slots=True)
class Placed:
    """The sessions of rows."""

    codes: Positions
    """Number of each row's key."""
    count: int
    """Bound of these numbers: all are smaller."""
    ends: Times
    """End of each row's session, as far as is known."""


class SessionFinder(Settler[Spec]):
    """A running operator that puts rows into sessions. The last table it holds has the streaks."""

    _keys: tuple[str, ...]
    _compared: tuple[str, ...]
    """The columns in which rows of a session are equal: the keys, or what identifies them."""
    _closing: Closing

    def dues(self) -> Iterator[tuple[Edges, Times]]:
        """Yield also the times just before the ends of sessions and streaks."""
        yield from super().dues()
        for held in self._held:
            yield held, held.other - 1

    def place(self, rows: Edges, way: Way) -> Placed:
        """Return the sessions of rows, and hold the streaks that may go on."""
        from latecomer.kernels.sessions import united

        held = self._held[-1]
        new = keyed(rows, self._keys)
        alone = Edges(new.at, new.at + self._closing.timeout, new.id, new.payload)
        both = Edges.joined([held, alone])
        columns = [both.payload.column(name) for name in self._compared]
        codes, count = dense_codes(columns, len(both))
        # The edges of a key are in order: first its streak, then held rows, then new rows.
        firsts, ends = united(codes, both.at, both.other, count)
        starts = both.at[firsts]
        goes_on = np.flatnonzero((firsts == np.arange(len(both))) & (ends > way.now(both.payload)))
        self._held[-1] = Edges(starts, ends, both.id, both.payload).take(goes_on)
        # The streaks come first, then the rows.
        before = len(held)
        ends = self._closing.ends(rows.at, starts[before:], ends[before:])
        return Placed(codes[before:], count, ends)


class Sessionizer(SessionFinder[Session]):
    """A running `Session`. It holds rows whose begin was emitted, and streaks."""

    def step(self, due: tuple[Edges, ...], way: Way) -> Edges:
        """Emit the ends of all sessions that are closed."""
        begun = due[0].where(~due[0].is_end)
        rows = Edges.joined([self._held[0], untold(begun)])
        ends = self.place(rows, way).ends
        rows = Edges(rows.at, ends, rows.id, rows.payload)
        return self.settle(rows, ends, ends <= way.now(rows.payload))

    def _prepare(self) -> None:
        self._keys = self._compared = self._spec.keys
        self._closing = self._spec.closing

    def _nothing_held(self) -> list[Edges]:
        rows = Edges.none(self._payload)
        return [untold(rows), keyed(rows, self._keys)]


def keyed(edges: Edges, keys: tuple[str, ...]) -> Edges:
    """Return edges with the columns of the key only, and without ids."""
    none = np.full(len(edges), FINAL)
    return Edges(edges.at, edges.other, none, edges.payload.select(list(keys)))
