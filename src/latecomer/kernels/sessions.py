"""Unite lifetimes that overlap, and number the sessions that they form."""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.jit import linear_kernel
from latecomer.time import Times


@linear_kernel
def united(codes: Positions, starts: Times, ends: Times, count: int) -> tuple[Positions, Times]:
    """Unite rows of one key whose lifetimes overlap, directly or through others.

    Args:
        codes: The key of each row, from 0 to below `count`.
        starts: Where lifetimes begin. Those of one key ascend.
        ends: Where they end.
        count: The number of keys.

    Returns:
        For each row, the first row of its group, and the latest end in the group.

    Cost: O(n + count), two passes.
    """
    rows = len(codes)
    firsts, reach, latest = np.empty(rows, np.int64), ends.copy(), np.full(count, -1)
    for i in range(rows):
        first = latest[codes[i]]
        if first >= 0 and starts[i] < reach[first]:
            reach[first] = max(reach[first], ends[i])
        else:
            first = latest[codes[i]] = i
        firsts[i] = first
    for i in range(rows):
        reach[i] = reach[firsts[i]]
    return firsts, reach


@linear_kernel
def numbered(codes: Positions, ends: Times, count: int) -> tuple[Positions, Positions]:
    """Number sessions. Rows of one key whose sessions have the same end are in one session.

    Args:
        codes: The key of each row, from 0 to below `count`.
        ends: When the session of each row ends. Those of one key ascend.
        count: The number of keys.

    Returns:
        The number of each row's session, in order of first rows; and the first row of each session.

    Cost: O(n + count), one pass.
    """
    rows = len(codes)
    numbers, firsts, latest = np.empty(rows, np.int64), np.empty(rows, np.int64), np.full(count, -1)
    made = 0
    for i in range(rows):
        number = latest[codes[i]]
        if number < 0 or ends[firsts[number]] != ends[i]:
            number = latest[codes[i]] = made
            firsts[made] = i
            made += 1
        numbers[i] = number
    return numbers, firsts[:made].copy()
