"""The rows of tuples that are under way, by their numbers.

Tuples travel through buffers and windows without their rows. These lie here, once, for as long as
somebody may still ask for them: numbers ascend, so a row is found by bisection.
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
    """The rows of each stream. Their numbers count up from 0, and are never used again."""

    def __init__(
        self, schemas: Sequence[pa.Schema], columns: Sequence[Sequence[str]] | None = None
    ) -> None:
        """Begin with none.

        Args:
            schemas: What the rows of each stream look like.
            columns: Of each stream the columns by which rows are joined; all, if left out.
        """
        self._schemas = list(schemas)
        self._columns = columns or [schema.names for schema in schemas]
        self._rows = [schema.empty_table() for schema in schemas]
        self._numbers = [np.empty(0, np.int64) for _ in schemas]
        self._next = np.zeros(len(schemas), np.int64)
        self._known: KnownRows | None = None

    def add(self, stream: int, rows: Batch) -> Positions:
        """Take in rows of a stream, and number them."""
        self._known = None
        start = self._next[stream]
        numbers = np.arange(start, start + rows.num_rows)
        self._next[stream] += rows.num_rows
        self._numbers[stream] = np.concatenate([self._numbers[stream], numbers])
        self._rows[stream] = concat([self._rows[stream], rows], self._schemas[stream])
        return numbers

    def known(self, on: Equalities) -> KnownRows:
        """Number the keys of all rows, unless that was done since rows were last added."""
        if self._known is None:
            rows = [
                rows.select(columns)
                for rows, columns in zip(self._rows, self._columns, strict=True)
            ]
            self._known = KnownRows(on, rows, self._numbers)
        return self._known

    def gather(self, stream: int, numbers: Positions) -> Batch:
        """Gather rows of one stream, with all columns."""
        return gather(self._rows[stream], self._at(stream, numbers))

    def keep(self, held: Tuples) -> None:
        """Let go of all rows but those of some tuples."""
        for stream, rows in enumerate(self._rows):
            is_kept = np.zeros(rows.num_rows, np.bool_)
            is_kept[self._at(stream, held.rows[held.streams == stream])] = True
            kept = np.flatnonzero(is_kept)
            # Copied also if all are kept: else pieces of every micro-batch would pile up.
            self._rows[stream] = gather(rows, kept).combine_chunks()
            self._numbers[stream] = self._numbers[stream][kept]

    def save(self, chunks: Chunks) -> Arrays:
        """Write the rows to chunks, one for each stream, and tell their numbers."""
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
