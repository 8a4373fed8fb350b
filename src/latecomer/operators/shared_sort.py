"""One sort for several watermarks: each row is held once, and comes out once for each of them.

The watermarks fall from level to level, and level i releases what its own has reached. A level
holds only what is between its watermark and that of the level before:

    time ──▶          watermark 2        watermark 1        watermark 0
    held by                    level 2            level 1            level 0
    a row ◀── level 2 releases it ◀── level 1 releases it ◀── level 0 releases it ◀── it arrives

What a level releases is in order, and later than all that the next level holds. So it is not sorted
again: it goes on in one piece, and as much of it as the next watermark has reached comes out behind
what was held. Only rows that are late for one level, and in time for the next, are sorted there.

Paper: Chandramouli, Goldstein, Li: Impatience Is a Virtue (ICDE 2018), Section V-A, the basic
    framework, with watermarks that move by themselves instead of fixed waits.
Holds: a level gives what a `Sort` with its watermarks gives alone, rows of equal time in order of
    arrival. In a micro-batch all levels advance before the last one takes in the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask, concat
from latecomer.operators.base import Chunks, Emission
from latecomer.operators.runs import Run
from latecomer.operators.sort import RELEASE_BYTES, Sorter
from latecomer.time import FOREVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from latecomer.operators.runs import Piece
    from latecomer.operators.sort import Sort
    from latecomer.time import Times


class LevelSorter(Sorter):
    """A sort at one of several levels. The last one takes in the rows of all."""

    def __init__(self, spec: Sort, schema: pa.Schema, chunks: Chunks, saved: bytes | None) -> None:
        super().__init__(spec, schema, chunks, saved)
        self._levels: Sequence[LevelSorter] = ()
        self._at = 0
        self.passed: list[Piece] = []
        """What the level before has released and this one has not; later than all else here."""

    def among(self, levels: Sequence[LevelSorter]) -> None:
        """Take note of all levels."""
        self._levels, self._at = levels, levels.index(self)

    @property
    def held(self) -> int:
        """How many rows are held for this level: here, and at the levels before."""
        return sum(level.own for level in self._levels[: self._at + 1])

    @property
    def watermark(self) -> int:
        """How far this level has come."""
        return self._watermark

    @property
    def own(self) -> int:
        """Return the number of rows that are held here."""
        return super().held + sum(len(piece.times) for piece in self.passed)

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Hand back what is at the watermark; the last level also holds what is on time."""
        times = self._by.micros(rows)
        first, is_last = int(times.min(initial=FOREVER)), self is self._levels[-1]
        if is_last:
            self._share(rows, times, first)
        if first > self._watermark:
            return Emission(self._nothing, self._nothing)
        ready = self._chosen(rows, times == self._watermark)
        late = self._chosen(rows, times < self._watermark) if is_last else self._nothing
        return Emission(ready, late)

    def advance(self, watermark: int) -> Emission:
        """Release, in order, what this level's watermark has reached."""
        self._watermark = watermark = max(self._watermark, watermark)
        due = super().due()
        pieces = [] if due is None or due > watermark else [self._released()]
        while self.passed and self.passed[0].times[0] <= watermark:
            piece = self.passed.pop(0)
            count = int(np.searchsorted(piece.times, watermark, side="right"))
            pieces.append(piece.cut(0, count))
            if count < len(piece.times):
                self.passed.insert(0, piece.kept(count, len(piece.times)))
        if self is not self._levels[-1]:
            self._levels[self._at + 1].passed += pieces
        return Emission(concat([piece.rows for piece in pieces], self._schema), self._nothing)

    def stops(self, watermark: int) -> list[int]:
        """Split the way as a sort does, and where each piece ends if they are large."""
        stops = {*super().stops(watermark)}
        if sum(piece.size for piece in self.passed) > RELEASE_BYTES:
            stops |= {int(piece.times[-1]) for piece in self.passed}
        return sorted(stop for stop in stops if stop <= watermark)

    def due(self) -> int | None:
        """The smallest time that is held for this level."""
        found = (level.first() for level in reversed(self._levels[: self._at + 1]))
        return next((due for due in found if due is not None), None)

    def save(self) -> bytes:
        self.settle()
        return super().save()

    def first(self) -> int | None:
        """Return the smallest time that is held here."""
        due = super().due()
        return int(self.passed[0].times[0]) if due is None and self.passed else due

    def _chosen(self, rows: Batch, which: Mask) -> Batch:
        return rows.filter(pa.array(which)) if which.any() else self._nothing

    def _share(self, rows: Batch, times: Times, first: int) -> None:
        """Let each level hold the rows that are between its watermark and the one before."""
        above = FOREVER
        for level in self._levels:
            level.settle()
            if first > above:
                # The levels before hold all rows.
                continue
            if first > level.watermark and above == FOREVER:
                level.take(rows, times)
            else:
                own = (times > level.watermark) & (times <= above)
                level.take(self._chosen(rows, own), times[own])
            above = level.watermark

    def take(self, rows: Batch, times: Times) -> None:
        """Hold rows that are on time at this level, and were late at the one before."""
        self._hold(rows, times, int(times.min(initial=FOREVER)))

    def settle(self) -> None:
        """Append what was passed on to the longest run, before other rows come."""
        for piece in self.passed:
            self._runs = self._runs or [Run()]
            self._runs[0].append(piece)
            self._held += len(piece.times)
        self.passed = []


def start_levels(
    spec: Sort, schema: pa.Schema, chunks: Sequence[Chunks], saved: Sequence[bytes | None]
) -> list[LevelSorter]:
    """Start a sort for several watermarks, of which each is at most as high as the one before."""
    levels = [LevelSorter(spec, schema, own, part) for own, part in zip(chunks, saved, strict=True)]
    for level in levels:
        level.among(levels)
    return levels
