"""All that comes before the join: a K-slack buffer for each stream, and the Synchronizer.

Every stream has the same wait (Same-K policy).

Paper: Ji et al. (ICDE 2016), Section III, Fig. 2.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from latecomer.batch import Batch, Positions
from latecomer.operators.window_join.k_slack import KSlack
from latecomer.operators.window_join.saving import Savable
from latecomer.operators.window_join.synchronizer import Synchronizer
from latecomer.operators.window_join.tuples import Aligned, Tuples
from latecomer.time import NEVER, Times

Rows = Callable[[Tuples], Sequence[Batch]]
"""Gathers, for each stream, the rows of its tuples."""


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals(Aligned):
    """Tuples of all streams, in order of arrival."""

    streams: Positions
    times: Times
    rows: Positions
    """The number of each tuple's row in its stream."""


class Reordering(Savable):
    """Buffers that bring tuples into order of time, as far as a wait allows."""

    saves = ("_buffers", "_synchronizer")

    def __init__(self, streams: int) -> None:
        self._buffers = [KSlack(stream) for stream in range(streams)]
        self._synchronizer = Synchronizer(streams)

    @property
    def held(self) -> Tuples:
        return sum((buffer.held for buffer in self._buffers), self._synchronizer.held)

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

    def reach(self, newest: int, wait: int) -> Tuples:
        """Take note that all streams have come as far, elsewhere; hand back what comes out."""
        out = sum((buffer.reach(newest, wait) for buffer in self._buffers), Tuples.none())
        return self._synchronizer.reach(max(newest, NEVER + wait) - wait, out)

    def finish(self) -> Tuples:
        """Hand back, in order of time, all that is still held: nothing will follow."""
        # What the synchronizer holds has come out of the other buffers before what these hold.
        held = self.held
        self._buffers = [KSlack(stream) for stream in range(len(self._buffers))]
        self._synchronizer = Synchronizer(len(self._buffers))
        return held.take(np.argsort(held.times, kind="stable"))
