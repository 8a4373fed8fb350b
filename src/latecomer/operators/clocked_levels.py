"""Rows in time order after each of several waits, where each key has watermarks of its own.

The output for a key is what `operators.levels` gives for the rows of this key alone. The rows of
all keys are held together (`operators.clocked_sort`). So the cost of a micro-batch depends on its
rows and on those that are due, not on the number of keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latecomer.operators.base import Chunks, Emission
from latecomer.operators.clocked_sort import ClockedSorter
from latecomer.operators.levels import Levels, in_time, told
from latecomer.time import wait_texts

if TYPE_CHECKING:
    import pyarrow as pa

    from latecomer.batch import Batch
    from latecomer.operators.ways import KeyWays


class ClockedLeveler(ClockedSorter):
    """A running `Levels` of all keys, with nothing behind its sort."""

    def __init__(
        self, spec: Levels, schema: pa.Schema, chunks: Chunks, saved: bytes | None
    ) -> None:
        leads = [spec.waits[-1] - wait for wait in spec.waits]
        super().__init__(spec.by, schema, chunks, saved, leads)
        self._texts = wait_texts(spec.waits, spec.texts)
        self._out = spec.output_schema(schema)
        self._in_time = np.zeros(len(leads), np.int64)

    def push(self, rows: Batch, way: KeyWays) -> None:
        """Keep rows for the `advance` that follows; none is late for the last wait."""
        super().push(rows, way)
        times = self._by.micros(rows)
        watermarks = (way.ahead(lead).now(rows) for lead in self._leads)
        late = [int(np.count_nonzero(times < each)) for each in watermarks]
        self._in_time += in_time(rows.num_rows, late)

    def advance(self, way: KeyWays) -> Emission:
        """Release what is due, level by level."""
        ready = told(self._released(way), self._texts, self._out)
        counts = tuple(self._in_time.tolist()) if self._in_time.any() else ()
        self._in_time[:] = 0
        return Emission(ready, self._schema.empty_table(), counts)
