"""The rows of held tuples, by number.

Tuples pass through buffers and windows without their rows. Each row is stored here once, for as
long as it may be needed. Numbers ascend, so a row is found by bisection.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from latecomer.arrays import Arrays
from latecomer.batch import Batch, Positions, concat, gather
from latecomer.operators.base import Chunks
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
        self._known: KnownRows | None = None

    def add(self, stream: int, rows: Batch) -> Positions:
        """Add rows of a stream, and return their numbers."""
        self._known = None
        start = self._next[stream]
        numbers = np.arange(start, start + rows.num_rows)
        self._next[stream] += rows.num_rows
        self._numbers[stream] = np.concatenate([self._numbers[stream], numbers])
        self._rows[stream] = concat([self._rows[stream], rows], self._schemas[stream])
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
        """Write the rows to chunks, one for each stream, and return their numbers."""
        for stream, rows in enumerate(self._rows):
            chunks.put(stream, rows)
        numbers = {f"numbers_{stream}": each for stream, each in enumerate(self._numbers)}
        return {"next": self._next, **numbers}

    def load(self, arrays: Arrays, chunks: Chunks) -> None:
        self._known = None
        self._next = arrays["next"]
        for stream in range(len(self._rows)):
            self._rows[stream] = chunks.get(stream)
            self._numbers[stream] = arrays[f"numbers_{stream}"]

    def _at(self, stream: int, numbers: Positions) -> Positions:
        return np.searchsorted(self._numbers[stream], numbers)
