"""The only buffer of a pipeline, at its end: emits final rows, in order of time.

    input     + 12:03  8     − 12:03  8     + 12:03  10     watermark 12:05
    release                                                 12:03  10

Items are held until the watermark has passed them. Items that are taken back meanwhile are never
emitted. An item at the watermark is not final: another of equal time may still come before it.

Items are held in leaves by their times (`latecomer.operators.leaves`). New items and tombstones go
to the leaves of their times, and a watermark reads only leaves in which items are due.

Paper: Kuralenok, Marshalkin, Trofimov, Novikov: An Optimistic Approach to Handle Out-of-Order
    Events within Analytical Stream Processing (2018), Section V-D, Algorithm 3.
Symbols: punctuation -> watermark.
Holds: rows that were emitted are never taken back, and are in order of time.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa

from latecomer.batch import Batch, concat, gather
from latecomer.kernels.order import stable_order
from latecomer.operators.base import Chunks, Emission, Running
from latecomer.operators.leaves import Leaves
from latecomer.operators.optimistic.items import missing, settled, shown, signs
from latecomer.operators.optimistic.specification import Optimistic
from latecomer.time import TimeColumn

LEAF_ROWS = 32_768
"""Largest number of items in a leaf. Items are small, and a few large leaves change faster."""

RELEASE_ROWS = 1 << 20
"""Approximate number of items that one `advance` may release; see `BarrierHolder.stops`."""


@dataclass(frozen=True, slots=True)
class Barrier(Optimistic):
    """Emit rows once they are final."""

    words = "emit rows in order of time; they are held until the watermark has passed them"

    time: TimeColumn

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return shown(schema)

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> BarrierHolder:
        return BarrierHolder(self, schema, chunks, saved)


class BarrierHolder(Running):
    """A running `Barrier`. Between calls, no held item is before the watermark."""

    def __init__(
        self, spec: Barrier, schema: pa.Schema, chunks: Chunks, saved: bytes | None
    ) -> None:
        super().__init__(schema, spec.output_schema(schema))
        self._time = spec.time
        numbering = [] if saved is None else json.loads(saved)
        self._leaves = Leaves(chunks, *numbering, by=spec.time.micros, size=LEAF_ROWS)
        self.arrived = 0
        """Number of items and tombstones that have come."""

    @property
    def held(self) -> int:
        return self._leaves.rows

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Hold items, and drop those that are taken back.

        Raises:
            TombstoneError: A tombstone has no item to take back, or an item is there already.
        """
        self.arrived += rows.num_rows
        order = stable_order(self._time.micros(rows))
        self._leaves.add(gather(rows, order), self._settled)
        return self._emission()

    def advance(self, watermark: int) -> Emission:
        """Release, in order, every item before `watermark`."""
        due = self._leaves.take(
            lambda leaf: leaf.first < watermark, lambda items: self._time.micros(items) < watermark
        )
        return self._emission(concat(due, self._given).select(self._out.names))

    def stops(self, watermark: int) -> list[int]:
        """Return stops up to `watermark`, each of which releases about `RELEASE_ROWS` at most."""
        stops, total = [], 0
        for leaf in self._leaves.index:
            total += leaf.rows
            if leaf.rows < total > RELEASE_ROWS and leaf.first < watermark:
                stops.append(leaf.first)
                total = leaf.rows
        return [*stops, watermark]

    def due(self) -> int | None:
        """Return the watermark just after the smallest time held."""
        return self._leaves.index[0].first + 1 if self._leaves.index else None

    def save(self) -> bytes:
        return json.dumps(self._leaves.save()).encode()

    def _settled(self, changes: Batch) -> Batch:
        """Return the items of a leaf, in order, that no tombstone takes back."""
        items = settled(changes, self._time).items
        if items.num_rows and signs(items)[0] < 0:
            raise missing(items)
        return items
