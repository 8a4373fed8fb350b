"""Make any number of rows of each row.

The function is called for a tombstone as for the item that it takes back, and its results become
tombstones. So the function must always return the same rows for the same row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, gather
from latecomer.labels import named
from latecomer.operators.base import Chunks, Emission, Responder
from latecomer.operators.optimistic.functions import Made, content, failed, rows_of
from latecomer.operators.optimistic.items import (
    CHILD,
    TRACE,
    children,
    marks,
    settled,
    shown,
    signs,
)
from latecomer.operators.optimistic.specification import Optimistic
from latecomer.time import TimeColumn


@dataclass(frozen=True, slots=True)
class FlatMap(Optimistic):
    """Run a function on each row."""

    keeps_keys = False
    """The function sets all columns."""

    time: TimeColumn
    function: Callable[[Any], Any]
    outputs: pa.Schema

    def describe(self, schema: pa.Schema) -> str:
        return f"run {named(self.function)} on each row; nothing is held"

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns of a result: the time of the row, and the function's outputs."""
        child = pa.field(f"{CHILD}{len(children(schema))}", pa.int32())
        return pa.schema([schema.field(self.time.name), *self.outputs, *marks(schema), child])

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> FlatMapper:
        return FlatMapper(self, schema)


class FlatMapper(Responder):
    """A running `FlatMap`. It holds nothing."""

    def __init__(self, spec: FlatMap, schema: pa.Schema) -> None:
        super().__init__(schema, spec.output_schema(schema))
        self._spec = spec
        self._shown = shown(schema).names
        self.cancelled = 0
        """Number of items and tombstones that were not emitted, because rows stayed the same."""

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Call the function for each item and each tombstone, and emit its rows."""
        made = Made(self._spec.function, self._spec.outputs)
        for row in rows_of(rows.select(self._shown)):
            try:
                found = self._spec.function(row)
            except Exception as error:
                raise failed(self._spec.function, error, row, "") from error
            made.add(row, found)
        lengths = np.array(made.counts, np.int64)
        given = gather(rows, np.repeat(np.arange(rows.num_rows), lengths))
        starts = np.cumsum(lengths) - lengths
        child = np.arange(given.num_rows) - np.repeat(starts, lengths)
        table = made.table()
        columns = {name: given.column(name) for name in marks(rows.schema).names}
        columns |= {name: table.column(name) for name in table.column_names}
        columns[self._spec.time.name] = given.column(self._spec.time.name)
        columns[self._out.names[-1]] = pa.array(child.astype(np.int32))
        # The trace is a hash of the content, so rows that two versions of a row share cancel out.
        columns[TRACE] = pa.array(content(table))
        items = pa.table([columns[name] for name in self._out.names], schema=self._out)
        if (signs(items) < 0).any():
            items, cancelled = settled(items, self._spec.time)
            self.cancelled += cancelled
        return self._emission(items)
