"""K-slack buffers and the Synchronizer, arrival by arrival, in one loop.

Each arrival is put into the buffer of its stream, and moves the clock of that stream. Tuples that
the clock has reached go on to the Synchronizer, in time order. Each of them may move the clock of
the slowest stream, and tuples that this clock has reached are released.

Each held tuple has a slot (`kernels.queues`). There is a queue of slots for each stream, and a last
one for the Synchronizer.
"""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.jit import inner_kernel, kernel
from latecomer.kernels.queues import (
    DELAY,
    FREE,
    ROW,
    STREAM,
    TIME,
    Held,
    Queues,
    enter,
    first,
    leave,
)
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
    slots, free, queues, counters = held
    out, size = np.empty(len(slots) - counters[FREE] + len(times), np.int64), 0
    slowest = reached.min()
    for i in range(len(times)):
        stream = streams[i]
        newest[stream] = max(newest[stream], times[i])
        counters[FREE] -= 1
        slot = free[counters[FREE]]
        slots[slot, TIME], slots[slot, STREAM], slots[slot, ROW] = times[i], stream, rows[i]
        slots[slot, DELAY] = behind(newest[stream], times[i])
        enter(stream, slot, slots, queues, counters)
        clock = max(newest[stream], NEVER + wait) - wait
        slot = first(stream, slots, queues)
        while slot >= 0 and slots[slot, TIME] <= clock:
            leave(stream, slot, slots, queues)
            enter(len(newest), slot, slots, queues, counters)
            if slots[slot, TIME] > reached[stream]:
                reached[stream] = slots[slot, TIME]
                slowest = reached.min()
            size = _let_out(slowest, len(newest), slots, queues, out, size)
            slot = first(stream, slots, queues)
    return _released(out[:size], slots, free, counters)


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
    slots, free, queues, counters = held
    out = np.empty(len(slots) - counters[FREE], np.int64)
    for stream in range(len(newest)):
        newest[stream] = max(newest[stream], come)
        clock = max(newest[stream], NEVER + wait) - wait
        slot = first(stream, slots, queues)
        while slot >= 0 and slots[slot, TIME] <= clock:
            leave(stream, slot, slots, queues)
            enter(len(newest), slot, slots, queues, counters)
            slot = first(stream, slots, queues)
        reached[stream] = max(reached[stream], watermark)
    size = _let_out(reached.min(), len(newest), slots, queues, out, 0)
    return _released(out[:size], slots, free, counters)


@inner_kernel
def _let_out(
    clock: int, queue: int, slots: Positions, queues: Queues, out: Positions, size: int
) -> int:
    """Move tuples that the clock has reached from a queue to the end of `out`."""
    slot = first(queue, slots, queues)
    while slot >= 0 and slots[slot, TIME] <= clock:
        leave(queue, slot, slots, queues)
        out[size] = slot
        size += 1
        slot = first(queue, slots, queues)
    return size


@kernel
def _released(out: Positions, slots: Positions, free: Positions, counters: Positions) -> Released:
    """Return the tuples of slots, and free the slots."""
    count = len(out)
    streams, rows = np.empty(count, np.int64), np.empty(count, np.int64)
    times, delays = np.empty(count, np.int64), np.empty(count, np.int64)
    for i in range(count):
        slot = out[i]
        free[counters[FREE]] = slot
        counters[FREE] += 1
        streams[i], times[i] = slots[slot, STREAM], slots[slot, TIME]
        rows[i], delays[i] = slots[slot, ROW], slots[slot, DELAY]
    return streams, times, rows, delays
