"""Lifetimes that follow each other without a gap."""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.jit import kernel
from latecomer.time import Times


@kernel
def chains(codes: Positions, starts: Times, ends: Times) -> tuple[Positions, Positions]:
    """Put rows of one code together of which one begins where the other ends.

    Args:
        codes: Rows come in order of these, and within a code in order of their starts.
        starts: Where lifetimes begin.
        ends: Where they end.

    Returns:
        The first and the last row of each chain.

    Cost: O(n) for each row of a code that counts at the same time.
    """
    rows = len(codes)
    firsts, lasts = np.empty(rows, np.int64), np.empty(rows, np.int64)
    at_hand = np.empty(rows, np.int64)
    found = open_ = 0
    for i in range(rows):
        if i == 0 or codes[i] != codes[i - 1]:
            open_ = 0
        kept, chain = 0, -1
        for k in range(open_):
            end = ends[lasts[at_hand[k]]]
            if end < starts[i]:
                continue
            if end == starts[i] and chain < 0:
                chain = at_hand[k]
            at_hand[kept] = at_hand[k]
            kept += 1
        open_ = kept
        if chain < 0:
            chain = found
            found += 1
            firsts[chain] = i
            at_hand[open_] = chain
            open_ += 1
        lasts[chain] = i
    return firsts[:found].copy(), lasts[:found].copy()
