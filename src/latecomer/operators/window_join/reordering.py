"""All that comes before the join: a K-slack buffer for each stream, and the Synchronizer.

**K-slack** sorts one stream by waiting for stragglers. A tuple is held until the newest of its
stream is a wait ahead of it, and comes out then, in order of time. One that is farther behind than
the wait finds later ones gone already. It comes out at once, out of order:

    time       1   4   3   6   2   9         wait 2
    newest     1   4   4   6   6   9
    out            1       3 4  2  6         2 was 4 behind, and comes out of order

**The Synchronizer** brings the sorted streams together in one order of time. A tuple is held until
the newest of the *slowest* stream reaches it:

    stream 0    5   9   7           6
    stream 1               1   6       8
    slowest     –   –   –  1   6    6  8
    out                    1  5 6   6  7 8

A tuple at or before that clock comes out at once: it is out of order, and the join will know.

Every stream has the same wait. That they need not have different ones is Theorem 1 (Same-K policy):
whatever the Synchronizer holds back for the slowest stream sorts the others too.

Paper: Ji, Sun, Nica, Jerzak, Hackenbroich, Fetzer: Quality-Driven Disorder Handling for m-way
    Sliding Window Stream Joins (ICDE 2016), Section III, Fig. 2, and Algorithm 1.
Symbols: K → `wait`, iT → newest, delay(e) → `Tuples.delays`, T_sync → `clock`, SyncBuf → the last
    heap.
Departures: "each time iT is updated by a newly arrived tuple" is read as: at every arrival. Late
    tuples then come out as they came, and Theorem 1 holds for three streams and more, which it
    does not if they wait until iT grows. A new wait counts from the next arrival on. The paper
    takes tuples off the Synchronizer as long as it has some of every stream; the last that it takes
    has the newest time of the slowest stream, for which all others wait (proof of Theorem 1). The
    clock starts before every time, not at 0.
Holds: what comes out is in order of time but for tuples that came at or before the clock. Between
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
    """The number of each tuple's row in its stream."""


class Reordering(Savable):
    """Buffers that bring tuples into order of time, as far as a wait allows."""

    def __init__(self, streams: int) -> None:
        self._begin(streams)

    def _begin(self, streams: int) -> None:
        # The newest that came of each stream, and the newest that has left its buffer.
        self._newest, self._reached = np.full((2, streams), NEVER)
        # A heap for each stream, and one for the Synchronizer.
        self._slots = Slots(streams + 1)

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def clock(self) -> int:
        """How far the slowest stream has come; `NEVER` while one of them has sent nothing."""
        return int(self._reached.min())

    @property
    def oldest(self) -> int | None:
        """The earliest time that is held, if there is one."""
        return self._slots.oldest

    @property
    def held(self) -> Tuples:
        """What is held: first what the Synchronizer has, then the buffers, as it came to each."""
        return sum(map(self._buffer, range(len(self._newest))), self._buffer(-1))

    def push(self, arrivals: Arrivals, wait: int) -> Tuples:
        """Take in tuples as they come; return what comes out, for the join."""
        self._slots.make_room(len(arrivals))
        came = (arrivals.streams, arrivals.times, arrivals.rows)
        return Tuples(*reorder(came, wait, self._slots.held, self._newest, self._reached))

    def reach(self, newest: int, wait: int) -> Tuples:
        """Take note that all streams have come as far, elsewhere; return what comes out."""
        reach = (newest, wait, max(newest, NEVER + wait) - wait)
        return Tuples(*let_go(reach, self._slots.held, self._newest, self._reached))

    def finish(self) -> Tuples:
        """Return, in order of time, all that is still held: nothing will follow."""
        # What the Synchronizer holds has come out of the other buffers before what these hold.
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
        heaps = [np.full(len(held), streams)]
        for stream in range(streams):
            self._newest[stream] = arrays[f"_buffers.{stream}.newest"]
            own = Tuples.saved(part(f"_buffers.{stream}.held", arrays))
            held += own
            heaps.append(np.full(len(own), stream))
        self._slots.fill(held, np.concatenate(heaps))

    def _buffer(self, heap: int) -> Tuples:
        return self._slots.tuples(self._slots.in_order(heap))
