"""The rows of held tuples, by number.

Tuples pass through buffers and windows without their rows. Each row is stored here once, for as
long as it may be needed, and is written once (`operators.row_log`). Numbers ascend, so a row is
found by bisection.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from latecomer.arrays import Arrays
from latecomer.batch import Batch, Positions, combined, concat, gather
from latecomer.operators.base import Chunks
from latecomer.operators.row_log import Numbered, RowLog
from latecomer.operators.window_join.equalities import Equalities
from latecomer.operators.window_join.known_rows import KnownRows
from latecomer.operators.window_join.tuples import Tuples


class HeldRows:
    """The rows of each stream. Their numbers count up from 0, and are never reused."""

    def __init__(
        self, schemas: Sequence[pa.Schema], columns: Sequence[Sequence[str]] | None = None
    ) -> None:
        """Begin with no rows.

        Args:
            schemas: The schema of each stream.
            columns: The columns of each stream that the join reads; all, if left out.
        """
        self._schemas = list(schemas)
        self._columns = columns or [schema.names for schema in schemas]
        self._rows = [schema.empty_table() for schema in schemas]
        self._numbers = [np.empty(0, np.int64) for _ in schemas]
        self._next = np.zeros(len(schemas), np.int64)
        self._log = RowLog(self._schemas)
        self._known: KnownRows | None = None

    def add(self, stream: int, rows: Batch) -> Positions:
        """Add rows of a stream, and return their numbers."""
        self._known = None
        start = self._next[stream]
        numbers = np.arange(start, start + rows.num_rows)
        self._next[stream] += rows.num_rows
        self._numbers[stream] = np.concatenate([self._numbers[stream], numbers])
        # In one piece, because rows are gathered from it many times.
        self._rows[stream] = combined(concat([self._rows[stream], rows], self._schemas[stream]))
        return numbers

    def known(self, on: Equalities) -> KnownRows:
        """Return all rows with numbered keys. Keys are numbered only if rows were added since."""
        if self._known is None:
            rows = [
                rows.select(columns)
                for rows, columns in zip(self._rows, self._columns, strict=True)
            ]
            self._known = KnownRows(on, rows, self._numbers)
        return self._known

    def gather(self, stream: int, numbers: Positions) -> Batch:
        """Return rows of one stream, with all columns."""
        return gather(self._rows[stream], self._at(stream, numbers))

    def keep(self, held: Tuples) -> None:
        """Drop all rows except those of `held`."""
        for stream, rows in enumerate(self._rows):
            is_kept = np.zeros(rows.num_rows, np.bool_)
            is_kept[self._at(stream, held.rows[held.streams == stream])] = True
            kept = np.flatnonzero(is_kept)
            # Copied even if all are kept; otherwise chunks of every micro-batch would pile up.
            self._rows[stream] = gather(rows, kept).combine_chunks()
            self._numbers[stream] = self._numbers[stream][kept]

    def save(self, chunks: Chunks) -> Arrays:
        """Write rows that came since the last time to chunks; return what is known of all rows."""
        tables = [*map(Numbered, self._rows, self._numbers)]
        return {"next": self._next} | self._log.save(tables, chunks)

    def load(self, arrays: Arrays, chunks: Chunks) -> None:
        self._known = None
        self._next = arrays["next"]
        if "next_chunk" in arrays:
            tables = self._log.load(arrays, chunks)
        else:
            # Checkpoints of 0.2.0 have all rows of a stream in the chunk of its number.
            streams = range(len(self._schemas))
            tables = [Numbered(chunks.get(at), arrays[f"numbers_{at}"]) for at in streams]
            for at in streams:
                self._log.replace(at, [at])
        self._rows = [combined(table.rows) for table in tables]
        self._numbers = [table.numbers for table in tables]

    def _at(self, stream: int, numbers: Positions) -> Positions:
        return np.searchsorted(self._numbers[stream], numbers)
