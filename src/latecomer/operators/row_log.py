"""Tables whose rows have ascending numbers, saved in chunks that are written once.

An operator that holds many rows writes only those that came since the last `save`. A chunk is
dropped when none of its rows is needed any more. It is written again only if less than half of its
rows are needed, or if it is small and the last one, together with the rows that have come since:

    chunks     0 … 40,000    40,000 … 80,000    80,000 … 81,000
    needed        12,000             39,000              1,000      and 1,000 more that came
    written     as a new one                            with those that came

Which rows of the chunks are needed is saved as one bit for each row.

Holds: at most twice as many rows are stored as are needed, and numbers ascend from chunk to chunk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from latecomer.batch import combined, concat, gather

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from latecomer.arrays import Arrays
    from latecomer.batch import Batch, Mask, Positions
    from latecomer.operators.base import Chunks

SMALL = 4_096
"""A chunk with fewer rows is written again with the next rows, so that there are few chunks."""

NUMBER = "_lc_number"
"""Column of a chunk with the numbers of its rows."""

_NEVER_NEEDED = np.array([-1])


class Numbered(NamedTuple):
    """Rows of a table, and their numbers."""

    rows: Batch
    numbers: Positions


class _Chunk(NamedTuple):
    number: int
    """Number of the chunk."""
    rows: Positions
    """Numbers of its rows."""


class RowLog:
    """The chunks of several tables."""

    def __init__(self, schemas: Sequence[pa.Schema]) -> None:
        """Begin with empty tables."""
        self._schemas = list(schemas)
        self._chunks: list[list[_Chunk]] = [[] for _ in schemas]
        self._next = 0

    def save(self, tables: Sequence[Numbered], chunks: Chunks) -> Arrays:
        """Write the rows that came since the last time; return what `load` needs."""
        found: Arrays = {}
        for at, table in enumerate(tables):
            self._chunks[at] = own = [*self._written(self._chunks[at], table, chunks)]
            sizes = [(chunk.number, len(chunk.rows)) for chunk in own]
            needed = [_needed(chunk, table.numbers) for chunk in own]
            found[f"chunks_{at}"] = np.array(sizes, np.int64).reshape(-1, 2)
            found[f"needed_{at}"] = np.packbits(np.concatenate([np.zeros(0, np.bool_), *needed]))
        return found | {"next_chunk": np.asarray(self._next)}

    def load(self, arrays: Arrays, chunks: Chunks) -> list[Numbered]:
        """Return the tables that `save` has written."""
        self._next = int(arrays["next_chunk"])
        return [self._loaded(at, arrays, chunks) for at in range(len(self._schemas))]

    def replace(self, table: int, numbers: Sequence[int]) -> None:
        """Drop chunks that something older has written, when the table is saved next."""
        self._chunks[table] = [_Chunk(number, _NEVER_NEEDED) for number in numbers]
        self._next = max([self._next, *(number + 1 for number in numbers)])

    def _loaded(self, at: int, arrays: Arrays, chunks: Chunks) -> Numbered:
        schema = self._schemas[at]
        numbers = arrays[f"chunks_{at}"][:, 0].tolist()
        stored = [chunks.get(number) for number in numbers]
        rows = concat(stored, schema.append(pa.field(NUMBER, pa.int64())))
        self._chunks[at] = [
            _Chunk(number, part.column(NUMBER).to_numpy())
            for number, part in zip(numbers, stored, strict=True)
        ]
        needed = np.unpackbits(arrays[f"needed_{at}"], count=rows.num_rows).view(np.bool_)
        kept = combined(gather(rows, np.flatnonzero(needed)))
        return Numbered(kept.drop_columns([NUMBER]), kept.column(NUMBER).to_numpy())

    def _written(
        self, written: Sequence[_Chunk], table: Numbered, chunks: Chunks
    ) -> Iterator[_Chunk]:
        """Write and drop chunks of a table as needed; yield those that there are then."""
        ends = [int(chunk.rows[-1]) + 1 for chunk in written]
        stops = [*np.searchsorted(table.numbers, ends).tolist(), len(table.numbers)]
        has_more = stops[-1] > ([0, *stops])[-2]
        begin = start = 0
        for at, chunk in enumerate(written):
            is_grown = has_more and at + 1 == len(written) and len(chunk.rows) < SMALL
            if is_grown or 2 * (stops[at] - start) < len(chunk.rows):
                chunks.drop(chunk.number)
            else:
                yield from self._put(table, slice(begin, start), chunks)
                yield chunk
                begin = stops[at]
            start = stops[at]
        yield from self._put(table, slice(begin, stops[-1]), chunks)

    def _put(self, table: Numbered, at: slice, chunks: Chunks) -> Iterator[_Chunk]:
        """Write the rows at these positions as a chunk; yield it, if there are any."""
        numbers = table.numbers[at]
        if len(numbers):
            rows = table.rows.slice(at.start, len(numbers))
            chunks.put(self._next, rows.append_column(NUMBER, pa.array(numbers)))
            yield _Chunk(self._next, numbers)
            self._next += 1


def _needed(chunk: _Chunk, numbers: Positions) -> Mask:
    """Mark the rows of a chunk that are among `numbers`."""
    first, stop = np.searchsorted(numbers, [chunk.rows[0], chunk.rows[-1] + 1])
    found = np.zeros(len(chunk.rows), np.bool_)
    found[np.searchsorted(chunk.rows, numbers[first:stop])] = True
    return found
