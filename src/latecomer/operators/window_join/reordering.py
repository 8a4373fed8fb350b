"""The steps before the join: a K-slack buffer for each stream, and the Synchronizer.

**K-slack** sorts one stream by waiting for late tuples. A tuple is held until the newest of its
stream is a wait ahead of it, and is then released, in time order. A tuple that is farther behind
than the wait comes after later ones were released. It is released at once, out of order:

    time       1   4   3   6   2   9         wait 2
    newest     1   4   4   6   6   9
    out            1       3 4  2  6         2 was 4 behind, and comes out of order

**The Synchronizer** merges the sorted streams into one time order. A tuple is held until the newest
of the *slowest* stream reaches it:

    stream 0    5   9   7           6
    stream 1               1   6       8
    slowest     –   –   –  1   6    6  8
    out                    1  5 6   6  7 8

A tuple at or before that clock is released at once. If it is out of order, the join detects it.

Every stream has the same wait. Theorem 1 (Same-K policy) shows that they need no different ones:
the Synchronizer holds tuples back for the slowest stream, and that sorts the other streams too.

Paper: Ji, Sun, Nica, Jerzak, Hackenbroich, Fetzer: Quality-Driven Disorder Handling for m-way
    Sliding Window Stream Joins (ICDE 2016), Section III, Fig. 2, and Algorithm 1.
Symbols: K → `wait`, iT → newest, delay(e) → `Tuples.delays`, T_sync → `clock`, SyncBuf → the last
    queue.
Departures: "each time iT is updated by a newly arrived tuple" is read as: at every arrival. Late
    tuples then come out as they came, and Theorem 1 holds for three streams and more, which it
    does not if they wait until iT grows. A new wait counts from the next arrival on. The paper
    takes tuples off the Synchronizer as long as it has some of every stream; the last that it takes
    has the newest time of the slowest stream, for which all others wait (proof of Theorem 1). The
    clock starts before every time, not at 0.
Holds: tuples are released in time order, except those that came at or before the clock. Between
    calls, no buffer holds a tuple that is a wait or more behind the newest of its stream, unless
    the wait has been shortened since.
"""

from dataclasses import dataclass

import numpy as np

from latecomer.arrays import Arrays, nested, part
from latecomer.batch import Positions
from latecomer.kernels.reordering import let_go, reorder
from latecomer.operators.window_join.saving import Savable
from latecomer.operators.window_join.slots import Slots
from latecomer.operators.window_join.tuples import Aligned, Tuples
from latecomer.time import NEVER, Times


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals(Aligned):
    """Tuples of all streams, in order of arrival."""

    streams: Positions
    times: Times
    rows: Positions
    """Number of each tuple's row in its stream."""


class Reordering(Savable):
    """Buffers that put tuples into time order, as far as a wait allows."""

    def __init__(self, streams: int) -> None:
        self._begin(streams)

    def _begin(self, streams: int) -> None:
        # The newest time of each stream, and the newest that has left its buffer.
        self._newest, self._reached = np.full((2, streams), NEVER)
        # A queue for each stream, and one for the Synchronizer.
        self._slots = Slots(streams + 1)

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def clock(self) -> int:
        """Time that the slowest stream has reached; `NEVER` while one of them has sent nothing."""
        return int(self._reached.min())

    @property
    def oldest(self) -> int | None:
        """Earliest time that is held; None if no tuple is."""
        return self._slots.oldest

    @property
    def held(self) -> Tuples:
        """Held tuples, first those of the Synchronizer, then each buffer; in order of entry."""
        return sum(map(self._buffer, range(len(self._newest))), self._buffer(-1))

    def push(self, arrivals: Arrivals, wait: int) -> Tuples:
        """Add tuples in order of arrival; return those that are released to the join."""
        self._slots.make_room(len(arrivals))
        came = (arrivals.streams, arrivals.times, arrivals.rows)
        return Tuples(*reorder(came, wait, self._slots.held, self._newest, self._reached))

    def reach(self, newest: int, wait: int) -> Tuples:
        """Move all streams ahead to a time reached in other buckets; return what is released."""
        reach = (newest, wait, max(newest, NEVER + wait) - wait)
        return Tuples(*let_go(reach, self._slots.held, self._newest, self._reached))

    def finish(self) -> Tuples:
        """Return all held tuples in time order, at the end of the streams."""
        # At equal times, tuples of the Synchronizer come first: they left the buffers earlier.
        held = self.held
        self._begin(len(self._newest))
        return held.take(np.argsort(held.times, kind="stable"))

    def save(self) -> Arrays:
        found = nested("_synchronizer", {"_newest": self._reached})
        found |= nested("_synchronizer.held", self._buffer(-1).save())
        for stream, newest in enumerate(self._newest):
            found[f"_buffers.{stream}.newest"] = np.asarray(newest)
            found |= nested(f"_buffers.{stream}.held", self._buffer(stream).save())
        return found

    def load(self, arrays: Arrays) -> None:
        streams = len(self._newest)
        self._begin(streams)
        self._reached[:] = arrays["_synchronizer._newest"]
        held = Tuples.saved(part("_synchronizer.held", arrays))
        queues = [np.full(len(held), streams)]
        for stream in range(streams):
            self._newest[stream] = arrays[f"_buffers.{stream}.newest"]
            own = Tuples.saved(part(f"_buffers.{stream}.held", arrays))
            held += own
            queues.append(np.full(len(own), stream))
        self._slots.fill(held, np.concatenate(queues))

    def _buffer(self, queue: int) -> Tuples:
        return self._slots.tuples(self._slots.in_order(queue))
