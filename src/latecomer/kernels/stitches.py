"""Lifetimes that follow each other without a gap."""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.jit import kernel
from latecomer.time import Times


@kernel
def chains(
    codes: Positions, starts: Times, ends: Times, by_end: Positions
) -> tuple[Positions, Positions]:
    """Chain rows of one code if one begins where the other ends.

    If several chains end at the start of a row, the one that began first is continued.

    Args:
        codes: The code of each row. Rows are in order of codes, and within a code of starts.
        starts: Where lifetimes begin.
        ends: Where they end, after their starts.
        by_end: The rows in order of codes, and within a code in order of their ends.

    Returns:
        The first and the last row of each chain.

    Cost: O(n), one pass over starts and ends; O(n log n) if many rows of a code end together.
    """
    rows = len(codes)
    firsts, lasts = np.empty(rows, np.int64), np.empty(rows, np.int64)
    chain_of = np.empty(rows, np.int64)
    found = at = i = 0
    while i < rows:
        code, start = codes[i], starts[i]
        while at < rows and (
            codes[by_end[at]] < code or (codes[by_end[at]] == code and ends[by_end[at]] < start)
        ):
            at += 1
        stop = at
        while stop < rows and codes[by_end[stop]] == code and ends[by_end[stop]] == start:
            stop += 1
        going_on = np.sort(chain_of[by_end[at:stop]])
        taken = 0
        while i < rows and codes[i] == code and starts[i] == start:
            if taken < len(going_on):
                chain = going_on[taken]
                taken += 1
            else:
                chain = found
                firsts[chain] = i
                found += 1
            chain_of[i], lasts[chain] = chain, i
            i += 1
    return firsts[:found].copy(), lasts[:found].copy()
