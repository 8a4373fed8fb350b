"""K-slack: sort one stream by waiting for stragglers.

A tuple is held until the newest of its stream is a wait ahead of it, and comes out then, in order
of time. One that is farther behind than the wait finds later ones gone already. It comes out at
once, out of order, and it is for others to say what that costs:

    time       1   4   3   6   2   9         wait 2
    newest     1   4   4   6   6   9
    out            1       3 4  2  6         2 was 4 behind, and comes out of order

All streams of a join have the same wait. That they need not have different ones is Theorem 1
(Same-K policy): whatever the `Synchronizer` holds back for the slowest stream sorts the others too.

Paper: Ji, Sun, Nica, Jerzak, Hackenbroich, Fetzer: Quality-Driven Disorder Handling for m-way
    Sliding Window Stream Joins (ICDE 2016), Section III-A.
Symbols: K → `wait`, iT → `newest`, delay(e) → `Tuples.delays`.
Departures: "each time iT is updated by a newly arrived tuple" is read as: at every arrival. Late
    tuples then come out as they came, and Theorem 1 holds for three streams and more, which it
    does not if they wait until `newest` grows. A new wait counts from the next arrival on.
Holds: between calls, no tuple is held that is a wait or more behind the newest, unless the wait has
    been shortened since.
"""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.due_order import due_order
from latecomer.operators.window_join.saving import Savable
from latecomer.operators.window_join.tuples import Tuples
from latecomer.time import NEVER, Times, minus


class KSlack(Savable):
    """The buffer of one stream."""

    saves = ("newest", "held")

    def __init__(self, stream: int) -> None:
        """Begin with an empty buffer.

        Args:
            stream: Which stream this is, from 0.
        """
        self.newest = NEVER
        self._stream = stream
        self.held = Tuples.none()
        """What is in the buffer, in order of arrival."""

    def push(self, times: Times, rows: Positions, wait: int) -> tuple[Tuples, Positions]:
        """Take in tuples in order of arrival.

        Args:
            times: When they happened.
            rows: The numbers of their rows.
            wait: For how long to hold them, and those held before.

        Returns:
            The tuples that come out, in that order, and at which of these arrivals each does.
        """
        if not len(times):
            return Tuples.none(), np.empty(0, np.int64)
        newest = np.maximum(np.maximum.accumulate(times), self.newest)
        self.newest = int(newest[-1])
        streams = np.full(len(times), self._stream)
        everything = self.held + Tuples(streams, times, rows, minus(newest, times))
        clock = np.maximum(newest, NEVER + wait) - wait
        order, at, held = due_order(everything.times, len(self.held), clock)
        self.held = everything.take(held)
        return everything.take(order), at

    def reach(self, newest: int, wait: int) -> Tuples:
        """Take note that the stream has come as far elsewhere; hand back what comes out."""
        self.newest = max(self.newest, newest)
        clock = np.array([max(self.newest, NEVER + wait) - wait])
        order, _, held = due_order(self.held.times, len(self.held), clock)
        out, self.held = self.held.take(order), self.held.take(held)
        return out
