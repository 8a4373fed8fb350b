"""Bring the sorted streams together in one order of time.

What comes first must wait until every other stream has come as far. So a tuple is held until the
newest of the *slowest* stream reaches it:

    stream 0    5   9   7           6
    stream 1               1   6       8
    slowest     –   –   –  1   6    6  8
    out                    1  5 6   6  7 8

A tuple at or before the clock comes out at once, as it comes: it is out of order, and the join
will know.

Paper: Ji et al. (ICDE 2016), Algorithm 1.
Symbols: T_sync → `clock`, SyncBuf → `held`.
Departures: the paper takes tuples off the buffer as long as it has some of every stream. The last
    that it takes has the newest time of the slowest stream, for which all others wait (proof of
    Theorem 1). Said so, it needs no loop. The clock starts before every time, not at 0.
Holds: what comes out is in order of time but for tuples that came in at or before the clock.
"""

import numpy as np

from latecomer.kernels.due_order import due_order
from latecomer.operators.window_join.saving import Savable
from latecomer.operators.window_join.tuples import Tuples
from latecomer.time import NEVER


class Synchronizer(Savable):
    """One buffer for all streams."""

    saves = ("_newest", "held")

    def __init__(self, streams: int) -> None:
        self._newest = np.full(streams, NEVER)
        self.held = Tuples.none()
        """What is in the buffer, in order of arrival."""

    @property
    def clock(self) -> int:
        """How far the slowest stream has come; `NEVER` while one of them has sent nothing."""
        return int(self._newest.min())

    def push(self, tuples: Tuples) -> Tuples:
        """Take in tuples of all streams as they come; hand back what comes out."""
        if not len(tuples):
            return tuples
        clock = np.full(len(tuples), np.iinfo(np.int64).max)
        for stream, newest in enumerate(self._newest):
            times = np.where(tuples.streams == stream, tuples.times, newest)
            reached = np.maximum(np.maximum.accumulate(times), newest)
            self._newest[stream] = reached[-1]
            np.minimum(clock, reached, out=clock)
        everything = self.held + tuples
        # While a stream has sent nothing, the clock stands before every time.
        order, _, held = due_order(everything.times, len(self.held), clock)
        self.held = everything.take(held)
        return everything.take(order)

    def reach(self, watermark: int, tuples: Tuples) -> Tuples:
        """Take note that no stream will send anything before a time, unless it is out of order.

        Args:
            watermark: That time.
            tuples: What comes in with it, in any order.
        """
        np.maximum(self._newest, watermark, out=self._newest)
        everything = self.held + tuples
        clock = np.array([self.clock])
        order, _, held = due_order(everything.times, len(everything), clock)
        self.held = everything.take(held)
        return everything.take(order)
