"""Slots that leave in order of time: a binary heap of them, in an array.

A slot is a place in arrays that hold what is known of a tuple. The heap holds slots only, the
earliest first; of equal times, the one with the smaller number. So tuples of equal time leave in
the order in which they were numbered. A slot that has become free is used again.
"""

from latecomer.batch import Positions
from latecomer.kernels.jit import kernel

TIME, NUMBER, STREAM, ROW, DELAY, PLACE, UNUSED = range(7)
"""The lines of slots: of a tuple the time, the number by which equal times are ordered, the stream,
the row, the delay, and the place of its row among known ones; and, as a stack, the free slots."""
FREE, NEXT = range(2)
"""What the counters count: free slots, and the number of the next tuple."""

Held = tuple[Positions, Positions, Positions, Positions]
"""What is held: slots, in lines; heaps of slots; their sizes; and the counters."""


@kernel
def push(heaps: Positions, heap: int, size: int, slot: int, slots: Positions) -> None:
    """Put a slot into a heap of that size. The caller counts.

    Cost: O(1) if it is the last to leave, O(log n) otherwise.
    """
    at = size
    time, number = slots[TIME, slot], slots[NUMBER, slot]
    while at > 0:
        up = (at - 1) >> 1
        above = heaps[heap, up]
        if time > slots[TIME, above] or (
            time == slots[TIME, above] and number > slots[NUMBER, above]
        ):
            break
        heaps[heap, at] = above
        at = up
    heaps[heap, at] = slot


@kernel
def pop(heaps: Positions, heap: int, size: int, slots: Positions) -> int:
    """Take the first slot off a heap of that size. The caller counts.

    Cost: O(log n).
    """
    end = size - 1
    first, last = heaps[heap, 0], heaps[heap, end]
    time, number = slots[TIME, last], slots[NUMBER, last]
    at, below = 0, 1
    while below < end:
        one, other = heaps[heap, below], heaps[heap, below + 1]
        earlier = slots[TIME, other] < slots[TIME, one]
        equal = slots[TIME, other] == slots[TIME, one]
        smaller = slots[NUMBER, other] < slots[NUMBER, one]
        # Added, not branched upon: which of the two is earlier cannot be predicted.
        below += int((earlier | (equal & smaller)) & (below + 1 < end))
        one = heaps[heap, below]
        if slots[TIME, one] > time or (slots[TIME, one] == time and slots[NUMBER, one] > number):
            break
        heaps[heap, at] = one
        at, below = below, 2 * below + 1
    heaps[heap, at] = last
    return int(first)
