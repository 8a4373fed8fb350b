"""What is said and what is taken back, at once, as rows of a changelog.

    _change_type   time    balance
    insert         12:03   8
    delete         12:03   8
    insert         12:03   10

Whoever applies it, deleting and inserting, has the same table as if all rows had come in order. In
one micro-batch deletes come first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, gather
from latecomer.operators.base import Chunks, Emission, Responder
from latecomer.operators.optimistic.items import shown, signs
from latecomer.operators.optimistic.specification import Optimistic

CHANGE_TYPE, INSERT, DELETE = "_change_type", "insert", "delete"


@dataclass(frozen=True, slots=True)
class Changelog(Optimistic):
    """Inserts and deletes."""

    fixed = ()

    words = "emit inserts and deletes at once; nothing is held"

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        change = pa.field(CHANGE_TYPE, pa.string(), nullable=False)
        return pa.schema([*shown(schema), change])

    def start(
        self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> ChangelogWriter:
        return ChangelogWriter(schema, self.output_schema(schema))


class ChangelogWriter(Responder):
    """A running `Changelog`. It holds nothing."""

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Write items as inserts, and tombstones as deletes."""
        is_back = signs(rows) < 0
        order = np.concatenate([np.flatnonzero(is_back), np.flatnonzero(~is_back)])
        told = gather(rows.select(self._out.names[:-1]), order)
        words = pa.array([INSERT, DELETE]).take(pa.array(is_back[order].astype(np.int8)))
        columns = [*told.columns, words]
        return self._emission(pa.table(columns, schema=self._out))
