"""Queues of tuples, from which they leave in time order.

Most tuples come nearly in order. A queue keeps these in a *line*, which is sorted: a tuple is
inserted from the end, and the first one leaves in one step. A tuple that would have to pass more
than `NEAR` others goes to a binary *heap* instead:

    line    3  4  4  6  7  9 ◀── 8
    heap    2  5                          the first to leave is the 2

Of equal times, the one with the smaller number leaves first. Tuples are numbered as they enter, so
those of equal time leave in the order in which they entered.

Each tuple has a slot, which holds its properties, and queues hold only slots. Free slots are used
again.
"""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.jit import inner_kernel, kernel

TIME, NUMBER, STREAM, ROW, DELAY, PLACE = range(6)
"""Properties of a slot. For each tuple: its time, the number that orders equal times, the stream,
the row, the delay, and the place of its row among known rows."""
START, END, SIZE, LINE = range(4)
"""Columns of a queue: where its line starts and ends, the size of its heap, and the first column
of the line."""
FREE, NEXT = range(2)
"""Positions in the counters: the number of free slots, and the number of the next tuple."""
NEAR = 32
"""Number of tuples that another may pass to be inserted into the line."""

Queues = Positions
"""A row for each queue: its marks; its line, with twice the room that all slots need; and its heap.
One array, because calls with many arrays take longer."""
Held = tuple[Positions, Positions, Queues, Positions]
"""Held tuples: slots; the free ones; queues of slots; and the counters."""


def empty_queues(count: int, slots: int) -> Queues:
    """Return queues with room for a number of slots."""
    queues = np.zeros((count, LINE + 3 * slots), np.int64)
    queues[:, [START, END]] = LINE
    return queues


def with_room(queues: Queues, more: int) -> Queues:
    """Return the same queues with room for more slots."""
    # Only what is used is copied: the rest of the new array then takes no memory before it is used.
    end, most = queues[:, END].max(), queues[:, SIZE].max()
    found = np.zeros((len(queues), queues.shape[1] + 3 * more), np.int64)
    found[:, :end] = queues[:, :end]
    before, heap = heap_of(queues), heap_of(found)
    found[:, heap : heap + most] = queues[:, before : before + most]
    return found


@kernel
def heap_of(queues: Queues) -> int:
    """Return the column in which heaps begin."""
    return LINE + (queues.shape[1] - LINE) // 3 * 2


@inner_kernel
def enter(queue: int, slot: int, slots: Positions, queues: Queues, counters: Positions) -> None:
    """Number a slot, and put it into a queue.

    Cost: O(1) if few of the queue are later, O(log n) otherwise.
    """
    slots[slot, NUMBER] = counters[NEXT]
    counters[NEXT] += 1
    end = queues[queue, END]
    is_last = end == queues[queue, START] or (
        slots[queues[queue, end - 1], TIME] <= slots[slot, TIME]
    )
    if is_last and end < heap_of(queues):
        queues[queue, end] = slot
        queues[queue, END] = end + 1
    else:
        _insert(queue, slot, slots, queues)


@inner_kernel
def first(queue: int, slots: Positions, queues: Queues) -> int:
    """Return the first slot of a queue; −1 if it is empty."""
    start = queues[queue, START]
    if start == queues[queue, END]:
        return int(queues[queue, heap_of(queues)]) if queues[queue, SIZE] else -1
    slot = queues[queue, start]
    if queues[queue, SIZE]:
        other = queues[queue, heap_of(queues)]
        return int(slot) if _is_before(slot, other, slots) else int(other)
    return int(slot)


@kernel
def oldest(slots: Positions, queues: Queues) -> int:
    """Return the slot with the earliest time in all queues; −1 if they are empty."""
    found = -1
    for queue in range(len(queues)):
        slot = first(queue, slots, queues)
        if slot >= 0 and (found < 0 or slots[slot, TIME] < slots[found, TIME]):
            found = slot
    return found


@inner_kernel
def leave(queue: int, slot: int, slots: Positions, queues: Queues) -> None:
    """Remove the first slot of a queue, which `first` has found.

    Cost: O(1) if it is in the line, O(log n) otherwise.
    """
    start = queues[queue, START]
    if start < queues[queue, END] and queues[queue, start] == slot:
        queues[queue, START] += 1
    else:
        _pop(queue, slots, queues)


@inner_kernel
def _insert(queue: int, slot: int, slots: Positions, queues: Queues) -> None:
    """Insert a slot into the line of a queue, or put it into its heap."""
    time, start, end = slots[slot, TIME], queues[queue, START], queues[queue, END]
    if end - NEAR >= start and slots[queues[queue, end - NEAR], TIME] > time:
        _push(queue, slot, slots, queues)
        return
    if end == heap_of(queues):
        # At least half of the line is before its start.
        for at in range(start, end):
            queues[queue, LINE + at - start] = queues[queue, at]
        start, end = LINE, LINE + end - start
        queues[queue, START] = start
    at = end
    while at > start and slots[queues[queue, at - 1], TIME] > time:
        queues[queue, at] = queues[queue, at - 1]
        at -= 1
    queues[queue, at] = slot
    queues[queue, END] = end + 1


@inner_kernel
def _is_before(one: int, other: int, slots: Positions) -> bool:
    """Return True if one slot leaves before another."""
    if slots[one, TIME] == slots[other, TIME]:
        return bool(slots[one, NUMBER] < slots[other, NUMBER])
    return bool(slots[one, TIME] < slots[other, TIME])


@inner_kernel
def _push(queue: int, slot: int, slots: Positions, queues: Queues) -> None:
    """Put a slot into the heap of a queue."""
    heap, at = heap_of(queues), queues[queue, SIZE]
    queues[queue, SIZE] += 1
    while at > 0:
        up = (at - 1) >> 1
        above = queues[queue, heap + up]
        if _is_before(above, slot, slots):
            break
        queues[queue, heap + at] = above
        at = up
    queues[queue, heap + at] = slot


@inner_kernel
def _pop(queue: int, slots: Positions, queues: Queues) -> None:
    """Remove the first slot of the heap of a queue."""
    queues[queue, SIZE] -= 1
    heap, size = heap_of(queues), queues[queue, SIZE]
    last = queues[queue, heap + size]
    at, below = 0, 1
    while below < size:
        one, other = queues[queue, heap + below], queues[queue, heap + below + 1]
        # Added instead of branched upon: the processor could not predict which is earlier.
        below += int(_is_before(other, one, slots) & (below + 1 < size))
        one = queues[queue, heap + below]
        if _is_before(last, one, slots):
            break
        queues[queue, heap + at] = one
        at, below = below, 2 * below + 1
    queues[queue, heap + at] = last
