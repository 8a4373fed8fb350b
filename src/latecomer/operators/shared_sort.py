"""One sort for several watermarks: each row is sorted and held once, and comes out once for each.

The watermarks fall from level to level, and each level releases the rows that its own watermark has
reached. The first level is a sort. The rows that it has released are *kept* in order until the last
level has released them too:

    time ──▶          watermark 2        watermark 1        watermark 0
                           │ kept               │ kept               │ held by level 0
    a row ◀── level 2 releases it ◀── level 1 releases it ◀── level 0 releases it ◀── it arrives

All rows between the old and the new watermark of a level were in time for it. So the other levels
neither sort nor copy rows: they release a slice of the kept rows.

**Stragglers** are rows behind the first watermark that are in time for a later level. The first
level sorts them with all other rows when it advances next. If the kept rows after the first
straggler are few, they are sorted in the same pass. Otherwise stragglers are then merged into them,
and only those between the first straggler and the last are copied. If that would be many more
rows than the first level has just released, the earliest stragglers are not merged yet: the level
that they are in time for holds them, and the kept rows up to them, in a sort of its own.

Paper: Chandramouli, Goldstein, Li: Impatience Is a Virtue (ICDE 2018), Section V-A, the basic
    framework, with watermarks that move by themselves instead of fixed waits.
Holds: a level gives what a `Sort` with its watermarks gives alone, rows of equal time in order of
    arrival. In a micro-batch all levels advance before the last one takes in the rows. Kept rows
    are later than all rows that a level behind the first holds itself (`LevelSorter.tail`).
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask, concat
from latecomer.operators.base import Chunks, Emission
from latecomer.operators.runs import Run
from latecomer.operators.sort import RELEASE_BYTES, Sorter
from latecomer.time import FOREVER, NEVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from latecomer.operators.runs import Piece
    from latecomer.operators.sort import Sort
    from latecomer.time import Times

FEW = 16_384
"""Kept rows that stragglers may always be merged with, however few rows were released."""
FEW_TAKEN = 4_096
"""Kept rows that are sorted together with stragglers, rather than merged with them afterwards."""


class Kept:
    """Rows that the first level has released and the last has not, in ascending pieces."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []

    def cut(self, time: int) -> int:
        """Cut the piece that `time` is in, and return the number of pieces up to `time`."""
        at = bisect_right(self.pieces, time, key=_last)
        if at < len(self.pieces) and (piece := self.pieces[at]).times[0] <= time:
            count = int(piece.times.searchsorted(time, side="right"))
            self.pieces[at : at + 1] = piece.cut(0, count), piece.cut(count, len(piece.times))
            at += 1
        return at

    def last_but(self, rows: int) -> int:
        """Return the time of the last row that is not among the last `rows`, or `NEVER`."""
        for piece in reversed(self.pieces):
            if len(piece.times) > rows:
                return int(piece.times[len(piece.times) - rows - 1])
            rows -= len(piece.times)
        return NEVER

    def first_after(self, time: int) -> int | None:
        """Return the smallest time after `time`, if any."""
        at = bisect_right(self.pieces, time, key=_last)
        if at == len(self.pieces):
            return None
        times = self.pieces[at].times
        return int(times[times.searchsorted(time, side="right")])


class LevelSorter(Sorter):
    """A sort at one of several levels. The last one takes in the rows for all levels."""

    def __init__(
        self, spec: Sort, schema: pa.Schema, chunks: Chunks, saved: bytes | None, kept: Kept
    ) -> None:
        super().__init__(spec, schema, chunks, saved)
        self._kept = kept
        self._levels: Sequence[LevelSorter] = ()
        self._at = 0
        self.own = self._held
        """Number of rows that were held at this level itself when it was started."""
        self._rows = 0
        self.tail = self._runs[0].tail if self._runs else NEVER
        """Behind the first level: no row held at this level itself is later."""

    def among(self, levels: Sequence[LevelSorter]) -> None:
        """Connect this level with the others."""
        self._levels, self._at = levels, levels.index(self)
        self._rows = sum(level.own for level in levels[: self._at + 1])

    @property
    def held(self) -> int:
        """Number of rows held for this level: here, at the levels before, and between them."""
        return self._rows

    @property
    def watermark(self) -> int:
        """Watermark of this level."""
        return self._watermark

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Return rows at the watermark; the last level also takes in the rows for all levels.

        Only the last level returns late rows.
        """
        times = self._by.micros(rows)
        first, is_last = int(times.min(initial=FOREVER)), self is self._levels[-1]
        if is_last:
            self._take_in(rows, times, first)
        if first > self._watermark:
            return Emission(self._nothing, self._nothing)
        ready = self._chosen(rows, times == self._watermark)
        late = self._chosen(rows, times < self._watermark) if is_last else self._nothing
        return Emission(ready, late)

    def advance(self, watermark: int) -> Emission:
        """Release, in order, the rows that this level's watermark has reached."""
        before, self._watermark = self._watermark, max(self._watermark, watermark)
        pieces = self._kept.pieces
        due = super().due()
        if due is not None and due <= self._watermark:
            if self._at:
                released = self._released()
            elif others := self._taken_from(due, before):
                released = self._released(others)
            else:
                released = self._without_stragglers(self._released(), before)
            self._merge(released)
        start, stop = self._kept.cut(before), self._kept.cut(self._watermark)
        ready = concat([piece.rows for piece in pieces[start:stop]], self._schema)
        self._rows -= ready.num_rows
        if self is self._levels[-1]:
            del pieces[:stop]
        return Emission(ready, self._nothing)

    def stops(self, watermark: int) -> list[int]:
        """Split the way as a sort does, and at the ends of kept pieces if these are large."""
        stops, pieces = super().stops(watermark), self._kept.pieces
        if sum(piece.size for piece in pieces) <= RELEASE_BYTES:
            return stops
        start, stop = (bisect_right(pieces, at, key=_last) for at in (self._watermark, watermark))
        if sum(piece.size for piece in pieces[start:stop]) > RELEASE_BYTES:
            stops = sorted({*stops, *map(_last, pieces[start:stop])})
        return stops

    def due(self) -> int | None:
        """Return the smallest time that is held for this level, if any."""
        self._levels[0].spread()
        found = [level.first() for level in self._levels[: self._at + 1]]
        found.append(self._kept.first_after(self._watermark))
        return min((due for due in found if due is not None), default=None)

    def save(self) -> bytes:
        self._levels[0].spread()
        if self._at:
            self._settle(self._levels[self._at - 1].watermark)
        return super().save()

    def first(self) -> int | None:
        """Return the smallest time that is held at this level itself, if any."""
        return super().due()

    def expect(self, times: Times, first: int) -> None:
        """Count the rows that are on time for this level."""
        is_all = first > self._watermark
        self._rows += len(times) if is_all else int(np.count_nonzero(times > self._watermark))

    def take(self, rows: Batch, times: Times, first: int) -> None:
        """Hold rows at this level itself."""
        self._hold(rows, times, first)

    def spread(self) -> None:
        """At the first level: pass the stragglers on, without waiting for the next watermark."""
        due = super().due()
        if due is not None and due <= self._watermark:
            self._without_stragglers(self._released(), self._watermark)

    def await_stragglers(self, rows: Piece, upto: int) -> None:
        """Behind the first level: hold those of the rows that are in time for this level.

        Args:
            rows: Rows in order, none of them after `upto`.
            upto: Kept rows of this level up to this time are from now on held here.
        """
        above = self._levels[self._at - 1].watermark
        start, stop = rows.times.searchsorted([self._watermark, above], side="right").tolist()
        if start < stop:
            self._settle(min(upto, above))
            own = rows.cut(start, stop)
            self.take(own.rows, own.times, int(own.times[0]))

    def _chosen(self, rows: Batch, which: Mask) -> Batch:
        return rows.filter(pa.array(which)) if which.any() else self._nothing

    def _take_in(self, rows: Batch, times: Times, first: int) -> None:
        """Hold rows that are on time, all of them at the first level."""
        for level in self._levels:
            level.expect(times, first)
        if first <= self._watermark:
            after = times > self._watermark
            rows, times = self._chosen(rows, after), times[after]
            first = int(times.min(initial=FOREVER))
        self._levels[0].take(rows, times, first)

    def _without_stragglers(self, released: Piece, before: int) -> Piece:
        """Pass on the rows up to `before`, and return the others."""
        count = int(released.times.searchsorted(before, side="right"))
        if not count:
            return released
        stragglers, rest = released.cut(0, count), released.cut(count, len(released.times))
        # A merge copies no more rows than the sort has just copied, unless they are few.
        upto = self._kept.last_but(max(len(released.times), FEW))
        upto = max(upto, *(level.tail for level in self._levels[1:]), NEVER)
        far = int(stragglers.times.searchsorted(upto, side="right"))
        self._merge(stragglers.cut(far, count))
        if far:
            for level in self._levels[1:]:
                level.await_stragglers(stragglers.cut(0, far), upto)
        return rest

    def _taken_from(self, first: int, before: int) -> list[Piece]:
        """At the first level: remove and return the kept rows that stragglers belong among.

        They are sorted together with the rows that are due, which saves a merge. Rows of text are
        left to the merge: their sizes are estimates that would come out differently in saved state.

        Args:
            first: The first time that is held at this level.
            before: The watermark so far. A row up to it is a straggler.

        Returns:
            The kept rows from the first straggler on; none if there is no straggler, if they are
            many, or if a later level holds rows from then on itself.
        """
        if first > before or not self._row_bytes:
            return []
        if any(level.tail >= first for level in self._levels[1:]):
            return []
        pieces, start = self._kept.pieces, self._kept.cut(first - 1)
        taken = pieces[start:]
        if sum(len(piece.times) for piece in taken) > FEW_TAKEN:
            return []
        del pieces[start:]
        return taken

    def _merge(self, rows: Piece) -> None:
        """Put rows, which are in order, among the kept ones, behind those of equal time."""
        if not len(rows.times):
            return
        start, stop = self._kept.cut(int(rows.times[0])), self._kept.cut(int(rows.times[-1]))
        pieces = self._kept.pieces
        pieces[start:stop] = [self._merged([*pieces[start:stop], rows]) if start < stop else rows]

    def _settle(self, upto: int) -> None:
        """Hold kept rows of this level up to a time at the level itself, before all others."""
        start, stop = self._kept.cut(self._watermark), self._kept.cut(upto)
        for piece in self._kept.pieces[start:stop]:
            self._runs = self._runs or [Run()]
            self._runs[0].append(piece)
            self._held += len(piece.times)
        del self._kept.pieces[start:stop]
        self.tail = max(self.tail, upto)


def start_levels(
    spec: Sort, schema: pa.Schema, chunks: Sequence[Chunks], saved: Sequence[bytes | None]
) -> list[LevelSorter]:
    """Start a sort for several watermarks, each at most as high as the one before."""
    kept = Kept()
    levels = [
        LevelSorter(spec, schema, own, part, kept) for own, part in zip(chunks, saved, strict=True)
    ]
    for level in levels:
        level.among(levels)
    return levels


def _last(piece: Piece) -> int:
    return int(piece.times[-1])
