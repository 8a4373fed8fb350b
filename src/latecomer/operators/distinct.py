"""The first of the rows that are equal in some columns, and again only after a while.

Something is reported twice, by a device that did not hear the answer, or by a source that starts
over. Within a duration only the first row is let through, by time, whatever came first:

    within 10 s     a 0   a 4   b 5   a 10   a 12   a 19   a 20
    let through     a 0         b 5   a 10                 a 20

A row is let through unless one that is equal in the columns *was let through* less than `within`
before it. So a row just that much later is let through, and rows that keep coming do not silence
each other for ever. Of rows of equal time the one that arrived first is let through.

Nulls are equal to each other here, and so are NaNs.

Holds: for each value at most one time is held, and none that is `within` or more behind the
watermark: what comes is at the watermark or after it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, combined, concat, gather
from latecomer.operators.aggregates.slices import by_group
from latecomer.operators.base import Chunks, Emission, NewColumns, Operator, Running
from latecomer.time import FOREVER, NEVER, TimeColumn, format_duration

_LAST = "_lc_last"
"""When a row with these values was last let through."""
_CHUNK = 0


@dataclass(frozen=True, slots=True)
class Distinct(Operator):
    """Let through the first of equal rows; rows come in order."""

    fixed = ("time", "columns", "within", "keyed")

    keeps_rows = True
    takes = "in order"

    time: TimeColumn
    columns: tuple[str, ...]
    """In which rows are equal."""
    within: int
    """For how long."""
    keyed: tuple[str, ...] = ()
    """The key of which all rows must be together: some of the columns."""

    @property
    def new_columns(self) -> NewColumns:
        """Only the columns in which rows are equal are held."""
        return "unused"

    def describe(self, schema: pa.Schema) -> str:
        return (
            f"distinct by {', '.join(self.columns)} within {format_duration(self.within)}: the "
            "first of equal rows passes; one time is held for each value"
        )

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Deduplicator:
        return Deduplicator(self, schema, chunks, saved)


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
        self._stored = None if saved is None or saved == b"empty" else chunks.get(_CHUNK)
        if self._stored is not None:
            self._held = self._stored

    @property
    def held(self) -> int:
        """For how many values a time is held."""
        return self._held.num_rows

    def push(self, rows: Batch, side: int = 0) -> Emission:
        from latecomer.kernels.apart import keep_apart

        before, names = self._held.num_rows, list(self._spec.columns)
        times = np.concatenate([self._last(), self._spec.time.micros(rows)])
        own = rows.select(names).append_column(_LAST, pa.array(times[before:], pa.int64()))
        known = concat([self._held, own], self._held.schema)
        columns = [known.column(name) for name in names]
        # What is held comes before all rows, and so is the first of its group.
        order, slices = by_group(columns, len(times))
        keep = keep_apart(times[order], slices.bounds, self._spec.within)
        self._held = gather(known, order[slices.last(keep)])
        is_through = np.zeros(len(times), np.bool_)
        is_through[order[keep]] = True
        return self._emission(rows.filter(pa.array(is_through[before:])))

    def advance(self, watermark: int) -> Emission:
        """Forget what can no longer hold back a row."""
        behind = FOREVER if watermark == FOREVER else max(watermark - self._spec.within, NEVER)
        holds = self._last() > behind
        if not holds.all():
            self._held = self._held.filter(pa.array(holds))
        return self._emission()

    def due(self) -> int | None:
        """The smallest watermark at which something can be forgotten."""
        last = self._last()
        return int(last.min()) + self._spec.within if len(last) else None

    def save(self) -> bytes:
        """Write what is held to a chunk, if it has changed."""
        if self._held.num_rows == 0:
            if self._stored is not None:
                self._chunks.drop(_CHUNK)
            self._stored = None
            return b"empty"
        if self._stored is not self._held:
            self._held = self._stored = combined(self._held)
            self._chunks.put(_CHUNK, self._held)
        return b"held"

    def _last(self) -> np.ndarray:
        return self._held.column(_LAST).to_numpy()
