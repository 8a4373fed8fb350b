"""Make items of rows: give each row its place among those of equal time.

Rows of equal time need an order too; without one, later steps could not know which of two results
is the last. The order must not depend on how rows were cut into micro-batches, nor on the number of
buckets. So rows of equal time are ordered by a hash of the key, and rows of one key by arrival:

    time     12:00    12:00    12:00
    key      b        a        b
    order    0x1f..   0xa0..   0x1f..     the hash
    source   0        1        2          counted in the bucket
    place    first    third    second

Each bucket counts its own numbers. Two rows with the same number are in different buckets, so they
have different keys, and different hashes. (Two keys with one 64-bit hash would clash only if their
rows also had the same microsecond and number.)

A row before the watermark is late, because the results there are final.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch
from latecomer.kernels.hashing import hash_columns
from latecomer.operators.base import Chunks, Emission, Responder, by
from latecomer.operators.optimistic.items import MARKS
from latecomer.operators.optimistic.specification import Optimistic
from latecomer.time import NEVER, TimeColumn


@dataclass(frozen=True, slots=True)
class Enter(Optimistic):
    """Make items of rows."""

    time: TimeColumn
    key: tuple[str, ...] = ()

    def describe(self, schema: pa.Schema) -> str:
        return f"number rows{by(self.key)}, so that those of one time have an order; none is held"

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return pa.schema([*schema, *MARKS])

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> ItemMaker:
        return ItemMaker(self, schema, saved)


class ItemMaker(Responder):
    """A running `Enter`. It holds no rows."""

    def __init__(self, spec: Enter, schema: pa.Schema, saved: bytes | None) -> None:
        super().__init__(schema, spec.output_schema(schema))
        self._spec = spec
        self._next, self._watermark = 0, NEVER
        if saved is not None:
            self._next, self._watermark = json.loads(saved)

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Emit rows that are in time as items, with their numbers; return the others as late."""
        late = None
        is_late = self._spec.time.micros(rows) < self._watermark
        if is_late.any():
            late, rows = rows.filter(pa.array(is_late)), rows.filter(pa.array(~is_late))
        count = rows.num_rows
        hashes = hash_columns([rows.column(name) for name in self._spec.key], count)
        columns = (
            np.ones(count, np.int8),
            hashes.view(np.int64),
            np.arange(self._next, self._next + count),
            np.zeros(count, np.int64),
        )
        self._next += count
        items = pa.table([*rows.columns, *map(pa.array, columns)], schema=self._out)
        return self._emission(items, late)

    def advance(self, watermark: int) -> Emission:
        """Move the watermark; later rows before it are late."""
        self._watermark = max(self._watermark, watermark)
        return self._emission()

    def save(self) -> bytes:
        return json.dumps([self._next, self._watermark]).encode()
