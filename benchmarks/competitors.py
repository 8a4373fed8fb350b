"""Other ways to sort a stream: what a user would reach for, and what the paper compared with.

Each takes all times and the watermarks among them, and returns times and positions in order of
release. *Buffers* are the paper's recipe (Section VI-B) to make any sort incremental: what comes
goes into an unsorted buffer; a watermark sorts it, merges it into a sorted one, and releases its
head. The merge is compiled, so that a buffer pays for its sort and not for Python's loops; a call
for each watermark is the recipe's price.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numba
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from latecomer.batch import Positions
from latecomer.kernels.impatience import impatience
from latecomer.time import FOREVER, NEVER, Times

Sorted = tuple[Times, Positions]
Argsort = Callable[[Times], Positions]

ARGSORTS: dict[str, Argsort] = {
    "numpy stable": lambda times: np.argsort(times, kind="stable"),
    "numpy default": np.argsort,
    "polars": lambda times: pl.Series(times).arg_sort().to_numpy(),
    "arrow": lambda times: pc.sort_indices(pa.array(times)).to_numpy(),
}


class StoppedError(Exception):
    """A competitor took too long; it is stopped after so many rows."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.rows = rows


@dataclass(frozen=True)
class Whole:
    """All rows at once, without watermarks."""

    argsort: Argsort

    def __call__(self, times: Times, *_: object) -> Sorted:
        order = self.argsort(times)
        return times[order], order


@dataclass(frozen=True)
class Buffers:
    """A sorted and an unsorted buffer."""

    argsort: Argsort

    def __call__(
        self, times: Times, marks: Positions, watermarks: Times, is_over: Callable[[], bool]
    ) -> Sorted:
        out = (np.empty(len(times), np.int64), np.empty(len(times), np.int64))
        held: Sorted = (np.empty(0, np.int64), np.empty(0, np.int64))
        start = rows = 0
        before = NEVER
        for number, (stop, watermark) in enumerate(_clock(times, marks, watermarks)):
            if number % 64 == 0 and is_over():
                raise StoppedError(start)
            fresh = times[start:stop]
            in_time = np.flatnonzero(fresh >= before)
            fresh = fresh[in_time]
            order = self.argsort(fresh)
            held = merged(*held, fresh[order], in_time[order] + start)
            count = int(np.searchsorted(held[0], watermark, side="right"))
            for into, values in zip(out, held, strict=True):
                into[rows : rows + count] = values[:count]
            held = (held[0][count:], held[1][count:])
            rows += count
            start, before = stop, watermark
        return out[0][:rows], out[1][:rows]


def _clock(times: Times, marks: Positions, watermarks: Times) -> Iterator[tuple[int, int]]:
    yield from zip(marks.tolist(), watermarks.tolist(), strict=True)
    yield len(times), FOREVER


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


def heap(times: Times, marks: Positions, watermarks: Times, _is_over: Callable[[], bool]) -> Sorted:
    """A binary heap, compiled, of (time, position)."""
    return _heap(times, np.append(marks, len(times)), np.append(watermarks, FOREVER))


@numba.njit(cache=True)
def _heap(times: Times, marks: Positions, watermarks: Times) -> Sorted:
    out, where = np.empty(len(times), np.int64), np.empty(len(times), np.int64)
    keys, rows_of = np.empty(len(times) + 1, np.int64), np.empty(len(times) + 1, np.int64)
    size = rows = mark = 0
    before = -(2**63)
    for i in range(len(times) + 1):
        while mark < len(marks) and marks[mark] == i:
            before = watermarks[mark]
            mark += 1
            while size and keys[0] <= before:
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
        if i == len(times) or times[i] < before:
            continue
        at = size
        size += 1
        while at and keys[(at - 1) // 2] > times[i]:
            keys[at], rows_of[at] = keys[(at - 1) // 2], rows_of[(at - 1) // 2]
            at = (at - 1) // 2
        keys[at], rows_of[at] = times[i], i
    return out[:rows], where[:rows]


def by_event(*, speculative: bool, huffman: bool) -> Callable[..., Sorted]:
    """The paper's algorithm, event by event: with neither option, and offline, Patience sort."""

    def run(
        times: Times, marks: Positions, watermarks: Times, _is_over: Callable[[], bool]
    ) -> Sorted:
        order, _, _ = impatience(times, marks, watermarks, speculative, huffman)
        return times[order], order

    return run
