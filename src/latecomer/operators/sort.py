"""Sort rows by time, each as soon as the watermark reaches it: Impatience sort, out of core.

Rows come almost sorted. So they are kept as a few *runs*, each ascending, and the most delayed
rows are in the last ones:

    arriving   2 6 5 1           run 0   2 6
                                 run 1   5
                                 run 2   1

A watermark cuts the head off each run and merges the heads; what is after it is not touched, and
a run that becomes empty vanishes:

    watermark 2   ready 1 2      run 0   6
                                 run 1   5

A run is a row of *chunks*, of which only the last is ever written again. The index of all chunks
(first and last time, rows) is small and always at hand, so that a watermark reads only chunks in
which something is due.

Paper: Chandramouli, Goldstein, Li: Impatience Is a Virtue (ICDE 2018), Sections III-B and III-D.
Symbols: punctuation T -> watermark; run -> `Run`; tail -> `Run.tail`; head run -> due part.
Departures: ascending pieces are placed whole (`kernels.runs.cuts_at_tails`); a very disordered
    batch is sorted before it is placed, as one piece; the number of runs is bounded by merging
    the last ones, because a run that lives in a state store costs a read at every watermark.
Holds: tails fall strictly from run to run. Between calls every held row is after the watermark.
    Rows of equal time come out as they came in: of two such rows the earlier is in the same run,
    further ahead, or in a run before.
"""

import json
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, concat, gather
from latecomer.kernels.order import stable_order
from latecomer.kernels.runs import ascending_pieces, cuts_at_tails
from latecomer.operators.base import Chunks, Emission, Operator, Running
from latecomer.time import FOREVER, NEVER, TimeColumn, Times

if TYPE_CHECKING:
    from latecomer.operators.clocked_sort import ClockedSorter

CHUNK_ROWS = 16_384
"""Rows in a full chunk. A watermark reads at most one partly due chunk per run."""

MOST_RUNS = 32
"""With more runs than this the last ones are merged."""

CHUNK_BYTES = 16 << 20
"""Rows that are large make chunks of fewer rows."""

RELEASE_BYTES = 128 << 20
"""About how much one `advance` may release; see `Sorter.stops`."""

MOST_PIECES = 8
"""A batch of more ascending pieces than this is sorted before it is placed, if it is not small."""

SMALL_BATCH = 256


@dataclass(frozen=True, slots=True)
class Sort(Operator):
    """Release rows in time order, each as soon as the watermark reaches it."""

    keeps_rows = True
    words = "sort by time; rows wait until the watermark reaches them"

    by: TimeColumn
    """The time column."""

    @property
    def label(self) -> str:
        """Its name is all: what it sorts by is a matter of the stream."""
        return "Sort"

    def clocked(self, columns: tuple[str, ...]) -> bool:
        """Rows can be sorted by the watermarks of any keys."""
        return True

    def start_clocked(
        self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> "ClockedSorter":
        """Make a sorter of all keys, each with a watermark of its own."""
        from latecomer.operators.clocked_sort import ClockedSorter

        return ClockedSorter(self, schema, chunks, saved)

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> "Sorter":
        """Make a sorter for rows of this schema."""
        return Sorter(self, schema, chunks, saved)


@dataclass(slots=True)
class Chunk:
    """An entry of the index: where some rows are, and which times they span."""

    number: int
    first: int
    last: int
    rows: int
    size: int
    """In bytes, as Arrow holds them."""
    released: int = 0
    """Rows at the start that have come out already."""


@dataclass(slots=True)
class Run:
    """Chunks in ascending order; never empty."""

    chunks: list[Chunk] = field(default_factory=list)

    @property
    def tail(self) -> int:
        """The last time."""
        return self.chunks[-1].last

    @property
    def rows(self) -> int:
        """The number of held rows."""
        return sum(chunk.rows - chunk.released for chunk in self.chunks)


def _is_small(chunk: Chunk) -> bool:
    return 2 * chunk.rows <= CHUNK_ROWS and 2 * chunk.size <= CHUNK_BYTES


class Sorter(Running):
    """A running `Sort`. Between calls, every held row is after the watermark."""

    def __init__(self, spec: Sort, schema: pa.Schema, chunks: Chunks, saved: bytes | None) -> None:
        """Begin with nothing held, or where `saved` left off."""
        self._by = spec.by
        self._schema = schema
        self._chunks = chunks
        self._watermark = NEVER
        self._next_number = 0
        self._runs: list[Run] = []
        if saved is not None:
            self._load(saved)

    @property
    def runs(self) -> int:
        """The number of runs held."""
        return len(self._runs)

    @property
    def held(self) -> int:
        """The number of rows held."""
        return sum(run.rows for run in self._runs)

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Hold what is on time; hand back at once what is late or at the watermark."""
        times = self._by.micros(rows)
        after = times > self._watermark
        if after.all():
            self._hold(rows, times)
            return Emission(self._nothing(), self._nothing())
        self._hold(rows.filter(pa.array(after)), times[after])
        late = times < self._watermark
        return Emission(
            ready=rows.filter(pa.array(~after & ~late)), late=rows.filter(pa.array(late))
        )

    def advance(self, watermark: int) -> Emission:
        """Release, in order, every held row up to `watermark`."""
        self._watermark = max(self._watermark, watermark)
        heads = [part for run in self._runs for part in self._take_due(run, self._watermark)]
        self._runs = [run for run in self._runs if run.chunks]
        return Emission(ready=self._merged(heads), late=self._nothing())

    def stops(self, watermark: int) -> list[int]:
        """Split the way so that each `advance` releases about `RELEASE_BYTES` at the most."""
        due = sorted(
            (chunk.first, chunk.size)
            for run in self._runs
            for chunk in run.chunks
            if chunk.first <= watermark
        )
        stops: list[int] = []
        total = 0
        for first, size in due:
            total += size
            # Everything before this chunk's first time can come out without reading the chunk.
            if total > RELEASE_BYTES and first - 1 > (stops[-1] if stops else self._watermark):
                stops.append(first - 1)
                total = size
        return [*stops, watermark]

    def due(self) -> int | None:
        """The smallest time held."""
        return min((run.chunks[0].first for run in self._runs), default=None)

    def save(self) -> bytes:
        """Write down the watermark and the index of the chunks."""
        index = [[list(asdict(chunk).values()) for chunk in run.chunks] for run in self._runs]
        return json.dumps([self._watermark, self._next_number, index]).encode()

    def _load(self, saved: bytes) -> None:
        self._watermark, self._next_number, index = json.loads(saved)
        self._runs = [Run([Chunk(*entry) for entry in run]) for run in index]

    def _nothing(self) -> Batch:
        return self._schema.empty_table()

    def _hold(self, rows: Batch, times: Times) -> None:
        if not len(times):
            return
        starts = ascending_pieces(times)
        if len(times) > SMALL_BATCH and len(starts) > MOST_PIECES:
            order = stable_order(times)
            rows, times, starts = gather(rows, order), times[order], starts[:1]
        for start, stop in pairwise([*starts, len(times)]):
            self._place(rows.slice(start, stop - start), times[start:stop])
        while len(self._runs) > MOST_RUNS:
            self._merge_last_runs()

    def _place(self, piece: Batch, times: Times) -> None:
        """Append each part of an ascending piece to the run where it belongs."""
        tails = np.array([run.tail for run in self._runs], np.int64)
        cuts = cuts_at_tails(times, tails)[::-1]
        for i, (stop, start) in enumerate(pairwise(cuts)):
            if start == stop:
                continue
            if i == len(self._runs):
                self._runs.append(Run())
            self._append(self._runs[i], piece.slice(start, stop - start), times[start:stop])

    def _append(self, run: Run, rows: Batch, times: Times) -> None:
        """Fill up the last chunk of a run if it is small, then begin new ones."""
        if run.chunks and _is_small(run.chunks[-1]):
            last = run.chunks.pop()
            before = self._chunks.get(last.number).slice(last.released)
            self._chunks.drop(last.number)
            # One piece in memory, or what is stored would grow by a header with every append.
            rows = concat([before, rows], self._schema).combine_chunks()
            times = np.concatenate([self._by.micros(before), times])
        step = min(CHUNK_ROWS, max(1, CHUNK_BYTES * len(times) // max(1, rows.nbytes)))
        for start in range(0, len(times), step):
            part = rows.slice(start, step)
            first, last_time = int(times[start]), int(times[start + part.num_rows - 1])
            chunk = Chunk(self._next_number, first, last_time, part.num_rows, part.nbytes)
            run.chunks.append(chunk)
            self._chunks.put(chunk.number, part)
            self._next_number += 1

    def _take_due(self, run: Run, watermark: int) -> list[Batch]:
        """Cut off the head of a run, reading only chunks in which something is due."""
        heads = []
        while run.chunks and run.chunks[0].first <= watermark:
            chunk = run.chunks[0]
            rows = self._chunks.get(chunk.number).slice(chunk.released)
            if chunk.last <= watermark:
                heads.append(rows)
                self._chunks.drop(chunk.number)
                del run.chunks[0]
                continue
            times = self._by.micros(rows)
            count = int(np.searchsorted(times, watermark, side="right"))
            heads.append(rows.slice(0, count))
            chunk.released += count
            chunk.first = int(times[count])
        return heads

    def _merged(self, heads: list[Batch]) -> Batch:
        rows = concat(heads, self._schema)
        return gather(rows, stable_order(self._by.micros(rows))) if len(heads) > 1 else rows

    def _merge_last_runs(self) -> None:
        """Merge runs at the end that are of like size, so that few are left.

        A run is taken along if it is at most twice as large as all behind it. So a row is merged
        again only into a run a good deal larger, and at most logarithmically often.
        """
        start = len(self._runs) - 2
        behind = self._runs[-1].rows + self._runs[-2].rows
        while start > 1 and self._runs[start - 1].rows <= 2 * behind:
            start -= 1
            behind += self._runs[start].rows
        heads = [part for run in self._runs[start:] for part in self._take_due(run, FOREVER)]
        del self._runs[start:]
        merged = self._merged(heads)
        self._runs.append(Run())
        self._append(self._runs[-1], merged, self._by.micros(merged))
