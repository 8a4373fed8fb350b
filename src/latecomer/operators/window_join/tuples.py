"""Tuples on their way to the join: of which stream, of what time, how late.

Payload stays behind. A tuple carries the number of its row, and whoever owns the rows gathers them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from latecomer.arrays import Arrays
    from latecomer.batch import Positions
    from latecomer.time import Times


@dataclass(frozen=True, slots=True, eq=False)
class Tuples:
    """Arrays of one length, in the order in which the tuples come."""

    streams: Positions
    """Of which stream each is, from 0."""
    times: Times
    rows: Positions
    """The number of its row in that stream."""
    delays: Times
    """How far behind the newest of its stream each came."""

    def __len__(self) -> int:
        return len(self.times)

    @classmethod
    def none(cls) -> Tuples:
        """Make no tuples."""
        empty = np.empty(0, np.int64)
        return cls(empty, empty, empty, empty)

    def save(self) -> Arrays:
        """Write them down."""
        return {
            "streams": self.streams,
            "times": self.times,
            "rows": self.rows,
            "delays": self.delays,
        }

    @classmethod
    def saved(cls, arrays: Arrays) -> Tuples:
        """Read what `save` wrote."""
        return cls(arrays["streams"], arrays["times"], arrays["rows"], arrays["delays"])

    def take(self, positions: npt.NDArray[np.integer]) -> Tuples:
        """Gather some of them, in that order."""
        return Tuples(
            self.streams[positions],
            self.times[positions],
            self.rows[positions],
            self.delays[positions],
        )

    def __add__(self, other: Tuples) -> Tuples:
        """Put others behind these."""
        if not len(self) or not len(other):
            return other if len(other) else self
        return Tuples(
            np.concatenate([self.streams, other.streams]),
            np.concatenate([self.times, other.times]),
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.delays, other.delays]),
        )
