"""Rows of a group, side by side."""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.jit import linear_kernel


@linear_kernel
def side_by_side(codes: Positions, count: int) -> tuple[Positions, Positions]:
    """Put rows in order of their groups; those of one group keep their order.

    Args:
        codes: The group of each row, from 0 to before `count`.
        count: How many groups there are.

    Returns:
        The order, and where each group begins in it, with the end of the last one behind them.

    Cost: O(n + count), two passes: rows are counted, then put in their places.
    """
    bounds, order = np.zeros(count + 2, np.int64), np.empty(len(codes), np.int64)
    for i in range(len(codes)):
        bounds[codes[i] + 2] += 1
    for group in range(2, count + 2):
        bounds[group] += bounds[group - 1]
    # While rows are put in their places, the bound of a group is that of the one before it.
    for i in range(len(codes)):
        order[bounds[codes[i] + 1]] = i
        bounds[codes[i] + 1] += 1
    return order, bounds[: count + 1].copy()
