"""A binary heap of tuples, in an array, from which they leave in time order.

A slot is a position in the arrays that hold the properties of tuples. The heap holds only slots,
the earliest first; of equal times, the one with the smaller number. So tuples of equal time leave
in the order in which they were numbered. Free slots are used again.
"""

from latecomer.batch import Positions
from latecomer.kernels.jit import kernel

TIME, NUMBER, STREAM, ROW, DELAY, PLACE, UNUSED = range(7)
"""Lines of slots. For each tuple: its time, the number that orders equal times, the stream, the
row, the delay, and the place of its row among known rows. The last line: a stack of free slots."""
FREE, NEXT = range(2)
"""Positions in the counters: the number of free slots, and the number of the next tuple."""

Held = tuple[Positions, Positions, Positions, Positions]
"""Held tuples: slots, in lines; heaps of slots; the sizes of the heaps; and the counters."""


@kernel
def push(heaps: Positions, heap: int, size: int, slot: int, slots: Positions) -> None:
    """Put a slot into a heap that has `size` slots. The caller updates the size.

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
    """Remove and return the first slot of a heap with `size` slots. The caller updates the size.

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
        # Added instead of branched upon: the processor could not predict which is earlier.
        below += int((earlier | (equal & smaller)) & (below + 1 < end))
        one = heaps[heap, below]
        if slots[TIME, one] > time or (slots[TIME, one] == time and slots[NUMBER, one] > number):
            break
        heaps[heap, at] = one
        at, below = below, 2 * below + 1
    heaps[heap, at] = last
    return int(first)
