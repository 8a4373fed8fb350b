"""All that comes before the join: a K-slack buffer for each stream, and the Synchronizer.

Every stream has the same wait (Same-K policy).

Paper: Ji et al. (ICDE 2016), Section III, Fig. 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from latecomer.batch import Batch
from latecomer.joins.k_slack import KSlack
from latecomer.joins.synchronizer import Synchronizer
from latecomer.joins.tuples import Tuples

if TYPE_CHECKING:
    import numpy.typing as npt

    from latecomer.batch import Positions
    from latecomer.time import Times

Rows = Callable[[Tuples], Sequence[Batch]]
"""Gathers, for each stream, the rows of its tuples."""


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals:
    """Tuples of all streams, in order of arrival."""

    streams: Positions
    times: Times
    rows: Positions
    """The number of each tuple's row in its stream."""

    def __len__(self) -> int:
        return len(self.times)

    def take(self, positions: npt.NDArray[np.integer] | slice) -> Arrivals:
        """Gather some of them."""
        return Arrivals(self.streams[positions], self.times[positions], self.rows[positions])


class Reordering:
    """Buffers that bring tuples into order of time, as far as a wait allows."""

    def __init__(self, streams: int) -> None:
        """Begin with empty buffers, for so many streams."""
        self._buffers = [KSlack(stream) for stream in range(streams)]
        self._synchronizer = Synchronizer(streams)

    @property
    def held(self) -> int:
        """How many tuples are held."""
        held = sum(len(buffer.held) for buffer in self._buffers)
        return held + len(self._synchronizer.held)

    def push(self, arrivals: Arrivals, wait: int) -> Tuples:
        """Take in tuples as they come; hand back what comes out, for the join."""
        out, triggers = Tuples.none(), [np.empty(0, np.int64)]
        for stream, buffer in enumerate(self._buffers):
            at = np.flatnonzero(arrivals.streams == stream)
            some, by = buffer.push(arrivals.times[at], arrivals.rows[at], wait)
            out += some
            triggers.append(at[by])
        # By the arrival that let them out; stable, so that those let out together keep their order.
        order = np.argsort(np.concatenate(triggers), kind="stable")
        return self._synchronizer.push(out.take(order))

    def finish(self) -> Tuples:
        """Hand back, in order of time, all that is still held: nothing will follow."""
        held = Tuples.none()
        for stream, buffer in enumerate(self._buffers):
            held += buffer.held
            self._buffers[stream] = KSlack(stream)
        # What the synchronizer holds has come out of the other buffers before what these hold.
        held = self._synchronizer.held + held
        self._synchronizer = Synchronizer(len(self._buffers))
        return held.take(np.argsort(held.times, kind="stable"))
