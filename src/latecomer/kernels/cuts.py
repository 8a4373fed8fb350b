"""The next row of the same key."""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.jit import linear_kernel
from latecomer.time import FOREVER, Times


@linear_kernel
def first_after(
    codes: Positions, times: Times, cutter_codes: Positions, cutter_times: Times, count: int
) -> Times:
    """Return for each row the first time after its own, among the cutters of the same key.

    Args:
        codes: The key of each row, below `count`; -1 matches no cutter.
        times: When rows begin, ascending.
        cutter_codes: The key of each cutter.
        cutter_times: When cutters begin, ascending.
        count: The number of keys.

    Returns:
        Times; `FOREVER` where there is no such cutter.

    Cost: O(n + count), one pass from the end.
    """
    found, ahead = np.empty(len(codes), np.int64), np.full(count, FOREVER)
    cutter = len(cutter_codes) - 1
    for i in range(len(codes) - 1, -1, -1):
        while cutter >= 0 and cutter_times[cutter] > times[i]:
            if cutter_codes[cutter] >= 0:
                ahead[cutter_codes[cutter]] = cutter_times[cutter]
            cutter -= 1
        found[i] = ahead[codes[i]] if codes[i] >= 0 else FOREVER
    return found
