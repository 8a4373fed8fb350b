"""Sort rows by time, each as soon as the watermark reaches it: Impatience sort, out of core.

Rows come almost sorted. So they are kept as a few *runs*, each ascending, and the most delayed
rows are in the last ones:

    arriving   2 6 5 1           run 0   2 6
                                 run 1   5
                                 run 2   1

A watermark cuts the head off each run and merges the heads. Rows after it are not touched, and a
run that becomes empty is removed:

    watermark 2   ready 1 2      run 0   6
                                 run 1   5

A run is a sequence of *parts* (`operators.runs`). A new part is in memory. `save` writes it to
chunks, and only the last chunk of a run is ever written again. The index of all parts (first and
last time, rows) is small and always in memory, so that a watermark reads only chunks in which rows
are due. A row that arrives and is released between two saves is never written.

Rows that have just come are *fresh*. They stay as they are until one of them is due or `save` is
called; then all of them are placed on the runs. If they are very disordered they are sorted first,
together with the heads of the runs, so that a row that is due by then is sorted and copied once.

Paper: Chandramouli, Goldstein, Li: Impatience Is a Virtue (ICDE 2018), Sections III-B and III-D.
    `benchmarks.impatience` is the paper's algorithm, event by event; a test compares the two.
Symbols: punctuation T -> watermark; run -> `Run`; tail -> `Run.tail`; head run -> due part.
Departures: ascending pieces are placed whole (`kernels.runs.cuts_at_tails`); very disordered rows
    are sorted before they are placed, as one piece; heads are merged by sorting all of them at
    once; the number of runs is bounded by merging the last ones, because a run that lives in a
    state store costs a read at every watermark.
Holds: tails fall strictly from run to run. Between calls every held row is after the watermark.
    Rows of equal time come out as they came in: of two such rows the earlier is in the same run,
    further ahead, or in a run before. Fresh rows came after all others.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, combined, concat, keep_freed_memory, widened
from latecomer.kernels.order import stable_order
from latecomer.kernels.runs import ascending_pieces, cuts_at_tails
from latecomer.operators import runs
from latecomer.operators.base import (
    ORIGINAL_TIME,
    Chunks,
    Emission,
    NewColumns,
    Operator,
    Running,
)
from latecomer.operators.runs import Part, Piece, Run
from latecomer.time import FOREVER, NEVER, TimeColumn, Times

if TYPE_CHECKING:
    from latecomer.operators.clocked_sort import ClockedSorter

MOST_RUNS = 32
"""Largest number of runs; with more, the last ones are merged."""

MOST_PIECES = 8
"""Fresh rows in more ascending pieces than this are sorted before they are placed."""

LONG = 64
"""Rows whose pieces have fewer rows than this on average are sorted too: placing costs more."""

RELEASE_BYTES = 128 << 20
"""Approximate number of bytes that one `advance` may release; see `Sorter.stops`."""


@dataclass(frozen=True, slots=True)
class Sort(Operator):
    """Release rows in time order, each as soon as the watermark reaches it."""

    keeps_rows = True
    levels_take = "rows at the watermark"
    words = "sort by time; rows wait until the watermark reaches them"

    by: TimeColumn
    """The time column."""

    @property
    def portable(self) -> Literal["rows", "states"]:
        """Held rows can be pushed again, in other buckets."""
        return "rows"

    @property
    def new_columns(self) -> NewColumns:
        """Held rows have nulls in a new column."""
        return "null"

    def clocked(self, columns: tuple[str, ...]) -> bool:
        """Return True: rows can be sorted by the watermarks of any keys."""
        return True

    def start_clocked(
        self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> "ClockedSorter":
        from latecomer.operators.clocked_sort import ClockedSorter

        return ClockedSorter(self.by, schema, chunks, saved)

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> "Sorter":
        return Sorter(self, schema, chunks, saved)

    def start_levels(
        self, schema: pa.Schema, chunks: Sequence[Chunks], saved: Sequence[bytes | None]
    ) -> Sequence[Running]:
        from latecomer.operators.shared_sort import start_levels

        return start_levels(self, schema, chunks, saved)


class Sorter(Running):
    """A running `Sort`. Between calls, every held row is after the watermark."""

    def __init__(self, spec: Sort, schema: pa.Schema, chunks: Chunks, saved: bytes | None) -> None:
        keep_freed_memory()
        self._by = spec.by
        self._schema = schema
        self._nothing = schema.empty_table()
        self._row_bytes = _row_bytes(schema)
        self._none = Piece(self._nothing, np.empty(0, np.int64), 0)
        self._chunks = chunks
        self._watermark = NEVER
        self._next_number = 0
        self._runs: list[Run] = []
        self._fresh: list[Piece] = []
        self._fresh_first = FOREVER
        if saved is not None:
            self._watermark, self._next_number, index = json.loads(saved)
            self._runs = [Run([Part(*entry) for entry in run]) for run in index]
        self._held = sum(run.rows for run in self._runs)

    @property
    def runs(self) -> int:
        """Number of runs, with all fresh rows placed on them."""
        self._place(self._take_fresh(FOREVER))
        return len(self._runs)

    @property
    def held(self) -> int:
        return self._held

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Hold rows after the watermark; return at once those that are late or at the watermark."""
        times = self._by.micros(rows)
        first = int(times.min(initial=FOREVER))
        if first > self._watermark:
            self._hold(rows, times, first)
            return Emission(self._nothing, self._nothing)
        after = times > self._watermark
        late = times < self._watermark
        times = times[after]
        self._hold(rows.filter(pa.array(after)), times, int(times.min(initial=FOREVER)))
        return Emission(
            ready=rows.filter(pa.array(~after & ~late)), late=rows.filter(pa.array(late))
        )

    def advance(self, watermark: int) -> Emission:
        """Release, in order, every held row up to `watermark`."""
        self._watermark = max(self._watermark, watermark)
        return Emission(self._released().rows, self._nothing)

    def _released(self, others: Sequence[Piece] = ()) -> Piece:
        """Remove every row up to the watermark, and return them in order.

        Args:
            others: Rows up to the watermark that are sorted with them. They arrived before the held
                rows of equal time.
        """
        fresh = self._take_fresh(self._watermark)
        if fresh and not _is_disordered(_times(fresh)):
            self._place(fresh)
            fresh = []
        heads = self._heads(self._runs, self._watermark) if self._runs else []
        merged = self._merged([*others, *heads, *fresh])
        due = int(merged.times.searchsorted(self._watermark, side="right"))
        if due < len(merged.times):
            self._place_ascending(merged.kept(due, len(merged.times)))
            self._limit_runs()
        self._held -= due - sum(len(piece.times) for piece in others)
        return merged.kept(0, due)

    def stops(self, watermark: int) -> list[int]:
        """Split the way so that each `advance` releases at most about `RELEASE_BYTES`."""
        if 0 < self._held * self._row_bytes <= RELEASE_BYTES:
            return [watermark]
        due = self._due_sizes(watermark)
        if self._fresh_first <= watermark:
            size = sum(size for _, size in due) + sum(piece.size for piece in self._fresh)
            if size > RELEASE_BYTES:
                self._place(self._take_fresh(watermark))
                due = self._due_sizes(watermark)
        stops: list[int] = []
        total = 0
        for first, size in due:
            total += size
            # All rows before this part's first time can be released without reading the part.
            if total > RELEASE_BYTES and first - 1 > (stops[-1] if stops else self._watermark):
                stops.append(first - 1)
                total = size
        return [*stops, watermark]

    def due(self) -> int | None:
        """Return the smallest time held, if any."""
        if not self._runs and not self._fresh:
            return None
        return min([self._fresh_first, *(run.parts[0].first for run in self._runs)])

    def save(self) -> bytes:
        """Write rows in memory to chunks, and return the watermark and the index."""
        self._place(self._take_fresh(FOREVER))
        for run in self._runs:
            self._write(run)
        index = [[part.entry for part in run.parts] for run in self._runs]
        return json.dumps([self._watermark, self._next_number, index]).encode()

    def _hold(self, rows: Batch, times: Times, first: int) -> None:
        if len(times):
            size = len(times) * self._row_bytes if self._row_bytes else rows.nbytes
            self._fresh.append(Piece(rows, times, size))
            self._fresh_first = min(self._fresh_first, first)
            self._held += len(times)

    def _due_sizes(self, watermark: int) -> list[tuple[int, int]]:
        """Return the first time and the size of each part that has due rows, in order."""
        due = [takewhile(lambda part: part.first <= watermark, run.parts) for run in self._runs]
        return sorted((part.first, part.size) for parts in due for part in parts)

    def _take_fresh(self, watermark: int) -> list[Piece]:
        """Remove and return all fresh rows, in order of arrival, if one of them is due."""
        if self._fresh_first > watermark:
            return []
        fresh, self._fresh = self._fresh, []
        self._fresh_first = FOREVER
        return fresh

    def _joined(self, pieces: Sequence[Piece]) -> Piece:
        """Concatenate pieces, each column into one array."""
        pieces = [piece for piece in pieces if len(piece.times)]
        if not pieces:
            return self._none
        if len(pieces) == 1 and _is_whole(pieces[0].rows):
            return pieces[0]
        rows = combined(concat([piece.rows for piece in pieces], self._schema))
        return Piece(rows, _times(pieces), sum(piece.size for piece in pieces))

    def _merged(self, pieces: Sequence[Piece]) -> Piece:
        """Return the rows of pieces in order of time; rows of equal time stay in their order."""
        joined = self._joined(pieces)
        is_ascending = (joined.times[1:] >= joined.times[:-1]).all()
        return joined if is_ascending else joined.taken(stable_order(joined.times))

    def _place(self, fresh: Sequence[Piece]) -> None:
        """Append rows, in order of arrival, to the runs where they belong."""
        piece = self._joined(fresh)
        if not len(piece.times):
            return
        if _is_disordered(piece.times):
            self._place_ascending(piece.taken(stable_order(piece.times)))
        else:
            bounds = [*ascending_pieces(piece.times).tolist(), len(piece.times)]
            for start, stop in pairwise(bounds):
                self._place_ascending(piece.cut(start, stop))
        self._limit_runs()

    def _limit_runs(self) -> None:
        while len(self._runs) > MOST_RUNS:
            self._merge_last_runs()

    def _place_ascending(self, piece: Piece) -> None:
        """Cut ascending rows at the tails of the runs, and append each part to its run."""
        cuts = cuts_at_tails(piece.times, [run.tail for run in self._runs])
        for i, (stop, start) in enumerate(pairwise(cuts)):
            if start == stop:
                continue
            if i == len(self._runs):
                self._runs.append(Run())
            self._runs[i].append(piece.kept(start, stop))

    def _heads(self, runs: Sequence[Run], watermark: int) -> list[Piece]:
        """Cut off and return the heads of runs; a run that becomes empty is removed."""
        heads = [head for run in runs for head in self._head(run, watermark)]
        self._runs = [run for run in self._runs if run.parts]
        return heads

    def _head(self, run: Run, watermark: int) -> Iterator[Piece]:
        """Cut off and yield the head of a run; only chunks in which rows are due are read."""
        while run.parts and run.parts[0].first <= watermark:
            part = run.parts[0]
            piece = part.piece = self._read(part)
            if part.last <= watermark:
                yield piece.cut(part.released, part.rows)
                self._forget(part)
                del run.parts[0]
                continue
            due = int(piece.times.searchsorted(watermark, side="right"))
            yield piece.cut(part.released, due)
            part.released, part.first = due, int(piece.times[due])

    def _read(self, part: Part) -> Piece:
        if part.piece is not None:
            return part.piece
        rows = carried(self._chunks.get(part.number), self._schema, self._by)
        return Piece(rows, self._by.micros(rows), part.size)

    def _forget(self, part: Part) -> None:
        if part.is_written:
            self._chunks.drop(part.number)

    def _write(self, run: Run) -> None:
        """Write parts in memory to chunks, together with the last written chunk if it is small."""
        written = [part for part in run.parts if part.is_written]
        to_write = run.parts[len(written) :]
        if to_write and written and written[-1].is_small:
            to_write.insert(0, written.pop())
        joined = self._joined([self._read(part).cut(part.released, part.rows) for part in to_write])
        for part in to_write:
            self._forget(part)
        for part in written:
            part.piece = None
        run.parts = written
        for share in joined.shares(runs.CHUNK_ROWS):
            run.parts.append(Part.of(share, self._next_number))
            self._chunks.put(self._next_number, share.rows)
            self._next_number += 1

    def _merge_last_runs(self) -> None:
        """Merge the last runs if they are of similar size, so that few are left.

        A run is included if it is at most twice as large as all runs behind it together. So a row
        is merged again only into a much larger run, and at most logarithmically often.
        """
        start = len(self._runs) - 2
        behind = self._runs[-1].rows + self._runs[-2].rows
        while start > 1 and self._runs[start - 1].rows <= 2 * behind:
            start -= 1
            behind += self._runs[start].rows
        merged = self._merged(self._heads(self._runs[start:], FOREVER))
        self._runs.append(Run())
        self._runs[-1].append(merged)


def carried(rows: Batch, schema: pa.Schema, by: TimeColumn) -> Batch:
    """Return held rows with the columns of `schema`; a missing `ORIGINAL_TIME` is the time."""
    return widened(rows, schema, {ORIGINAL_TIME: by.name})


def _is_disordered(times: Times) -> bool:
    """Return True if sorting the rows is cheaper than placing them on runs piece by piece."""
    pieces = 1 + int(np.count_nonzero(times[1:] < times[:-1]))
    return pieces > MOST_PIECES or (pieces > 1 and len(times) < LONG * pieces)


def _times(pieces: Sequence[Piece]) -> Times:
    """Return the times of pieces, one after the other."""
    times = [piece.times for piece in pieces]
    return times[0] if len(times) == 1 else np.concatenate(times)


def _is_whole(rows: Batch) -> bool:
    """Return True if each column is in one array."""
    return all(column.num_chunks == 1 for column in rows.itercolumns())


def _row_bytes(schema: pa.Schema) -> int:
    """Return the number of bytes of a row; 0 if rows differ in size."""
    try:
        return -(-sum(column.type.bit_width for column in schema) // 8)
    except ValueError:
        return 0
