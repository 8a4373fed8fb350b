"""K-slack buffers and the Synchronizer, arrival by arrival, in one loop.

Each arrival is put into the buffer of its stream, and moves the clock of that stream. Tuples that
the clock has reached go on to the Synchronizer, in time order. Each of them may move the clock of
the slowest stream, and tuples that this clock has reached are released.

Each held tuple has a slot (`kernels.heaps`). There is a heap of slots for each stream, and a last
one for the Synchronizer.
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
    pop,
    push,
)
from latecomer.kernels.jit import kernel
from latecomer.kernels.slowest import behind
from latecomer.time import NEVER, Times

Released = tuple[Positions, Times, Positions, Times]
"""Tuples that are released: streams, times, rows and delays."""


@kernel
def reorder(
    arrivals: tuple[Positions, Times, Positions],
    wait: int,
    held: Held,
    newest: Times,
    reached: Times,
) -> Released:
    """Add tuples to the buffers, and return those that are released, in order.

    Args:
        arrivals: Streams, times and rows, in order of arrival.
        wait: How long a stream waits for late tuples.
        held: The held tuples, with a free slot for each arrival. It is changed.
        newest: The newest time of each stream, which is changed.
        reached: The newest time of each stream that has left its buffer, which is changed.

    Cost: O(n log h) for h held tuples.
    """
    streams, times, rows = arrivals
    slots, heaps, sizes, counters = held
    out, size = np.empty(sizes.sum() + len(times), np.int64), 0
    slowest = reached.min()
    for i in range(len(times)):
        stream = streams[i]
        newest[stream] = max(newest[stream], times[i])
        counters[FREE] -= 1
        slot = slots[UNUSED, counters[FREE]]
        slots[TIME, slot], slots[STREAM, slot], slots[ROW, slot] = times[i], stream, rows[i]
        slots[DELAY, slot] = behind(newest[stream], times[i])
        _enter(stream, slot, slots, heaps, sizes, counters)
        clock = max(newest[stream], NEVER + wait) - wait
        while sizes[stream] and slots[TIME, heaps[stream, 0]] <= clock:
            time = _move_on(stream, slots, heaps, sizes, counters)
            if time > reached[stream]:
                reached[stream] = time
                slowest = reached.min()
            size = _let_out(slowest, slots, heaps, sizes, out, size)
    return _released(out[:size], slots, counters)


@kernel
def let_go(reach: tuple[int, int, int], held: Held, newest: Times, reached: Times) -> Released:
    """Move all streams ahead to a time reached in other buckets; return what is released.

    Args:
        reach: The newest time elsewhere; the wait; and the watermark, before which streams send
            only late tuples.
        held: As for `reorder`.
        newest: As for `reorder`.
        reached: As for `reorder`.

    Cost: O(n log h) for n tuples that leave a buffer.
    """
    come, wait, watermark = reach
    slots, heaps, sizes, counters = held
    out, size = np.empty(sizes.sum(), np.int64), 0
    for stream in range(len(newest)):
        newest[stream] = max(newest[stream], come)
        clock = max(newest[stream], NEVER + wait) - wait
        while sizes[stream] and slots[TIME, heaps[stream, 0]] <= clock:
            _move_on(stream, slots, heaps, sizes, counters)
        reached[stream] = max(reached[stream], watermark)
    size = _let_out(reached.min(), slots, heaps, sizes, out, size)
    return _released(out[:size], slots, counters)


@kernel
def _enter(
    heap: int,
    slot: int,
    slots: Positions,
    heaps: Positions,
    sizes: Positions,
    counters: Positions,
) -> None:
    """Number a slot, and put it into a heap."""
    slots[NUMBER, slot] = counters[NEXT]
    counters[NEXT] += 1
    push(heaps, heap, sizes[heap], slot, slots)
    sizes[heap] += 1


@kernel
def _move_on(
    stream: int, slots: Positions, heaps: Positions, sizes: Positions, counters: Positions
) -> int:
    """Move the first tuple of a stream to the Synchronizer; return its time."""
    slot = pop(heaps, stream, sizes[stream], slots)
    sizes[stream] -= 1
    _enter(len(heaps) - 1, slot, slots, heaps, sizes, counters)
    return int(slots[TIME, slot])


@kernel
def _let_out(
    clock: int,
    slots: Positions,
    heaps: Positions,
    sizes: Positions,
    out: Positions,
    size: int,
) -> int:
    """Move tuples that the clock has reached from the Synchronizer to the end of `out`."""
    last = len(heaps) - 1
    while sizes[last] and slots[TIME, heaps[last, 0]] <= clock:
        out[size] = pop(heaps, last, sizes[last], slots)
        sizes[last] -= 1
        size += 1
    return size


@kernel
def _released(out: Positions, slots: Positions, counters: Positions) -> Released:
    """Return the tuples of slots, and free the slots."""
    for slot in out:
        slots[UNUSED, counters[FREE]] = slot
        counters[FREE] += 1
    return slots[STREAM][out], slots[TIME][out], slots[ROW][out], slots[DELAY][out]
