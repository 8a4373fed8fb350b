"""The next row of the same key."""

import numpy as np

from latecomer.batch import Mask, Positions
from latecomer.kernels.jit import linear_kernel
from latecomer.time import FOREVER, Times


@linear_kernel
def first_after(codes: Positions, times: Times, counts: Mask) -> Times:
    """Find for each row the first time after its own, of rows that count and have the same code.

    Args:
        codes: Rows come in order of these, and within a code in order of their times.
        times: When rows begin.
        counts: Which rows count.

    Returns:
        Times; `FOREVER` where there is none.

    Cost: O(n), one pass from the end.
    """
    found = np.empty(len(codes), np.int64)
    ahead = same = FOREVER
    for i in range(len(codes) - 1, -1, -1):
        if i + 1 == len(codes) or codes[i] != codes[i + 1]:
            ahead = same = FOREVER
        elif times[i] != times[i + 1]:
            # All rows of the later instant have been seen.
            ahead = same
        found[i] = ahead
        if counts[i]:
            same = times[i]
    return found
