"""The one buffer of a pipeline, at its end: final rows, in order, once the watermark has passed.

    says      + 12:03  8     − 12:03  8     + 12:03  10     watermark 12:05
    release                                                 12:03  10

Items are held until the watermark is behind them; those that are taken back meanwhile never come
out. An item at the watermark is not final: one of equal time may still come, and go before it.

Items are held in chunks by stretches of time. Those that come, and tombstones, go to the chunks in
which their times are, and a watermark reads only chunks in which something is due.

Paper: Kuralenok, Marshalkin, Trofimov, Novikov: An Optimistic Approach to Handle Out-of-Order
    Events within Analytical Stream Processing (2018), Section V-D, Algorithm 3.
Symbols: punctuation -> watermark.
Holds: what has come out is never taken back, and comes in order of time.
"""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import concat
from latecomer.operators.base import Emission, Running
from latecomer.operators.optimistic.items import missing, settled, shown, signs
from latecomer.operators.optimistic.specification import Optimistic
from latecomer.time import NEVER, TimeColumn

if TYPE_CHECKING:
    from latecomer.batch import Batch
    from latecomer.operators.base import Chunks

CHUNK_ROWS = 16_384
"""Items in a chunk; one of twice as many is cut."""

RELEASE_ROWS = 1 << 20
"""About how many items one `advance` may release; see `BarrierHolder.stops`."""


@dataclass(frozen=True, slots=True)
class Barrier(Optimistic):
    """Rows, once they are final."""

    words = "emit rows in order of time; they are held until the watermark has passed them"

    time: TimeColumn

    @property
    def label(self) -> str:
        """Its name is all."""
        return "Barrier"

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Rows again."""
        return shown(schema)

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> BarrierHolder:
        """Make the running operator."""
        return BarrierHolder(self, schema, chunks, saved)


@dataclass(slots=True)
class Stretch:
    """An entry of the index: the items from one time up to where the next stretch begins."""

    number: int
    start: int
    first: int
    """The smallest time in it."""
    rows: int


class BarrierHolder(Running):
    """A running `Barrier`. Between calls, no held item is before the watermark."""

    def __init__(
        self, spec: Barrier, schema: pa.Schema, chunks: Chunks, saved: bytes | None
    ) -> None:
        """Begin with nothing held, or where `saved` left off."""
        self._time = spec.time
        self._schema = schema
        self._ready = spec.output_schema(schema)
        self._chunks = chunks
        self._next = 0
        self._index: list[Stretch] = []
        self.arrived = 0
        """How many items and tombstones have come."""
        if saved is not None:
            self._next, index = json.loads(saved)
            self._index = [Stretch(*entry) for entry in index]

    @property
    def held(self) -> int:
        """How many items are held."""
        return sum(stretch.rows for stretch in self._index)

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Hold items, and forget those that are taken back.

        Raises:
            TombstoneError: A tombstone has nothing to take back, or an item is there already.
        """
        self.arrived += rows.num_rows
        times = self._time.micros(rows)
        starts = np.array([stretch.start for stretch in self._index[1:]], np.int64)
        place = np.searchsorted(starts, times, side="right")
        for at in np.unique(place)[::-1].tolist():
            self._change(at, rows.filter(pa.array(place == at)))
        return Emission(self._ready.empty_table(), self._schema.empty_table())

    def advance(self, watermark: int) -> Emission:
        """Release, in order, every item before `watermark`."""
        due = []
        while self._index and self._index[0].first < watermark:
            stretch = self._index.pop(0)
            items = self._chunks.get(stretch.number)
            self._chunks.drop(stretch.number)
            is_due = self._time.micros(items) < watermark
            due.append(items.filter(pa.array(is_due)))
            if not is_due.all():
                self._index[:0] = self._cut(items.filter(pa.array(~is_due)), stretch.start)
                break
        rows = concat(due, self._schema).select(self._ready.names)
        return Emission(rows, self._schema.empty_table())

    def stops(self, watermark: int) -> list[int]:
        """Split the way so that each `advance` releases about `RELEASE_ROWS` at the most."""
        stops, total = [], 0
        for stretch in self._index:
            total += stretch.rows
            if total > RELEASE_ROWS and NEVER < stretch.start < watermark:
                stops.append(stretch.start)
                total = stretch.rows
        return [*stops, watermark]

    def due(self) -> int | None:
        """Just after the smallest time held."""
        return self._index[0].first + 1 if self._index else None

    def save(self) -> bytes:
        """Write down the index of the chunks."""
        return json.dumps([self._next, [astuple(stretch) for stretch in self._index]]).encode()

    def _change(self, at: int, changes: Batch) -> None:
        """Put changes where they belong; the items of a stretch are in order."""
        known = self._index[at : at + 1]
        held = [self._chunks.get(stretch.number) for stretch in known]
        items = settled(concat([*held, changes], self._schema), self._time).items
        if items.num_rows and signs(items)[0] < 0:
            raise missing(items)
        for stretch in known:
            self._chunks.drop(stretch.number)
        start = known[0].start if known else NEVER
        self._index[at : at + 1] = self._cut(items, start)

    def _cut(self, items: Batch, start: int) -> list[Stretch]:
        """Write items in order as one or more chunks, cut where the time changes."""
        count = items.num_rows
        if not count:
            return []
        times = self._time.micros(items)
        cuts = [0]
        if count > 2 * CHUNK_ROWS:
            wanted = np.arange(CHUNK_ROWS, count - CHUNK_ROWS // 2, CHUNK_ROWS)
            cuts = np.unique(np.searchsorted(times, times[wanted])).tolist()
            cuts = cuts if cuts[:1] == [0] else [0, *cuts]
        found = []
        for low, high in zip(cuts, [*cuts[1:], count], strict=True):
            first = int(times[low])
            stretch = Stretch(self._next, first if low else start, first, high - low)
            # One piece in memory, or what is stored would grow by a header with every change.
            self._chunks.put(self._next, items.slice(low, high - low).combine_chunks())
            self._next += 1
            found.append(stretch)
        return found
