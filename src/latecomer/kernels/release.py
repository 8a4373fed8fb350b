"""Many watermarks in one pass: which rows are late, which are due, and where each watermark cuts.

Between two watermarks there may be ten rows or a million. To stop at each of them costs more
than the sort, and is not necessary. A row that is not late is not before any watermark that came
before it, so it belongs behind all that was released by then:

    rows        7 9 8 │ 9 6 11 │ 12 8
    watermark       8 ┘     10 ┘           late: 6 (before 8), and 8 (before 10)

    in order    7 8 │ 9 9 │ 11 12          what is not late, sorted, and cut at 8 and at 10

Rows that arrive together can therefore be sorted together, and cut afterwards. Only a row *at* a
watermark needs care: if it came after it, it comes out with the next one.
"""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.jit import kernel
from latecomer.kernels.order import Words
from latecomer.time import Times


@kernel
def split(
    times: Times,
    clock: tuple[Positions, Times, int, int],
    due: tuple[Words, int, int, int],
    held: tuple[Words, int, int, int],
    late: Positions,
) -> tuple[int, int, int]:
    """Tell rows that are due from those to be held, packing both, and from those that are late.

    Args:
        times: In order of arrival.
        clock: How many of the rows are before each watermark, ascending; the watermarks, ascending;
            the one before the first row; and the one up to which rows are due.
        due: Where to write words, from which time on, with how many bits for the number of a row,
            and the number of the first row.
        held: The same, for the rows to be held.
        late: Where to write positions. It has, like the other two, room for one row too many.

    Returns:
        How many rows are due, held and late.

    Cost: O(n), one pass. Nothing branches on a time, because nobody could predict it.
    """
    due_words, due_low, due_shift, due_first = due
    held_words, held_low, held_shift, held_first = held
    marks, watermarks, watermark, last = clock
    due_rows = held_rows = late_rows = start = 0
    for mark in range(len(marks) + 1):
        stop = marks[mark] if mark < len(marks) else len(times)
        # Where the last due time is behind the watermark, what lies between is late, and not held.
        upto = last if last >= watermark else watermark - 1
        for i in range(start, stop):
            time = times[i]
            # Each row is written thrice; what is not counted is overwritten by the next.
            due_words[due_rows] = ((time - due_low) << due_shift) | (due_first + i)
            held_words[held_rows] = ((time - held_low) << held_shift) | (held_first + i)
            late[late_rows] = i
            is_late, is_held = time < watermark, time > upto
            due_rows += not (is_late or is_held)
            held_rows += is_held
            late_rows += is_late
        start = stop
        if mark < len(marks):
            watermark = watermarks[mark]
    return due_rows, held_rows, late_rows


@kernel
def cuts(
    times: Times, positions: Positions, first: int, marks: Positions, watermarks: Times
) -> Positions:
    """Count how many of some sorted rows are out by each watermark.

    Args:
        times: Ascending; rows of equal time in order of arrival.
        positions: As how many-th each of them arrived, and
        first: as how many-th the first row of these watermarks did.
        marks: How many rows, from that one on, had arrived at each watermark; ascending.
        watermarks: Ascending.

    Cost: O(n + m), one pass; O(m log n) if watermarks are few.
    """
    counts = np.empty(len(marks), np.int64)
    are_few = len(times) > 64 * len(marks)
    row = 0
    for mark in range(len(marks)):
        if are_few:
            row += np.searchsorted(times[row:], watermarks[mark])
        while row < len(times) and (
            times[row] < watermarks[mark]
            or (times[row] == watermarks[mark] and positions[row] - first < marks[mark])
        ):
            row += 1
        counts[mark] = row
    return counts
