"""Rows held until a clock reaches them, many readings of the clock at once.

Each arrival moves the clock, or leaves it where it is. A row comes out at the first arrival, not
before its own, at which the clock has reached its time. Because the clock never falls, that is one
binary search; and all that come out at one arrival do so in order of time:

    arrival      0   1   2   3   4
    time         5   9   7   6  12
    clock        2   6   6   6   9         newest − 3, say
    comes out    1   4   4   3   –         5 at 1; 6 at once, at 3; 7 and 9 at 4; 12 is held
"""

import numpy as np

from latecomer.batch import Positions
from latecomer.time import Times


def due_order(times: Times, held: int, clock: Times) -> tuple[Positions, Positions, Positions]:
    """Find which rows come out, in what order, and at which arrival.

    Args:
        times: Of the rows that were held before, in order of arrival, and then of those that
            arrive.
        held: How many were held before.
        clock: What the clock says after each arrival; it never falls. It may be read once without
            an arrival.

    Returns:
        The positions of the rows that come out, in that order; the arrival at which each does; and
        the positions of those that are still held.

    Cost: O(n log n).
    """
    arrivals = len(clock)
    at = np.searchsorted(clock, times, side="left")
    np.maximum(at[held:], np.arange(len(times) - held), out=at[held:])
    due = np.flatnonzero(at < arrivals)
    # Stable: rows of equal time that come out together keep their order of arrival.
    order = due[np.lexsort((times[due], at[due]))]
    return order, at[order], np.flatnonzero(at == arrivals)
