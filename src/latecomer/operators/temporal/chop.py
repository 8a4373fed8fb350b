"""Cut lifetimes into pieces, at the instants of a grid.

    period 10     ├── 3 ──────────── 24 ──┤   gives   [3, 10) [10, 20) [20, 24)

A row that never ends is cut up to the last watermark before the stream ended. Its last piece does
not end either.

Paper: Chandramouli et al.: Trill (VLDB 2014), Section 6 (Chop).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.operators.base import Chunks
from latecomer.operators.temporal.base import TOLD, Settler, reached, untold
from latecomer.operators.temporal.edges import FINAL, Edges, settled, with_column
from latecomer.operators.temporal.specification import Temporal
from latecomer.operators.ways import Way
from latecomer.time import FOREVER, Times, format_duration


@dataclass(frozen=True, slots=True)
class Chop(Temporal):
    """Cut lifetimes into pieces."""

    period: int
    origin: int = 0

    def describe(self, schema: pa.Schema) -> str:
        return f"cut lifetimes every {format_duration(self.period)}; rows that go on are held"

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Chopper:
        return Chopper(self, [schema], chunks, saved)


class Chopper(Settler[Chop]):
    """A running `Chop`. It holds the piece of each row at the watermark, and all after it."""

    def step(self, due: tuple[Edges, ...], way: Way) -> Edges:
        """Emit all pieces that begin before `until`."""
        rows = settled(self._held[0], untold(due[0]))
        is_due = reached(rows.at, way.now(rows.payload))
        waiting, rows = rows.where(~is_due), rows.where(is_due)
        since, until = way.of(rows.payload)
        stops = np.minimum(rows.other, until)
        # Rows that never end are cut up to the last watermark, which is the same in all buckets.
        stops = np.where(stops == FOREVER, np.maximum(since, rows.at + 1), stops)
        counts = 1 + self._cell(stops - 1) - self._cell(rows.at)
        lasts = np.cumsum(counts) - 1
        of = np.repeat(np.arange(len(rows)), counts)
        number = np.arange(len(of)) - (lasts - counts + 1)[of]
        grid = (self._cell(rows.at)[of] + number) * self._spec.period + self._spec.origin
        pieces = rows.take(of)
        at = np.where(number == 0, pieces.at, grid)
        is_last = number == counts[of] - 1
        goes_on = is_last & way.is_final
        ends = np.minimum(pieces.other, np.where(goes_on, FOREVER, grid + self._spec.period))
        # Only the first piece of a row may have been emitted before.
        ids = np.where(number == 0, pieces.payload.column(TOLD).to_numpy(), FINAL)
        payload = with_column(pieces.payload, TOLD, ids)
        pieces = Edges(at, pieces.other, pieces.id, payload)
        told, begun = self.tell(pieces, ends, ~(pieces.is_open & is_last))
        to_come = ends[lasts] < rows.other
        to_come &= ~rows.is_open
        rest = Edges(ends[lasts], rows.other, rows.id, rows.payload).where(to_come)
        self._held[0] = Edges.joined([begun, rest, waiting])
        return told

    def dues(self) -> Iterator[tuple[Edges, Times]]:
        """Yield also the next cuts of held rows."""
        yield from super().dues()
        held = self._held[0]
        next_cuts = (self._cell(held.at) + 1) * self._spec.period + self._spec.origin
        yield held, np.where(held.is_open, next_cuts, held.at)

    def _surely_held(self, rows: Edges) -> Times:
        """Return the begin of the last piece of each held row: until then, some of it is held."""
        last = self._cell(rows.other - 1) * self._spec.period + self._spec.origin
        return np.where(rows.other == FOREVER, FOREVER, np.maximum(rows.at, last))

    def _cell(self, times: Times) -> Times:
        return (times - self._spec.origin) // self._spec.period
