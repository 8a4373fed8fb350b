"""The first of the rows that are equal in some columns, and again only after a while.

The same event may be reported twice, by a device that got no acknowledgement or by a source that
starts over. Within a duration only the first row by time is let through, in whatever order the rows
arrive:

    within 10 s     a 0   a 4   b 5   a 10   a 12   a 19   a 20
    let through     a 0         b 5   a 10                 a 20

A row is let through unless one that is equal in the columns *was let through* less than `within`
before it. So a row exactly `within` later is let through, and rows that keep coming do not suppress
each other for ever. Of rows of equal time the one that arrived first is let through.

Nulls are equal to each other here, and so are NaNs.

State is written as a log: `save` appends one chunk with the values that were let through since the
last `save`. Of several entries for one value, the last one counts. A chunk is merged with the one
before it if that is at most twice as large. So there are few chunks, and a value is written again
only logarithmically often:

    save    a 0 │ b 5 │         a 10 │        chunks   a 0  b 5  │  a 10

Holds: for each value at most one time is held, and none that is `within` or more behind the
watermark, because all rows that follow are at the watermark or after it.
"""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask, Positions, combined, concat, gather
from latecomer.operators.aggregates.slices import by_group
from latecomer.operators.aggregates.summary import slotted
from latecomer.operators.base import Chunks, Emission, NewColumns, Operator, Running
from latecomer.time import FOREVER, NEVER, TimeColumn, Times, format_duration

if TYPE_CHECKING:
    from latecomer.operators.clocked_distinct import ClockedDeduplicator
    from latecomer.operators.ways import KeyWays

_LAST = "_lc_last"
"""Column with the time of the last row with these values that was let through."""


@dataclass(frozen=True, slots=True)
class Distinct(Operator):
    """Let through the first of equal rows; rows come in order."""

    keeps_rows = True
    takes = "in order"

    time: TimeColumn
    columns: tuple[str, ...]
    """Columns in which equal rows are duplicates."""
    within: int
    """Duration for which a row suppresses equal ones, in microseconds."""
    keyed: tuple[str, ...] = ()
    """Key whose rows must be in one bucket: some of the columns."""

    @property
    def new_columns(self) -> NewColumns:
        """Only the columns that are compared are held."""
        return "unused"

    def describe(self, schema: pa.Schema) -> str:
        return (
            f"distinct by {', '.join(self.columns)} within {format_duration(self.within)}: the "
            "first of equal rows passes; one time is held for each value"
        )

    def follows_clocks(self, columns: tuple[str, ...]) -> bool:
        """Return True if only rows of one key are compared."""
        return set(columns) <= set(self.columns)

    def with_slot(self, columns: tuple[str, ...]) -> Distinct:
        return replace(self, columns=slotted(self.columns, columns))

    def start_behind_clocks(
        self, schema: pa.Schema, chunks: Chunks, way: KeyWays, saved: bytes | None = None
    ) -> ClockedDeduplicator:
        from latecomer.operators.clocked_distinct import ClockedDeduplicator

        return ClockedDeduplicator(self, schema, chunks, way, saved)

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Deduplicator:
        return Deduplicator(self, schema, chunks, saved)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A chunk of the log."""

    number: int
    rows: int
    latest: int
    """Latest time in the chunk, which is not needed once the watermark is `within` after it."""


class Deduplicator(Running):
    """A running `Distinct`."""

    def __init__(
        self, spec: Distinct, schema: pa.Schema, chunks: Chunks, saved: bytes | None
    ) -> None:
        super().__init__(schema, schema)
        self._spec = spec
        self._chunks = chunks
        fields = [schema.field(name) for name in spec.columns]
        self._held = pa.schema([*fields, pa.field(_LAST, pa.int64())]).empty_table()
        self._fresh: list[Batch] = []
        """Values that were let through since the last `save`."""
        self._behind = NEVER
        """Held times up to this one suppress no row any more."""
        self._next_number = 0
        self._log: list[_Entry] = []
        if saved is not None:
            self._behind, self._next_number, log = json.loads(saved)
            self._log = [_Entry(*entry) for entry in log]
            self._held = self._read(self._log)

    @property
    def held(self) -> int:
        """Number of values for which a time is held."""
        return self._held.num_rows

    def push(self, rows: Batch, side: int = 0) -> Emission:
        from latecomer.kernels.apart import keep_apart

        before, names = self._held.num_rows, list(self._spec.columns)
        times = np.concatenate([last_times(self._held), self._spec.time.micros(rows)])
        own = rows.select(names).append_column(_LAST, pa.array(times[before:], pa.int64()))
        known = concat([self._held, own], self._held.schema)
        # Held values come before all rows, so that each is the first of its group.
        order, slices = by_group([known.column(name) for name in names], len(times))
        keep = keep_apart(times[order], slices.bounds, self._spec.within)
        last = np.sort(order[slices.last(keep)])
        new = last[last >= before]
        if len(new):
            self._held = gather(known, last)
            self._fresh.append(gather(known, new))
        is_through = np.zeros(len(times), np.bool_)
        is_through[order[keep]] = True
        return self._emission(rows.filter(pa.array(is_through[before:])))

    def advance(self, watermark: int) -> Emission:
        """Remove values that can no longer suppress a row."""
        behind = FOREVER if watermark == FOREVER else max(watermark - self._spec.within, NEVER)
        self._behind = max(self._behind, behind)
        self._held = self._needed(self._held)
        return self._emission()

    def due(self) -> int | None:
        """Return the smallest watermark at which a value can be removed, if any is held."""
        last = last_times(self._held)
        return int(last.min()) + self._spec.within if len(last) else None

    def save(self) -> bytes:
        """Append new values to the log, and drop chunks of which nothing is needed."""
        fresh = self._needed(concat(self._fresh, self._held.schema))
        self._fresh = []
        if fresh.num_rows:
            self._log.append(self._written(fresh))
        for entry in [entry for entry in self._log if entry.latest <= self._behind]:
            self._chunks.drop(entry.number)
            self._log.remove(entry)
        while len(self._log) > 1 and self._log[-2].rows <= 2 * self._log[-1].rows:
            self._merge_last_chunks()
        return json.dumps([self._behind, self._next_number, [*map(astuple, self._log)]]).encode()

    def _merge_last_chunks(self) -> None:
        # All chunks of similar size at the end are merged at once, so that each is rewritten once.
        count, rows = 1, self._log[-1].rows
        while count < len(self._log) and self._log[-count - 1].rows <= 2 * rows:
            count += 1
            rows += self._log[-count].rows
        merged, self._log = self._log[-count:], self._log[:-count]
        states = self._read(merged)
        for entry in merged:
            self._chunks.drop(entry.number)
        if states.num_rows:
            self._log.append(self._written(states))

    def _read(self, entries: list[_Entry]) -> Batch:
        """Return the last entry of each value in some chunks, if it is still needed."""
        chunks = [self._chunks.get(entry.number) for entry in entries]
        states = concat(chunks, self._held.schema)
        columns = [states.column(name) for name in self._spec.columns]
        order, slices = by_group(columns, states.num_rows)
        last: Positions = order[slices.bounds[1:] - 1]
        return self._needed(gather(states, np.sort(last)))

    def _written(self, states: Batch) -> _Entry:
        number, self._next_number = self._next_number, self._next_number + 1
        self._chunks.put(number, combined(states))
        return _Entry(number, states.num_rows, int(last_times(states).max()))

    def _needed(self, states: Batch) -> Batch:
        """Return the values that can still suppress a row."""
        is_needed = self._is_needed(states)
        return states if is_needed.all() else states.filter(pa.array(is_needed))

    def _is_needed(self, states: Batch) -> Mask:
        is_needed: Mask = last_times(states) > self._behind
        return is_needed


def last_times(states: Batch) -> Times:
    """Return the time of the last row of each value that was let through."""
    last: Times = states.column(_LAST).to_numpy()
    return last
