"""Radix sort of times: the order of rows, without comparing any two of them.

Each time and the number of its row are packed into one word (see `kernels.order`). The words are
then sorted by a few bits of the time after the other, lowest bits first: each pass counts how many
words have each digit, and so knows where the words of a digit go. A pass keeps the order of words
with equal digits, so rows of equal time stay as they were, and the row number is never looked at.

Passes over more words than fit the processor's cache are slow. Many rows are therefore first dealt
out into parts by the highest bits of their time. Events arrive roughly in the order of their times,
so neighbours go to the same few parts, and dealing costs little more than a copy.
"""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.jit import kernel
from latecomer.kernels.order import Words
from latecomer.time import Times

DIGIT_BITS = 11
"""So many bits a pass sorts by, at the most: 2,048 counts fit the first-level cache."""
MANY = 131_072
"""More rows than these are dealt out first."""
PART = 8_192
"""About so many rows make a part, if their times are spread evenly."""


def radix_order(times: Times, low: int, bits: int, shift: int) -> Positions:
    """Order rows by time; rows of equal time keep their places.

    Args:
        times: From `low` on.
        low: The earliest time.
        bits: How many bits the distance from `low` to the latest time has.
        shift: How many bits the number of a row has; both together have 63 at the most.
    """
    parts = max(len(times) // PART, 1) if len(times) > MANY else 1
    part_bits = max(bits - parts.bit_length() + 1, 0)
    ends = np.zeros((1 << (bits - part_bits)) + 1, np.int64)
    words = np.empty(len(times), np.uint64)
    deal(times, low, shift, part_bits, ends, words)
    sort_parts(words, ends, shift, part_bits)
    return words.view(np.int64)


@kernel
def deal(times: Times, low: int, shift: int, part_bits: int, ends: Positions, words: Words) -> None:
    """Pack rows, those of a part side by side: all whose times differ in the last bits only.

    Args:
        times: From `low` on, in order of arrival.
        low: The earliest time there may be.
        shift: How many bits the number of a row has.
        part_bits: How many bits the times of a part may differ in.
        ends: Zeros, one more than there are parts. Afterwards, where each part ends.
        words: Where to write.

    Cost: O(n), two passes.
    """
    # Unsigned, because Numba asks of every signed index whether it counts from the end.
    one, by = np.uint64(1), np.uint64(part_bits)
    for i in range(len(times)):
        ends[(np.uint64(times[i] - low) >> by) + one] += 1
    for part in range(1, len(ends)):
        ends[part] += ends[part - 1]
    for i in range(len(times)):
        time = np.uint64(times[i] - low)
        to = time >> by
        words[np.uint64(ends[to])] = (time << np.uint64(shift)) | np.uint64(i)
        ends[to] += 1


@kernel
def sort_parts(words: Words, ends: Positions, shift: int, bits: int) -> None:
    """Sort each part by its last bits, and leave only the numbers of the rows.

    Args:
        words: As `deal` wrote them.
        ends: Where each part ends.
        shift: How many bits the number of a row has.
        bits: How many bits the times of a part differ in.

    Cost: O(n) for every `DIGIT_BITS` bits.
    """
    one = np.uint64(1)
    passes = -(-bits // DIGIT_BITS)
    digit_bits = np.uint64(-(-bits // passes) if passes else 0)
    digits = (one << digit_bits) - one
    counts = np.empty(1 << digit_bits, np.uint64)
    numbers = (one << np.uint64(shift)) - one
    start = largest = 0
    for part in range(len(ends) - 1):
        largest = max(largest, ends[part] - start)
        start = ends[part]
    spare = np.empty(largest, np.uint64)
    start = 0
    for part in range(len(ends) - 1):
        stop = ends[part]
        rows = stop - start
        out = words[start:stop]
        here, there = out, spare[:rows]
        down = np.uint64(shift)
        for _ in range(passes if rows else 0):
            counts[:] = 0
            for i in range(rows):
                counts[(here[i] >> down) & digits] += one
            before = np.uint64(0)
            for each in range(len(counts)):
                counts[each], before = before, before + counts[each]
            for i in range(rows):
                digit = (here[i] >> down) & digits
                there[counts[digit]] = here[i]
                counts[digit] += one
            here, there = there, here
            down += digit_bits
        for i in range(rows):
            out[i] = here[i] & numbers
        start = stop
