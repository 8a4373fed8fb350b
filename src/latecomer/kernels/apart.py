"""Select rows that are far enough from the one selected before, group by group."""

import numpy as np

from latecomer.batch import Mask, Positions
from latecomer.kernels.jit import linear_kernel
from latecomer.time import FOREVER, NEVER, Times


@linear_kernel
def keep_apart(times: Times, bounds: Positions, within: int) -> Mask:
    """Return a mask of rows that are at least `within` after the last marked row of their group.

    The first row of each group is marked.

    Args:
        times: Ascending in each group.
        bounds: Group g has the rows from `bounds[g]` to before `bounds[g + 1]`.
        within: The least distance between marked rows; positive.

    Cost: O(n), one pass.
    """
    keep = np.zeros(len(times), np.bool_)
    for group in range(len(bounds) - 1):
        until = NEVER
        for i in range(bounds[group], bounds[group + 1]):
            if times[i] >= until:
                keep[i] = True
                until = times[i] + within if times[i] < FOREVER - within else FOREVER
    return keep
