"""The one buffer of a pipeline, at its end: final rows, in order, once the watermark has passed.

    says      + 12:03  8     − 12:03  8     + 12:03  10     watermark 12:05
    release                                                 12:03  10

Items are held until the watermark is behind them; those that are taken back meanwhile never come
out. An item at the watermark is not final: one of equal time may still come, and go before it.

Items are held in leaves by their times (`latecomer.operators.leaves`). Those that come, and
tombstones, go to the leaves in which their times are, and a watermark reads only leaves in which
something is due.

Paper: Kuralenok, Marshalkin, Trofimov, Novikov: An Optimistic Approach to Handle Out-of-Order
    Events within Analytical Stream Processing (2018), Section V-D, Algorithm 3.
Symbols: punctuation -> watermark.
Holds: what has come out is never taken back, and comes in order of time.
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
"""Items in a leaf at the most: items are small, and few large leaves are faster to change."""

RELEASE_ROWS = 1 << 20
"""About how many items one `advance` may release; see `BarrierHolder.stops`."""


@dataclass(frozen=True, slots=True)
class Barrier(Optimistic):
    """Rows, once they are final."""

    fixed = ("time",)

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
        """How many items and tombstones have come."""

    @property
    def held(self) -> int:
        return self._leaves.rows

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Hold items, and forget those that are taken back.

        Raises:
            TombstoneError: A tombstone has nothing to take back, or an item is there already.
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
        """Split the way so that each `advance` releases about `RELEASE_ROWS` at the most."""
        stops, total = [], 0
        for leaf in self._leaves.index:
            total += leaf.rows
            if leaf.rows < total > RELEASE_ROWS and leaf.first < watermark:
                stops.append(leaf.first)
                total = leaf.rows
        return [*stops, watermark]

    def due(self) -> int | None:
        """Just after the smallest time held."""
        return self._leaves.index[0].first + 1 if self._leaves.index else None

    def save(self) -> bytes:
        return json.dumps(self._leaves.save()).encode()

    def _settled(self, changes: Batch) -> Batch:
        """Let items and tombstones of a leaf meet; the items that are left are in order."""
        items = settled(changes, self._time).items
        if items.num_rows and signs(items)[0] < 0:
            raise missing(items)
        return items
