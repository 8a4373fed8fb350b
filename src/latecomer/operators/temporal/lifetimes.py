"""Give rows their lifetimes: an ordered stream becomes a temporal one.

A row counts from its time until the time in another column; if that is null, it never ends. Without
such a column it counts for one microsecond, the shortest lifetime.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch
from latecomer.operators.aggregates.summary import SLOT
from latecomer.operators.temporal.edges import FINAL, Edges, edge_schema, payload_schema
from latecomer.operators.temporal.stateless import OfRows
from latecomer.operators.windows.grid import check_reach
from latecomer.time import FOREVER, TimeColumn, format_duration, from_micros

KEPT = "_lc_kept_"
"""Prefix of the columns by which `rowwise.Keep` has filtered ordered rows. They are left out."""
POINT = 1
"""Lifetime of a row that has no duration, in microseconds."""


@dataclass(frozen=True, slots=True)
class Lifetimes(OfRows):
    """Give rows lifetimes."""

    time: TimeColumn
    end: TimeColumn | None = None
    lag: int | None = None
    """Longest time by which rows come after their begin, in microseconds; None: they come when
    they begin. Matches of patterns have a lag, because they come when they end."""

    def describe(self, schema: pa.Schema) -> str:
        how = f'until "{self.end.name}"' if self.end else "for an instant"
        after = "" if self.lag is None else f", up to {format_duration(self.lag)} after they began"
        return f'lifetimes from "{self.time.name}" {how}{after}; nothing is held'

    @property
    def leads(self) -> int:
        """Minus the lag: rows that begin up to that much before the watermark may still come."""
        return -(self.lag or 0)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return edge_schema(self._payload(schema))

    def of_rows(self, rows: Batch) -> Batch:
        at = self.time.micros(rows)
        check_reach(at)
        other = at + POINT if self.end is None else self.end.micros(rows, null=FOREVER)
        if self.lag is not None:
            other = np.maximum(other, at + POINT)
        payload = rows.select(self._payload(rows.schema).names)
        # A late row that was moved up to the watermark may have ended before it.
        return Edges(at, other, np.full(len(at), FINAL), payload).where(other > at).batch()

    def _payload(self, schema: pa.Schema) -> pa.Schema:
        own = {self.time.name, self.end.name if self.end else None}
        kept = [each for each in schema if not each.name.startswith(KEPT)]
        return pa.schema([field for field in kept if field.name not in own])


@dataclass(frozen=True, slots=True)
class Dated(OfRows):
    """Add a column with the time at which each row begins."""

    time: TimeColumn
    kind: pa.DataType

    def describe(self, schema: pa.Schema) -> str:
        return f'write into "{self.time.name}" when rows begin; nothing is held'

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        time = pa.field(self.time.name, self.kind, nullable=False)
        return edge_schema(pa.schema([time, *payload_schema(schema)]))

    def of_rows(self, rows: Batch) -> Batch:
        edges = Edges.of(rows)
        begins = np.where(edges.is_end, edges.other, edges.at)
        times = from_micros(begins, self.kind, self.time.unit)
        return rows.add_column(0, self.output_schema(rows.schema).field(0), times)


@dataclass(frozen=True, slots=True)
class Lasting(OfRows):
    """Give rows lifetimes that begin at their time and have one length."""

    time: TimeColumn
    duration: int
    """Length of the lifetimes, in microseconds."""
    columns: tuple[str, ...]
    """Columns to keep; the time may be one of them."""

    def describe(self, schema: pa.Schema) -> str:
        long = format_duration(self.duration)
        return f'lifetimes from "{self.time.name}" for {long}; nothing is held'

    def with_slot(self, columns: tuple[str, ...]) -> Lasting:
        return replace(self, columns=(*self.columns, SLOT))

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return edge_schema(pa.schema([schema.field(name) for name in self.columns]))

    def of_rows(self, rows: Batch) -> Batch:
        at = self.time.micros(rows)
        check_reach(at)
        payload = rows.select(list(self.columns))
        return Edges(at, at + self.duration, np.full(len(at), FINAL), payload).batch()
