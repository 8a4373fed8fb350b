"""Rows in time order after each of several waits, where each key has watermarks of its own.

The output for a key is what `operators.levels` gives for the rows of this key alone. The rows of
all keys are held together (`operators.clocked_sort`). So the cost of a micro-batch depends on its
rows and on those that are due, not on the number of keys.

Operators behind the sort process the rows of all keys and waits together: each wait of a key has a
slot of its own, as if it were another key, with a watermark that is ahead of that of the key.

    slots of two waits   0: key 0, first wait   1: key 0, last wait   2: key 1, first wait   …
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import concat
from latecomer.operators.aggregates.summary import SLOT
from latecomer.operators.base import Chunks, Emission
from latecomer.operators.clocked_sort import ClockedSorter
from latecomer.operators.levels import Levels, leads, told
from latecomer.time import wait_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from latecomer.batch import Batch, Mask
    from latecomer.operators.ways import KeyWays
    from latecomer.time import TimeColumn


class ClockedSlotter(ClockedSorter):
    """A running sort of all keys for several waits, whose rows have a slot for each of them."""

    def __init__(
        self,
        by: TimeColumn,
        schema: pa.Schema,
        chunks: Chunks,
        saved: bytes | None,
        waits: Sequence[int],
    ) -> None:
        super().__init__(by, schema, chunks, saved, leads(waits))

    def push(self, rows: Batch, way: KeyWays, is_late: Mask | None = None) -> None:
        """Keep rows for the `advance` that follows, which skips those that are late."""
        super().push(rows, way, is_late)
        late = 0 if is_late is None else np.count_nonzero(is_late)
        self._in_time[-1] += rows.num_rows - late

    def advance(self, way: KeyWays) -> Emission:
        """Release what is due, level by level."""
        ready = self._told(self._released(way))
        counts = np.diff(self._in_time, prepend=0).tolist() if self._in_time[-1] else ()
        self._in_time[:] = 0
        return Emission(ready, self._schema.empty_table(), tuple(counts))

    def _told(self, levels: Sequence[Batch]) -> Batch:
        """Return the rows of all levels, with the slot of their key and wait."""
        at, parts = self._schema.get_field_index(SLOT), []
        for level, rows in enumerate(levels):
            slots = rows.column(SLOT).to_numpy() * len(levels) + level
            parts.append(rows.set_column(at, SLOT, pa.array(slots)))
        return concat(parts, self._schema)


class ClockedLeveler(ClockedSlotter):
    """A running `Levels` of all keys, with nothing behind its sort."""

    def __init__(
        self, spec: Levels, schema: pa.Schema, chunks: Chunks, saved: bytes | None
    ) -> None:
        super().__init__(spec.by, schema, chunks, saved, spec.waits)
        self._texts = wait_texts(spec.waits, spec.texts)
        self._out = spec.output_schema(schema)

    def _told(self, levels: Sequence[Batch]) -> Batch:
        """Return the rows of all levels, with their wait."""
        return told(levels, self._texts, self._out)
