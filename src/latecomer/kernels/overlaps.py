"""Lifetimes that overlap, and what they leave uncovered.

Rows of two streams, in order of key and start, are swept once. Of each stream those rows of the key
are at hand that may not have ended. A row that begins meets those of the other stream, and the ones
found to have ended are forgotten on the way, so that each look either finds a pair or is the last
at that row:

    left    ├── a ──────┤                  b begins: a is there, (a, b)
    right        ├── b ───────┤            c begins: b is there, (c, b)
    left               ├── c ──┤           d begins: a is forgotten, c is there, (c, d)
    right                    ├── d ──
"""

import numpy as np

from latecomer.batch import Mask, Positions
from latecomer.kernels.jit import kernel
from latecomer.time import Times


@kernel
def overlapping(
    codes: Positions, starts: Times, ends: Times, is_right: Mask, is_old: Mask
) -> tuple[Positions, Positions]:
    """Find all pairs of a left and a right row of one key whose lifetimes overlap.

    Args:
        codes: The number of each row's key. Rows come in order of these, and within a key in
            order of their starts.
        starts: Where lifetimes begin.
        ends: Where they end.
        is_right: Of which of the two streams a row is.
        is_old: Pairs of which both rows are old are left out. Old rows come before all others of
            their key.

    Returns:
        The positions of left and of right rows.

    Cost: O(n + pairs).
    """
    rows = len(codes)
    at_hand = np.empty((2, rows), np.int64)
    counts = np.zeros(2, np.int64)
    lefts, rights = np.empty(rows + 1, np.int64), np.empty(rows + 1, np.int64)
    pairs = 0
    for i in range(rows):
        if i == 0 or codes[i] != codes[i - 1]:
            counts[:] = 0
        side = 1 if is_right[i] else 0
        other = 1 - side
        if not is_old[i]:
            kept = 0
            for k in range(counts[other]):
                j = at_hand[other, k]
                if ends[j] <= starts[i]:
                    continue
                at_hand[other, kept] = j
                kept += 1
                if pairs == len(lefts):
                    lefts = np.append(lefts, np.empty_like(lefts))
                    rights = np.append(rights, np.empty_like(rights))
                lefts[pairs] = j if side else i
                rights[pairs] = i if side else j
                pairs += 1
            counts[other] = kept
        at_hand[side, counts[side]] = i
        counts[side] += 1
    return lefts[:pairs].copy(), rights[:pairs].copy()


@kernel
def uncovered(
    starts: Times, ends: Times, rows: Positions, begins: Times, stops: Times
) -> tuple[Positions, Times, Times]:
    """Find the pieces of lifetimes that others do not cover.

    Args:
        starts: Where lifetimes begin.
        ends: Where they end.
        rows: Which row each cover is for, ascending; those of one row in order of their begins.
        begins: Where covers begin.
        stops: Where they end.

    Returns:
        For each piece its row, where it begins and where it ends; in order of rows and begins.

    Cost: O(n + covers), one pass.
    """
    most = len(starts) + len(rows)
    found, froms, tos = (
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
    )
    pieces = cover = 0
    for row in range(len(starts)):
        free = starts[row]
        while cover < len(rows) and rows[cover] == row:
            begin = min(begins[cover], ends[row])
            if begin > free:
                found[pieces], froms[pieces], tos[pieces] = row, free, begin
                pieces += 1
            free = max(free, stops[cover])
            cover += 1
        if free < ends[row]:
            found[pieces], froms[pieces], tos[pieces] = row, free, ends[row]
            pieces += 1
    return found[:pieces].copy(), froms[:pieces].copy(), tos[:pieces].copy()
