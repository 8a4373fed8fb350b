"""One sort for several watermarks: each row is held once, and comes out once for each of them.

The watermarks fall from level to level, and each level releases the rows that its own watermark has
reached. A level holds only the rows between its watermark and that of the level before:

    time ──▶          watermark 2        watermark 1        watermark 0
    held by                    level 2            level 1            level 0
    a row ◀── level 2 releases it ◀── level 1 releases it ◀── level 0 releases it ◀── it arrives

The rows that a level releases are in order, and later than all rows that the next level holds. So
they are not sorted again: they pass to the next level in one piece, and it releases its own held
rows first, then those of the piece that its watermark has reached. A level sorts only rows that are
in time for it and late for the level before.

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
    """A sort at one of several levels. The last one takes in the rows for all levels."""

    def __init__(self, spec: Sort, schema: pa.Schema, chunks: Chunks, saved: bytes | None) -> None:
        super().__init__(spec, schema, chunks, saved)
        self._levels: Sequence[LevelSorter] = ()
        self._at = 0
        self.passed: list[Piece] = []
        """Rows that the level before has released and this one has not; all other held rows are
        earlier."""

    def among(self, levels: Sequence[LevelSorter]) -> None:
        """Connect this level with the others."""
        self._levels, self._at = levels, levels.index(self)

    @property
    def held(self) -> int:
        """Number of rows held for this level: here, and at the levels before."""
        return sum(level.own for level in self._levels[: self._at + 1])

    @property
    def watermark(self) -> int:
        """Watermark of this level."""
        return self._watermark

    @property
    def own(self) -> int:
        """Number of rows held at this level itself."""
        return super().held + sum(len(piece.times) for piece in self.passed)

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Return rows at the watermark; the last level also distributes the rows to all levels.

        Only the last level returns late rows.
        """
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
        """Release, in order, the rows that this level's watermark has reached."""
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
        """Split the way as a sort does, and at the ends of passed pieces if these are large."""
        stops = {*super().stops(watermark)}
        if sum(piece.size for piece in self.passed) > RELEASE_BYTES:
            stops |= {int(piece.times[-1]) for piece in self.passed}
        return sorted(stop for stop in stops if stop <= watermark)

    def due(self) -> int | None:
        """Return the smallest time that is held for this level, if any."""
        found = (level.first() for level in reversed(self._levels[: self._at + 1]))
        return next((due for due in found if due is not None), None)

    def save(self) -> bytes:
        self.settle()
        return super().save()

    def first(self) -> int | None:
        """Return the smallest time that is held at this level itself, if any."""
        due = super().due()
        return int(self.passed[0].times[0]) if due is None and self.passed else due

    def _chosen(self, rows: Batch, which: Mask) -> Batch:
        return rows.filter(pa.array(which)) if which.any() else self._nothing

    def _share(self, rows: Batch, times: Times, first: int) -> None:
        """Give each level the rows between its watermark and that of the level before."""
        above = FOREVER
        for level in self._levels:
            if first > above:
                # The levels before have taken all rows.
                break
            if first > level.watermark and above == FOREVER:
                level.take(rows, times)
            else:
                own = (times > level.watermark) & (times <= above)
                level.take(self._chosen(rows, own), times[own])
            above = level.watermark

    def take(self, rows: Batch, times: Times) -> None:
        """Hold rows that are on time at this level, and were late at the one before."""
        if not len(times):
            return
        self.settle()
        self._hold(rows, times, int(times.min(initial=FOREVER)))

    def settle(self) -> None:
        """Append passed rows to the first run, before other rows come that belong among them."""
        for piece in self.passed:
            self._runs = self._runs or [Run()]
            self._runs[0].append(piece)
            self._held += len(piece.times)
        self.passed = []


def start_levels(
    spec: Sort, schema: pa.Schema, chunks: Sequence[Chunks], saved: Sequence[bytes | None]
) -> list[LevelSorter]:
    """Start a sort for several watermarks, each at most as high as the one before."""
    levels = [LevelSorter(spec, schema, own, part) for own, part in zip(chunks, saved, strict=True)]
    for level in levels:
        level.among(levels)
    return levels
