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
from latecomer.kernels.jit import kernel
from latecomer.time import Times


@kernel
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

    Cost: O(n log n) for those that come out, O(n log m) for those still held, at m arrivals.
    """
    at = np.searchsorted(clock, times)
    # How many come out at each arrival; then, where the next that does has its place.
    places = np.zeros(len(clock) + 1, np.int64)
    for row in range(len(times)):
        at[row] = max(at[row], row - held)
        places[at[row]] += 1
    due, still = np.empty(len(times) - places[-1], np.int64), np.empty(places[-1], np.int64)
    filled = 0
    for row in range(len(times)):
        if at[row] < len(clock):
            due[filled] = row
            filled += 1
        else:
            still[row - filled] = row
    before = 0
    for arrival in range(len(places)):
        places[arrival], before = before, before + places[arrival]
    order = np.empty_like(due)
    # Stable: rows of equal time that come out together keep their order of arrival.
    for row in due[np.argsort(times[due], kind="mergesort")]:
        order[places[at[row]]] = row
        places[at[row]] += 1
    return order, at[order], still
