"""Move the ends of lifetimes: `[start, end + by)`. Rows whose lifetime becomes empty are removed.

If lifetimes become shorter (`by` is negative), it is not certain at the begin of an open row
whether anything is left of it. Its begin is held until that is certain, and the result is complete
only up to `by` behind the watermark.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch
from latecomer.operators.base import Chunks, Running
from latecomer.operators.temporal.base import Settler, reached
from latecomer.operators.temporal.edges import Edges, later, settled, told
from latecomer.operators.temporal.stateless import OfRows, RowMapper
from latecomer.operators.ways import Way
from latecomer.time import Times, format_duration


@dataclass(frozen=True, slots=True)
class Extend(OfRows):
    """Move the ends of lifetimes."""

    by: int
    """Distance in microseconds; negative: lifetimes become shorter."""

    @property
    def leads(self) -> int:
        """Lead of the output over the input: `by` if lifetimes become shorter, else 0."""
        return min(self.by, 0)

    @property
    def is_by_row(self) -> bool:
        """Whether lifetimes become longer; otherwise rows are held."""
        return self.by >= 0

    def describe(self, schema: pa.Schema) -> str:
        held = "nothing is" if self.by >= 0 else "begins of rows that may not last are"
        return f"move the ends of lifetimes by {format_duration(self.by)}; {held} held"

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Running:
        if self.by >= 0:
            return RowMapper(self.of_rows, schema, schema)
        return Shortener(self, [schema], chunks, saved)

    def of_rows(self, rows: Batch) -> Batch:
        edges = Edges.of(rows)
        is_end = edges.is_end
        at = np.where(is_end, edges.at + self.by, edges.at)
        other = np.where(is_end, edges.other, later(edges.other, self.by))
        return Edges(at, other, edges.id, edges.payload).batch()


class Shortener(Settler[Extend]):
    """A running `Extend` that shortens. It holds open rows of which nothing may be left."""

    def dues(self) -> Iterator[tuple[Edges, Times]]:
        """Yield also the times after which a held row is certain to last long enough."""
        yield from super().dues()
        yield self._held[0], self._held[0].at - self._spec.by

    def step(self, due: tuple[Edges, ...], way: Way) -> Edges:
        """Emit begins of rows that last long enough, and ends of rows whose begin was emitted."""
        (edges,), held = due, self._held[0]
        rows = settled(held, edges)
        is_open = rows.is_open
        is_certain = ~is_open | reached(rows.at, self._spec.passed(way.now(rows.payload)))
        self._held[0] = rows.where(~is_certain)
        ends = later(rows.other, self._spec.by)
        lasting = Edges(rows.at, ends, rows.id, rows.payload).where(is_certain & (ends > rows.at))
        begun = told(lasting, ~lasting.is_open, np.zeros(len(lasting), np.bool_))
        # An end that belongs to none of these rows is of a row whose begin was emitted before.
        is_end = edges.is_end
        here = np.concatenate([held.id, edges.id[~is_end]])
        ended = edges.where(is_end & ~np.isin(edges.id, here))
        ended = Edges(ended.at + self._spec.by, ended.other, ended.id, ended.payload)
        return Edges.joined([begun, ended])

    def _nothing_held(self) -> list[Edges]:
        return [Edges.none(self._payload)]
