"""The runs of a sort: ascending rows, in memory or in chunks.

    run   part ─ part ─ part │ part ─ part
          in chunks          │ in memory, until they are written

Rows are cut and joined here; `operators.sort` decides which rows go to which run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from latecomer.batch import Batch, Positions, gather
from latecomer.time import Times

CHUNK_ROWS = 16_384
"""Rows in a full chunk. A watermark reads at most one partly due chunk per run."""

CHUNK_BYTES = 16 << 20
"""Bytes in a full chunk. If rows are large, a chunk has fewer of them."""

FEW = 64
"""Rows kept of a piece are copied if they are fewer than one in this many; the rest is freed."""

UNWRITTEN = -1


class Piece(NamedTuple):
    """Rows in memory."""

    rows: Batch
    times: Times
    size: int
    """Approximate number of bytes."""

    def cut(self, start: int, stop: int) -> Piece:
        """Return the rows from `start` to `stop`, without copying them."""
        if start == 0 and stop == len(self.times):
            return self
        share = self.size * (stop - start) // max(1, len(self.times))
        return Piece(self.rows.slice(start, stop - start), self.times[start:stop], share)

    def taken(self, order: Positions) -> Piece:
        """Return the rows at these positions."""
        share = self.size * len(order) // max(1, len(self.times))
        return Piece(gather(self.rows, order), self.times[order], share)

    def kept(self, start: int, stop: int) -> Piece:
        """Return the rows from `start` to `stop`, copied if they are few.

        Rows that are not copied keep all other rows of the piece in memory.
        """
        if FEW * (stop - start) < len(self.times):
            return self.taken(np.arange(start, stop))
        return self.cut(start, stop)

    def shares(self, most_rows: int) -> Iterator[Piece]:
        """Cut the rows into shares of at most `most_rows` rows, each of which fits a chunk."""
        rows = len(self.times)
        if 0 < rows <= most_rows and self.size <= CHUNK_BYTES:
            yield self
            return
        step = min(most_rows, max(1, CHUNK_BYTES * rows // max(1, self.size)))
        for start in range(0, rows, step):
            yield self.cut(start, min(start + step, rows))


@dataclass(slots=True)
class Part:
    """An entry of the index: ascending rows, in a chunk or in memory."""

    number: int
    """Number of the chunk, or `UNWRITTEN`."""
    first: int
    last: int
    rows: int
    size: int
    """Approximate number of bytes."""
    released: int = 0
    """Number of rows at the start that have been released already."""
    piece: Piece | None = None
    """The rows, if they are not written, or have been read since the last `save`."""

    @classmethod
    def of(cls, piece: Piece, number: int = UNWRITTEN) -> Part:
        """Return the entry of rows that are in the chunk of this number, or in memory."""
        first, last = int(piece.times[0]), int(piece.times[-1])
        kept = piece if number == UNWRITTEN else None
        return cls(number, first, last, len(piece.times), piece.size, piece=kept)

    @property
    def entry(self) -> list[int]:
        """The fields that are saved."""
        return [self.number, self.first, self.last, self.rows, self.size, self.released]

    @property
    def is_written(self) -> bool:
        """Whether the rows are in a chunk."""
        return self.number != UNWRITTEN

    @property
    def is_small(self) -> bool:
        """Whether a chunk has room for as many rows again."""
        return 2 * self.rows <= CHUNK_ROWS and 2 * self.size <= CHUNK_BYTES


@dataclass(slots=True)
class Run:
    """Parts in ascending order, first those in chunks; never empty."""

    parts: list[Part] = field(default_factory=list)

    @property
    def tail(self) -> int:
        """Last time in the run."""
        return self.parts[-1].last

    @property
    def rows(self) -> int:
        """Number of held rows."""
        return sum(part.rows - part.released for part in self.parts)

    def append(self, piece: Piece) -> None:
        """Append rows, as parts that each fit a chunk in bytes."""
        self.parts += [Part.of(share) for share in piece.shares(len(piece.times))]
