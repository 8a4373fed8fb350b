"""Sort more rows than the processor's cache holds.

NumPy sorts a packed word (see `kernels.order`) in 6 ns while all words fit the cache, and in 14 and
more beyond. The words of many rows are therefore first dealt out by time, and each part is then
sorted by itself. Events arrive roughly in the order of their times, so that neighbours go to the
same few parts: dealing them out costs little more than a copy.
"""

import numpy as np

from latecomer.kernels.jit import kernel
from latecomer.kernels.order import Words
from latecomer.time import Times

MANY = 524_288
"""More rows than these are dealt out."""
PART = 8_192
"""About so many rows make a part, if their times are spread evenly."""


def pack_sorted(times: Times, low: int, high: int, shift: int, words: Words) -> None:
    """Pack rows as `kernels.words.pack` does, and sort them.

    Args:
        times: From `low` to `high`, in order of arrival.
        low: The earliest time there may be.
        high: The latest.
        shift: How many bits the number of a row has.
        words: Where to write them.
    """
    parts = max(len(times) // PART, 1)
    part_bits = max((high - low).bit_length() - parts.bit_length(), 0)
    ends = deal(
        times, low, shift, part_bits, np.zeros(((high - low) >> part_bits) + 2, np.int64), words
    )
    start = 0
    for end in ends.tolist():
        words[start:end].sort()
        start = end


@kernel
def deal(times: Times, low: int, shift: int, part_bits: int, ends: Words, words: Words) -> Words:
    """Pack rows, those of a part side by side: all whose times differ in the last bits only.

    Args:
        times: From `low` on, in order of arrival.
        low: As for `pack_sorted`.
        shift: As for `pack_sorted`.
        part_bits: How many bits the times of a part may differ in.
        ends: Zeros, one more than there are parts.
        words: Where to write.

    Returns:
        Where each part ends.

    Cost: O(n), two passes.
    """
    # Unsigned, because Numba asks of every signed index whether it counts from the end.
    for i in range(len(times)):
        ends[np.uint64((times[i] - low) >> part_bits) + np.uint64(1)] += 1
    for part in range(1, len(ends)):
        ends[part] += ends[part - 1]
    for i in range(len(times)):
        time = times[i] - low
        to = np.uint64(time >> part_bits)
        words[np.uint64(ends[to])] = (time << shift) | i
        ends[to] += 1
    return ends[:-1]
