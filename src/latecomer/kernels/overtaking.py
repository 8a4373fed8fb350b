"""Which rows a newer one overtakes, told without sorting by arrival.

A row is out of order iff a newer row comes before it. With the rows in time order, the newer ones
are those further on, so one walk from the last row to the first is enough: remember the earliest
to come of all rows newer than this one, and compare.

    time      10   20   30   40
    arrives   10   45   30   40       row 20 comes after both 30 and 40: overtaken

Rows that arrive at the same instant come in their `orders`: in the order in which they came
before anything was delayed. Where that is equal too, the older row comes first.

A long stream is cut by time into parts; `first` carries what is known of the later parts to the
earlier ones.
"""

import numpy as np
import numpy.typing as npt

from latecomer.kernels.jit import kernel
from latecomer.time import FOREVER, Times

First = tuple[int, int]
"""When, and in which order, the earliest to come of some rows does."""

NOBODY: First = (FOREVER, FOREVER)

Flags = npt.NDArray[np.bool_]


@kernel
def overtaken(times: Times, arrivals: Times, orders: Times, first: First) -> Flags:
    """Return for each row whether a newer one comes before it.

    Args:
        times: Ascending.
        arrivals: When each row comes.
        orders: Which of two rows that arrive together comes first.
        first: The first to come of all rows later than these.

    Cost: O(n), one pass.
    """
    flags = np.zeros(len(times), np.bool_)
    newer = first  # of strictly later times
    same = first  # and of those with the time of this row
    for i in range(len(times) - 1, -1, -1):
        if i + 1 < len(times) and times[i] < times[i + 1]:
            newer = same
        flags[i] = newer[0] < arrivals[i] or (newer[0] == arrivals[i] and newer[1] < orders[i])
        if arrivals[i] < same[0] or (arrivals[i] == same[0] and orders[i] < same[1]):
            same = (arrivals[i], orders[i])
    return flags


@kernel
def count_overtaken(
    times: Times, early: Times, late: Times, delayed: Flags, orders: Times, first: First
) -> tuple[int, First]:
    """Count the rows that a newer one overtakes, if some of them are delayed.

    The same walk as `overtaken`, without writing anything down: it is taken many times over.

    Args:
        times: Ascending.
        early: When a row comes if it is not delayed.
        late: When it comes if it is.
        delayed: Whether it is.
        orders: Which of two rows that arrive together comes first.
        first: The first to come of all rows later than these.

    Returns:
        The count, and the first to come of these rows and the later ones.
    """
    count = 0
    newer = first
    same = first
    for i in range(len(times) - 1, -1, -1):
        if i + 1 < len(times) and times[i] < times[i + 1]:
            newer = same
        arrival = late[i] if delayed[i] else early[i]
        if newer[0] < arrival or (newer[0] == arrival and newer[1] < orders[i]):
            count += 1
        if arrival < same[0] or (arrival == same[0] and orders[i] < same[1]):
            same = (arrival, orders[i])
    return count, same
