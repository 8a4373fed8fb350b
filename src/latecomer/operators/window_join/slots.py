"""Held tuples, in arrays that kernels work on.

Each tuple has a slot, a column of `lines`; heaps hold the slots of tuples that wait together.
`latecomer.kernels.heaps` explains the lines, and the order of a heap.
"""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.heaps import (
    DELAY,
    FREE,
    NEXT,
    NUMBER,
    ROW,
    STREAM,
    TIME,
    UNUSED,
    Held,
)
from latecomer.operators.window_join.tuples import Tuples

FIRST = 64
"""Number of slots at first."""


class Slots:
    """The slots of all held tuples, and the heaps that these are in."""

    def __init__(self, heaps: int) -> None:
        """Begin with empty heaps."""
        self.lines = np.empty((UNUSED + 1, FIRST), np.int64)
        self.lines[UNUSED] = np.arange(FIRST)
        self.heaps = np.empty((heaps, FIRST), np.int64)
        self.sizes = np.zeros(heaps, np.int64)
        self._counters = np.array([FIRST, 0])

    def __len__(self) -> int:
        return int(self.sizes.sum())

    @property
    def room(self) -> int:
        """Number of slots, free or not."""
        return self.lines.shape[1]

    @property
    def held(self) -> Held:
        """Arrays that kernels need to add and remove tuples."""
        return self.lines, self.heaps, self.sizes, self._counters

    @property
    def oldest(self) -> int | None:
        """Earliest time that is held; None if no tuple is."""
        firsts = [heap[0] for heap, size in zip(self.heaps, self.sizes, strict=True) if size]
        return min((int(self.lines[TIME, slot]) for slot in firsts), default=None)

    def in_order(self, *heaps: int) -> Positions:
        """Return the slots of heaps, in the order in which they were added."""
        slots = np.concatenate([self.heaps[heap, : self.sizes[heap]] for heap in heaps])
        return slots[np.argsort(self.lines[NUMBER, slots])]

    def tuples(self, slots: Positions) -> Tuples:
        """Return the tuples of slots."""
        return Tuples(*(self.lines[line, slots] for line in (STREAM, TIME, ROW, DELAY)))

    def fill(self, tuples: Tuples, heaps: Positions) -> None:
        """Put tuples into empty heaps.

        Args:
            tuples: The tuples, in the order in which they were added.
            heaps: The heap of each tuple.
        """
        count = len(tuples)
        self.make_room(count)
        self._counters[FREE] -= count
        free = int(self._counters[FREE])
        slots = self.lines[UNUSED, free : free + count].copy()
        numbers = self._counters[NEXT] + np.arange(count)
        self._counters[NEXT] += count
        values = (tuples.streams, tuples.times, tuples.rows, tuples.delays, numbers)
        for line, each in zip((STREAM, TIME, ROW, DELAY, NUMBER), values, strict=True):
            self.lines[line, slots] = each
        for heap in np.unique(heaps).tolist():
            own = np.flatnonzero(heaps == heap)
            # A sorted array is a heap.
            order = np.argsort(tuples.times[own], kind="stable")
            self.heaps[heap, : len(own)] = slots[own[order]]
            self.sizes[heap] = len(own)

    def make_room(self, count: int) -> None:
        """Make sure that at least `count` slots are free."""
        free, before = int(self._counters[FREE]), self.room
        if free >= count:
            return
        more = max(count - free, before)
        self.lines, self.heaps = with_room(self.lines, more), with_room(self.heaps, more)
        self.lines[UNUSED, free : free + more] = np.arange(before, before + more)
        self._counters[FREE] += more


def with_room(array: Positions, more: int) -> Positions:
    """Return an array with more columns, whose values are undefined."""
    room = np.empty((*array.shape[:-1], more), np.int64)
    return np.concatenate([array, room], axis=-1)
