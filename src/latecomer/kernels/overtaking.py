"""Find the rows that a newer one overtakes, without sorting by arrival.

A row is out of order iff a newer row arrives before it. In time order, newer rows are those further
on. So one walk from the last row to the first is enough: it keeps the earliest arrival of all rows
newer than the current one, and compares.

    time      10   20   30   40
    arrives   10   45   30   40       row 20 comes after both 30 and 40: overtaken

Rows that arrive at the same instant are ordered by `orders`, the order in which they came before
any were delayed. Where that is equal too, the older row comes first.

A long stream is cut by time into parts. `first` carries the earliest arrival of the later parts to
the earlier ones.
"""

import numpy as np
import numpy.typing as npt

from latecomer.kernels.jit import kernel
from latecomer.time import FOREVER, Times

First = tuple[int, int]
"""The arrival and the order of the first to arrive of some rows."""

NOBODY: First = (FOREVER, FOREVER)

Flags = npt.NDArray[np.bool_]


@kernel
def overtaken(times: Times, arrivals: Times, orders: Times, first: First) -> Flags:
    """Return, for each row, whether a newer one arrives before it.

    Args:
        times: Ascending.
        arrivals: When each row arrives.
        orders: The order of rows that arrive together.
        first: The first to arrive of all rows with later times than these.

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
    """Return the number of rows that a newer one overtakes if some of them are delayed.

    This is the walk of `overtaken`, without writing flags, because it is repeated many times.

    Args:
        times: Ascending.
        early: When each row arrives if it is not delayed.
        late: When each row arrives if it is delayed.
        delayed: Whether each row is delayed.
        orders: The order of rows that arrive together.
        first: The first to arrive of all rows with later times than these.

    Returns:
        The count, and the first to arrive of these rows and the later ones.
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
