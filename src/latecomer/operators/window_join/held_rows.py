"""The rows of held tuples, by number.

Tuples pass through buffers and windows without their rows. Each row is stored here once, for as
long as it may be needed. Numbers ascend, so a row is found by bisection.

Rows are saved in chunks of consecutive numbers. **A chunk is written once**, and dropped when none
of its rows is needed any more. It is written again only if less than half of its rows are needed,
or if it is small and the last one, together with the rows that have come since:

    chunks     0 … 40,000    40,000 … 80,000    80,000 … 81,000
    needed        12,000             39,000              1,000      and 1,000 more that came
    written     as a new one                            with those that came
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from latecomer.arrays import Arrays
from latecomer.batch import Batch, Positions, combined, concat, gather
from latecomer.operators.base import Chunks
from latecomer.operators.window_join.equalities import Equalities
from latecomer.operators.window_join.known_rows import KnownRows
from latecomer.operators.window_join.tuples import Tuples

SMALL = 4_096
"""A chunk with fewer rows is written again with the next rows, so that there are few chunks."""

NUMBER = "_lc_number"
"""Column of a chunk with the numbers of its rows."""


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
        # The chunks of each stream: number of the chunk, end of its rows' numbers, rows in it.
        self._written: list[list[tuple[int, int, int]]] = [[] for _ in schemas]
        self._next_chunk = len(schemas)
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
        found: Arrays = {"next": self._next}
        for stream, numbers in enumerate(self._numbers):
            self._written[stream] = [*self._saved(stream, chunks)]
            found[f"numbers_{stream}"] = numbers
            found[f"chunks_{stream}"] = np.array(self._written[stream], np.int64).reshape(-1, 3)
        return found | {"next_chunk": np.asarray(self._next_chunk)}

    def _saved(self, stream: int, chunks: Chunks) -> Iterator[tuple[int, int, int]]:
        """Write and drop chunks of a stream as needed; yield those that there are then."""
        stops = [stop for _, stop, _ in self._written[stream]]
        ends = np.searchsorted(self._numbers[stream], [*stops, self._next[stream]]).tolist()
        has_more = ends[-1] > ([0, *ends])[-2]
        begin = start = 0
        for at, (number, stop, rows) in enumerate(self._written[stream]):
            is_grown = has_more and at + 1 == len(stops) and rows < SMALL
            if is_grown or 2 * (ends[at] - start) < rows:
                chunks.drop(number)
            else:
                yield from self._put(stream, slice(begin, start), chunks)
                yield number, stop, rows
                begin = ends[at]
            start = ends[at]
        yield from self._put(stream, slice(begin, ends[-1]), chunks)

    def _put(self, stream: int, at: slice, chunks: Chunks) -> Iterator[tuple[int, int, int]]:
        """Write the rows at these positions as a chunk; yield it, if there are any."""
        numbers = self._numbers[stream][at]
        if len(numbers):
            rows = self._rows[stream].slice(at.start, len(numbers))
            chunks.put(self._next_chunk, rows.append_column(NUMBER, pa.array(numbers)))
            yield self._next_chunk, int(numbers[-1]) + 1, len(numbers)
            self._next_chunk += 1

    def load(self, arrays: Arrays, chunks: Chunks) -> None:
        self._known = None
        self._next = arrays["next"]
        self._next_chunk = int(arrays.get("next_chunk", len(self._rows)))
        for stream, schema in enumerate(self._schemas):
            numbers = self._numbers[stream] = arrays[f"numbers_{stream}"]
            if f"chunks_{stream}" not in arrays:
                # Older checkpoints have all rows of a stream in one chunk; they count as unwritten.
                self._rows[stream] = chunks.get(stream)
                self._written[stream] = [(stream, 0, 1)]
                continue
            self._written[stream] = [tuple(each) for each in arrays[f"chunks_{stream}"].tolist()]
            parts = [chunks.get(number) for number, _, _ in self._written[stream]]
            found = concat(parts, schema.append(pa.field(NUMBER, pa.int64())))
            at = np.searchsorted(found.column(NUMBER).to_numpy(), numbers)
            self._rows[stream] = combined(gather(found.drop_columns([NUMBER]), at))

    def _at(self, stream: int, numbers: Positions) -> Positions:
        return np.searchsorted(self._numbers[stream], numbers)
