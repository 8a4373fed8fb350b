"""Move the ends of lifetimes: `[start, end + by)`. Rows of which nothing is left are left out.

Where ends come nearer, whether an open row still counts is known only that much later: so long its
begin is held, and so far the result stays behind the rows.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch
from latecomer.operators.base import Chunks, Running
from latecomer.operators.temporal.base import Settler, reached, sooner
from latecomer.operators.temporal.edges import Edges, later, settled, told
from latecomer.operators.temporal.stateless import OfRows, RowMapper
from latecomer.time import FOREVER, NEVER, format_duration


@dataclass(frozen=True, slots=True)
class Extend(OfRows):
    """Move the ends of lifetimes."""

    fixed = ("by",)

    by: int
    """In microseconds; negative: shorten."""

    @property
    def leads(self) -> int:
        """Where ends come nearer, the result is that much behind."""
        return min(self.by, 0)

    def describe(self, schema: pa.Schema) -> str:
        held = "nothing is" if self.by >= 0 else "begins of rows that may not last are"
        return f"move the ends of lifetimes by {format_duration(self.by)}; {held} held"

    def passes(self, watermark: int) -> int:
        """Where ends come nearer, the result is that much behind."""
        if self.by >= 0 or watermark in (NEVER, FOREVER):
            return watermark
        return watermark + self.by

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
    """A running `Extend` towards the start. Held are open rows of which nothing may be left."""

    def due(self) -> int | None:
        """What is held begins once it is certain that it lasts long enough."""
        return sooner(super().due(), self._held[0].at - self._spec.by)

    def step(self, due: tuple[Edges, ...], since: int, until: int) -> Edges:
        """Let those begin that last long enough, and those end that have begun."""
        (edges,), held = due, self._held[0]
        rows = settled(held, edges)
        is_open = rows.is_open
        is_certain = ~is_open | reached(rows.at, self._spec.passes(until))
        self._held[0] = rows.where(~is_certain)
        ends = later(rows.other, self._spec.by)
        lasting = Edges(rows.at, ends, rows.id, rows.payload).where(is_certain & (ends > rows.at))
        begun = told(lasting, ~lasting.is_open, np.zeros(len(lasting), np.bool_))
        # Ends that belong to none of these rows are of rows let go before.
        is_end = edges.is_end
        here = np.concatenate([held.id, edges.id[~is_end]])
        ended = edges.where(is_end & ~np.isin(edges.id, here))
        ended = Edges(ended.at + self._spec.by, ended.other, ended.id, ended.payload)
        return Edges.joined([begun, ended])

    def _nothing_held(self) -> list[Edges]:
        return [Edges.none(self._payload)]
