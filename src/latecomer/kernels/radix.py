"""Radix sort of times: finds the order of rows without comparing any two of them.

Each time and the number of its row are packed into one word (see `kernels.order`). The words are
then sorted in several passes, each by a few bits of the time, the lowest bits first. A pass counts
how many words have each digit, and so knows where the words of a digit go. It keeps the order of
words with equal digits, so rows of equal time stay in order, and the row number is never compared.

Passes over more words than fit the processor's cache are slow. Many rows are therefore first dealt
out into parts by the highest bits of their time. Rows arrive roughly in the order of their times,
so neighbours go to the same few parts, and dealing costs little more than a copy.
"""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.jit import kernel
from latecomer.kernels.order import Words
from latecomer.time import Times

DIGIT_BITS = 11
"""Largest number of bits that a pass sorts by: 2,048 counts fit the first-level cache."""
MANY = 131_072
"""Number of rows above which they are dealt out first."""
PART = 8_192
"""Approximate number of rows in a part, if their times are spread evenly."""


def radix_order(times: Times, low: int, bits: int, shift: int) -> Positions:
    """Return the order of rows by time; rows of equal time keep their order.

    Args:
        times: From `low` on.
        low: The earliest time.
        bits: The number of bits in the distance from `low` to the latest time.
        shift: The number of bits in a row number. Together with `bits` it is at most 63.
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
    """Pack rows into words, part by part. Times of a part differ only in their last bits.

    Args:
        times: From `low` on, in order of arrival.
        low: The earliest time there may be.
        shift: The number of bits in a row number.
        part_bits: The number of bits in which the times of a part may differ.
        ends: Zeros, one more than there are parts. Afterwards, where each part ends.
        words: The array to write to.

    Cost: O(n), two passes.
    """
    # Unsigned, because Numba checks for every signed index whether it is negative.
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
    """Sort each part by its last bits, and replace words by the numbers of their rows.

    Args:
        words: As `deal` wrote them.
        ends: Where each part ends.
        shift: The number of bits in a row number.
        bits: The number of bits in which the times of a part differ.

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
