"""Rows as users see them: with a start and an end.

A row is emitted once its end is known. If the stream ends before the row does, its end is null.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from latecomer.batch import Batch
from latecomer.operators.base import Chunks
from latecomer.operators.temporal.base import Settler
from latecomer.operators.temporal.edges import Edges, payload_schema, settled
from latecomer.operators.temporal.specification import Temporal
from latecomer.operators.temporal.stateless import OfRows
from latecomer.operators.ways import Way
from latecomer.operators.windows.bounds import window_column
from latecomer.time import FOREVER, TimeColumn, Unit, from_micros

START, END, EDGE = "start", "end", "edge"


def instants(kind: pa.DataType, unit: Unit | None) -> tuple[pa.DataType, Unit | None]:
    """Return the type and unit of times in the output.

    They are those of the rows if these are timestamps in microseconds or nanoseconds. Otherwise
    times are timestamps in microseconds, in UTC.
    """
    if pa.types.is_timestamp(kind) and kind.unit in ("us", "ns"):
        return kind, unit
    return pa.timestamp("us", "UTC"), None


@dataclass(frozen=True, slots=True)
class Whole(Temporal):
    """Put begins and ends together: one row with a start and an end."""

    words = "emit rows once their ends are known; rows that have not ended are held"

    kind: pa.DataType
    """Type of the times."""
    unit: Unit | None = None
    """Unit of the times, if they are plain integers."""

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        bounds = [pa.field(START, self.kind, nullable=False), pa.field(END, self.kind)]
        return pa.schema([*bounds, *payload_schema(schema)])

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Completer:
        return Completer(self, [schema], chunks, saved)

    def rows(self, edges: Edges) -> pa.Table:
        """Return rows with their lifetimes in two columns."""
        never = edges.other == FOREVER
        ends = from_micros(np.where(never, 0, edges.other), self.kind, self.unit)
        ends = pc.if_else(pa.array(never), pa.scalar(None, ends.type), ends)
        starts = from_micros(edges.at, self.kind, self.unit)
        columns = [starts, ends, *edges.payload.columns]
        return pa.table(columns, self.output_schema(edges.payload.schema))


@dataclass(frozen=True, slots=True)
class AsWindows(Temporal):
    """Put begins and ends together, and write both into one column, as windows are written."""

    words = "emit a window for each answer once it has ended; open ones are held"

    window: pa.Field
    """Column of the windows; see `latecomer.operators.windows.bounds`."""
    time: TimeColumn

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return pa.schema([self.window, *payload_schema(schema)])

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Completer:
        return Completer(self, [schema], chunks, saved)

    def rows(self, edges: Edges) -> pa.Table:
        """Return rows with their lifetimes as windows. Every row must have an end."""
        window = window_column(edges.at, edges.other, self.window, self.time)
        columns = [window, *edges.payload.columns]
        return pa.table(columns, self.output_schema(edges.payload.schema))


class Completer(Settler["Whole | AsWindows"]):
    """A running `Whole` or `AsWindows`. It holds rows that have begun and not ended."""

    # Edges are certain: none has to wait for the others of its instant.
    beyond = 0

    def step(self, due: tuple[Edges, ...], way: Way) -> Edges:
        rows = settled(self._held[0], due[0])
        is_final = ~rows.is_open | way.is_final
        self._held[0] = rows.where(~is_final)
        return rows.where(is_final).in_order()

    def _nothing_held(self) -> list[Edges]:
        return [Edges.none(self._inputs[0])]

    def _written(self, edges: Edges) -> Batch:
        return self._spec.rows(edges)


@dataclass(frozen=True, slots=True)
class AsEdges(OfRows):
    """Emit begins and ends as they come, with a column `edge`: "start", "end" or "interval"."""

    words = "emit begins and ends as they come; nothing is held"

    kind: pa.DataType
    unit: Unit | None = None

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        edge = pa.field(EDGE, pa.string(), nullable=False)
        return Whole(self.kind, self.unit).output_schema(schema).insert(2, edge)

    def of_rows(self, rows: Batch) -> Batch:
        edges = Edges.of(rows)
        is_end = edges.is_end
        whole = Edges(
            np.where(is_end, edges.other, edges.at),
            np.where(is_end, edges.at, edges.other),
            edges.id,
            edges.payload,
        )
        names = np.where(is_end, "end", np.where(edges.is_open, "start", "interval"))
        told = Whole(self.kind, self.unit).rows(whole)
        return told.add_column(2, self.output_schema(rows.schema).field(EDGE), pa.array(names))
