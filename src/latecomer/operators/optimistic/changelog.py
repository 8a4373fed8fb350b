"""Items and tombstones as rows of a changelog, emitted at once.

    _change_type   _change_number   time    balance
    insert         0                12:03   8
    delete         0                12:03   8          the next micro-batch
    insert         1                12:03   10

Applying the deletes and inserts gives the table that rows in order would have given.

`_change_number` is the order of changes within a micro-batch: deletes come first. No two changes
have the same number, and a micro-batch that is run again gives the same ones. Changes of different
buckets are of different keys, and their numbers are interleaved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, gather
from latecomer.operators.base import Chunks, Emission, Responder
from latecomer.operators.optimistic.items import shown, signs
from latecomer.operators.optimistic.specification import Optimistic

CHANGE_TYPE, CHANGE_NUMBER = "_change_type", "_change_number"
INSERT, DELETE = "insert", "delete"
_CHANGE = (
    pa.field(CHANGE_TYPE, pa.string(), nullable=False),
    pa.field(CHANGE_NUMBER, pa.int64(), nullable=False),
)


@dataclass(frozen=True, slots=True)
class Changelog(Optimistic):
    """Emit items and tombstones as inserts and deletes."""

    words = "emit inserts and deletes at once; nothing is held"
    numbers = CHANGE_NUMBER

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return pa.schema([*shown(schema), *_CHANGE])

    def start(
        self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> ChangelogWriter:
        return ChangelogWriter(schema, self.output_schema(schema))


class ChangelogWriter(Responder):
    """A running `Changelog`. It holds nothing."""

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Emit all items of a micro-batch as inserts, and its tombstones as deletes."""
        is_back = signs(rows) < 0
        told = rows.select(self._out.names[: -len(_CHANGE)])
        if is_back.any():
            told = gather(told, np.argsort(~is_back, kind="stable"))
        deletes = np.count_nonzero(is_back)
        words = [pa.repeat(DELETE, deletes), pa.repeat(INSERT, len(is_back) - deletes)]
        columns = [*told.columns, pa.concat_arrays(words), pa.array(np.arange(len(is_back)))]
        return self._emission(pa.table(columns, schema=self._out))
