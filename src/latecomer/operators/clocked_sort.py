"""Sort by time, where each key has a watermark of its own.

The rows of all keys are held together, in order of time, and each goes by the watermark of its key.
What a watermark releases is not the head of anything: it is picked out of leaves that it passes.

    watermarks   a 5, b 2       held   a6 b7 a9
                 a 8, b 2              b7 a9          ready a6

Rows that are due in the micro-batch in which they come are never written down.

Holds: between steps every held row is after the watermark of its key. Rows of equal time come out
    as they came in.
"""

import json

import pyarrow as pa

from latecomer.batch import Batch, Mask, concat, gather
from latecomer.kernels.order import stable_order
from latecomer.operators.aggregates.summary import SLOT
from latecomer.operators.base import Chunks, Emission
from latecomer.operators.leaves import Leaves
from latecomer.operators.sort import Sort, carried
from latecomer.operators.ways import KeyWays
from latecomer.time import Times


class ClockedSorter:
    """A running `Sort` of all keys, each with a watermark of its own."""

    def __init__(self, spec: Sort, schema: pa.Schema, chunks: Chunks, saved: bytes | None) -> None:
        self._by = spec.by
        self._schema = schema
        numbering = [] if saved is None else json.loads(saved)
        held = pa.schema([*schema, pa.field(SLOT, pa.int64())])
        self._leaves = Leaves(
            chunks, *numbering, by=spec.by.micros, read=lambda rows: carried(rows, held, spec.by)
        )
        self._pushed: list[Batch] = []

    @property
    def held(self) -> int:
        return self._leaves.rows

    def is_late(self, rows: Batch, watermarks: Times) -> Mask:
        return self._by.micros(rows) < watermarks

    def push(self, rows: Batch, way: KeyWays) -> None:
        """Keep rows for the advance that follows; none is late."""
        self._pushed.append(rows)

    def advance(self, way: KeyWays) -> Emission:
        """Release, in order, every row up to the watermark of its key."""

        def is_due(rows: Batch) -> Mask:
            return self._by.micros(rows) <= way.of(rows)[1]

        due = self._leaves.take(
            lambda leaf: leaf.last > way.lowest and leaf.first <= way.highest, is_due
        )
        for rows in self._pushed:
            is_ready = is_due(rows)
            due.append(rows.filter(pa.array(is_ready)))
            self._hold(rows.filter(pa.array(~is_ready)))
        self._pushed = []
        ready = concat(due, self._schema)
        if ready.num_rows:
            ready = self._in_order(ready).select(self._schema.names)
        return Emission(ready, self._schema.empty_table())

    def last_due(self, times: Times) -> Times:
        """Return the watermarks at which rows of these times are released: the times themselves."""
        return times

    def save(self) -> bytes:
        return json.dumps(self._leaves.save()).encode()

    def _hold(self, rows: Batch) -> None:
        if rows.num_rows:
            self._leaves.add(self._in_order(rows), self._in_order)

    def _in_order(self, rows: Batch) -> Batch:
        return gather(rows, stable_order(self._by.micros(rows)))
