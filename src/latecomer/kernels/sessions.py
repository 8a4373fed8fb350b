"""Lifetimes that overlap, put together."""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.jit import linear_kernel
from latecomer.time import Times


@linear_kernel
def united(codes: Positions, starts: Times, ends: Times) -> tuple[Positions, Times]:
    """Put rows of one code together that overlap, or overlap what is put together already.

    Args:
        codes: Rows come in order of these, and within a code in order of their starts.
        starts: Where lifetimes begin.
        ends: Where they end.

    Returns:
        For each row, the first row of those it is put together with, and where the last one ends.

    Cost: O(n), one pass to the end and one back.
    """
    rows = len(codes)
    firsts, reach = np.empty(rows, np.int64), np.empty(rows, np.int64)
    for i in range(rows):
        firsts[i], reach[i] = i, ends[i]
        if i > 0 and codes[i] == codes[i - 1] and starts[i] < reach[i - 1]:
            firsts[i], reach[i] = firsts[i - 1], max(reach[i - 1], ends[i])
    for i in range(rows - 2, -1, -1):
        if firsts[i] == firsts[i + 1]:
            reach[i] = reach[i + 1]
    return firsts, reach
