"""Other ways to sort a stream: those that a user would choose, and those of the paper.

Each is called at each watermark with the rows since the last one. It returns the rows that are due,
as times, positions and payload columns, in order. The last call has the watermark `FOREVER`.
Payloads are gathered by position from the columns of the whole input, so a competitor never copies
a row before it releases it.

*Buffers* are the paper's way to make any sort incremental (Section VI-B): rows go into an unsorted
buffer; a watermark sorts it, merges it into a sorted one, and releases the head of that. The merge
is compiled, so that the time of a buffer is that of its sort, not of Python's loops.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numba
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.impatience import impatience
from latecomer.batch import Positions
from latecomer.time import FOREVER, NEVER, Times

Sorted = tuple[Times, Positions]
Released = tuple[np.ndarray[Any, Any], ...]
"""Times, positions and payload columns."""
Argsort = Callable[[Times], Positions]

ARGSORTS: dict[str, Argsort] = {
    "numpy stable": lambda times: np.argsort(times, kind="stable"),
    "numpy default": np.argsort,
    "polars": lambda times: pl.Series(times).arg_sort().to_numpy(),
    "arrow": lambda times: pc.sort_indices(pa.array(times)).to_numpy(),
}
_NONE = np.empty(0, np.int64)


@dataclass(frozen=True)
class Stream:
    """Rows in order of arrival, and the watermarks among them."""

    table: pa.Table
    """Time, position and payload."""
    marks: Positions
    """Number of rows before each watermark."""
    watermarks: Times

    @property
    def times(self) -> Times:
        return self.table["time"].to_numpy()

    @property
    def payload(self) -> list[np.ndarray[Any, Any]]:
        return [column.to_numpy() for column in self.table.columns[2:]]

    def clock(self) -> Iterator[tuple[int, int]]:
        """Yield each watermark with the number of rows before it; the last is the end of time."""
        yield from zip(self.marks.tolist(), self.watermarks.tolist(), strict=True)
        yield self.table.num_rows, FOREVER


class Incremental(Protocol):
    """A sort that is called at each watermark."""

    def __call__(self, fresh: Times, start: int, before: int, watermark: int) -> Sorted:
        """Add rows, and return those that are due.

        Args:
            fresh: The times of rows since the last watermark.
            start: The position of the first of them.
            before: The last watermark; rows before it are late, and left out.
            watermark: The present watermark.
        """


@dataclass(frozen=True)
class Online:
    """Sort a stream incrementally."""

    start: Callable[[], Incremental]

    def __call__(self, stream: Stream) -> Iterator[Released]:
        sort, times, payload = self.start(), stream.times, stream.payload
        start, before = 0, NEVER
        for stop, watermark in stream.clock():
            due, positions = sort(times[start:stop], start, before, watermark)
            yield due, positions, *(column.take(positions) for column in payload)
            start, before = stop, watermark


@dataclass(frozen=True)
class Offline:
    """Sort all rows at once."""

    argsort: Argsort

    def __call__(self, stream: Stream) -> Iterator[Released]:
        times = stream.times
        order = self.argsort(times)
        yield times[order], order, *(column.take(order) for column in stream.payload)


class Buffers:
    """A sorted and an unsorted buffer."""

    def __init__(self, argsort: Argsort) -> None:
        self._argsort = argsort
        self._held: Sorted = (_NONE, _NONE)

    def __call__(self, fresh: Times, start: int, before: int, watermark: int) -> Sorted:
        in_time = np.flatnonzero(fresh >= before)
        fresh = fresh[in_time]
        order = self._argsort(fresh)
        times, positions = merged(*self._held, fresh[order], in_time[order] + start)
        count = int(np.searchsorted(times, watermark, side="right"))
        self._held = (times[count:], positions[count:])
        return times[:count], positions[:count]


@numba.njit(cache=True)
def merged(times: Times, positions: Positions, more: Times, their: Positions) -> Sorted:
    rows = len(times) + len(more)
    out, where = np.empty(rows, np.int64), np.empty(rows, np.int64)
    i = j = 0
    for k in range(rows):
        if j == len(more) or (i < len(times) and times[i] <= more[j]):
            out[k], where[k] = times[i], positions[i]
            i += 1
        else:
            out[k], where[k] = more[j], their[j]
            j += 1
    return out, where


class Heap:
    """A binary heap, compiled, of (time, position)."""

    def __init__(self) -> None:
        self._keys, self._rows = np.empty(1_024, np.int64), np.empty(1_024, np.int64)
        self._size = 0

    def __call__(self, fresh: Times, start: int, before: int, watermark: int) -> Sorted:
        room = self._size + len(fresh)
        if room > len(self._keys):
            more = np.empty(max(room, len(self._keys)), np.int64)
            self._keys = np.concatenate([self._keys, more])
            self._rows = np.concatenate([self._rows, more])
        out, where, self._size = _heap(
            fresh, start, before, watermark, (self._keys, self._rows), self._size
        )
        return out, where


@numba.njit(cache=True)
def _heap(
    fresh: Times, start: int, before: int, watermark: int, heap: Sorted, size: int
) -> tuple[Times, Positions, int]:
    keys, rows_of = heap
    for i in range(len(fresh)):
        if fresh[i] < before:
            continue
        at = size
        size += 1
        while at and keys[(at - 1) // 2] > fresh[i]:
            keys[at], rows_of[at] = keys[(at - 1) // 2], rows_of[(at - 1) // 2]
            at = (at - 1) // 2
        keys[at], rows_of[at] = fresh[i], start + i
    out, where = np.empty(size, np.int64), np.empty(size, np.int64)
    rows = 0
    while size and keys[0] <= watermark:
        out[rows], where[rows] = keys[0], rows_of[0]
        rows += 1
        size -= 1
        key, row = keys[size], rows_of[size]
        at = 0
        while 2 * at + 1 < size:
            child = 2 * at + 1
            if child + 1 < size and (
                keys[child + 1] < keys[child]
                or (keys[child + 1] == keys[child] and rows_of[child + 1] < rows_of[child])
            ):
                child += 1
            if key < keys[child] or (key == keys[child] and row < rows_of[child]):
                break
            keys[at], rows_of[at] = keys[child], rows_of[child]
            at = child
        keys[at], rows_of[at] = key, row
    return out[:rows], where[:rows], size


def by_event(*, speculative: bool, huffman: bool) -> Callable[[Stream], Iterator[Released]]:
    """Run the paper's algorithm event by event. Offline and without options it is Patience sort.

    It is one compiled call for the whole stream, and gathers payloads once, at the end.
    """

    def run(stream: Stream) -> Iterator[Released]:
        times = stream.times
        order, _, _ = impatience(times, stream.marks, stream.watermarks, speculative, huffman)
        yield times[order], order, *(column.take(order) for column in stream.payload)

    return run
