"""Held tuples, in arrays that kernels work on.

Each tuple has a slot; queues hold the slots of tuples that wait together.
`latecomer.kernels.queues` explains what a slot has, and the order of a queue.
"""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.queues import (
    DELAY,
    END,
    FREE,
    LINE,
    NEXT,
    NUMBER,
    PLACE,
    ROW,
    SIZE,
    START,
    STREAM,
    TIME,
    Held,
    empty_queues,
    heap_of,
    oldest,
    with_room,
)
from latecomer.operators.window_join.tuples import Tuples

FIRST = 64
"""Number of slots at first."""


class Slots:
    """The slots of all held tuples, and the queues that these are in."""

    def __init__(self, queues: int) -> None:
        """Begin with empty queues."""
        self.properties = np.empty((FIRST, PLACE + 1), np.int64)
        self._free = np.arange(FIRST)
        self._queues = empty_queues(queues, FIRST)
        self._counters = np.array([FIRST, 0])

    def __len__(self) -> int:
        return self.room - int(self._counters[FREE])

    @property
    def room(self) -> int:
        """Number of slots, free or not."""
        return len(self.properties)

    @property
    def held(self) -> Held:
        """Arrays that kernels need to add and remove tuples."""
        return self.properties, self._free, self._queues, self._counters

    @property
    def oldest(self) -> int | None:
        """Earliest time that is held; None if no tuple is."""
        slot = oldest(self.properties, self._queues)
        return int(self.properties[slot, TIME]) if slot >= 0 else None

    def in_order(self, *queues: int) -> Positions:
        """Return the slots of queues, in the order in which they were added."""
        slots = np.concatenate([part for queue in queues for part in self._parts(queue)])
        return slots[np.argsort(self.properties[slots, NUMBER])]

    def tuples(self, slots: Positions) -> Tuples:
        """Return the tuples of slots."""
        return Tuples(*(self.properties[slots, each] for each in (STREAM, TIME, ROW, DELAY)))

    def fill(self, tuples: Tuples, queues: Positions) -> None:
        """Put tuples into empty queues.

        Args:
            tuples: The tuples, in the order in which they were added.
            queues: The queue of each tuple.
        """
        count = len(tuples)
        self.make_room(count)
        self._counters[FREE] -= count
        free = int(self._counters[FREE])
        slots = self._free[free : free + count].copy()
        numbers = self._counters[NEXT] + np.arange(count)
        self._counters[NEXT] += count
        values = (tuples.streams, tuples.times, tuples.rows, tuples.delays, numbers)
        for line, each in zip((STREAM, TIME, ROW, DELAY, NUMBER), values, strict=True):
            self.properties[slots, line] = each
        for queue in np.unique(queues).tolist():
            own = np.flatnonzero(queues == queue)
            order = np.argsort(tuples.times[own], kind="stable")
            self._queues[queue, LINE : LINE + len(own)] = slots[own[order]]
            self._queues[queue, END] = LINE + len(own)

    def make_room(self, count: int) -> None:
        """Make sure that at least `count` slots are free."""
        free, before = int(self._counters[FREE]), self.room
        if free >= count:
            return
        more = max(count - free, before)
        self.properties = np.concatenate([self.properties, np.empty((more, PLACE + 1), np.int64)])
        self._queues = with_room(self._queues, more)
        self._free = np.concatenate([self._free, np.empty(more, np.int64)])
        self._free[free : free + more] = np.arange(before, before + more)
        self._counters[FREE] += more

    def _parts(self, queue: int) -> tuple[Positions, Positions]:
        """Return the slots in the line of a queue, and those in its heap."""
        row, heap = self._queues[queue], heap_of(self._queues)
        return row[row[START] : row[END]], row[heap : heap + row[SIZE]]
