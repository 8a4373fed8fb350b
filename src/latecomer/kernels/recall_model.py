"""The recall that a wait would give, and the smallest wait that gives enough.

A tuple that comes in order finds in each other window what has come by then. Of the newest part of
the window that is whatever has no delay left, of older parts what has a delay no longer than
the part is old. So the share F of tuples by delay tells how full a window is:

    window          newest ◀── b ──▶◀── b ──▶◀── b ──▶ oldest
    how full               F(wait)  F(wait+b) F(wait+2b)

Every longer wait finds windows fuller. The selectivity differs from wait to wait in any way, but a
stretch of waits has none that is enough if the last of them is not with the best selectivity among
them. Such stretches are passed over, each twice as long as the one before; any other is halved.
"""

import numpy as np
import numpy.typing as npt

from latecomer.batch import Positions
from latecomer.kernels.jit import kernel
from latecomer.time import Times

Shares = npt.NDArray[np.float64]

NEARLY = 1 - 1e-9
"""Sums are rounded: a stretch is passed over only if it falls short by more than that."""


@kernel
def recall(
    wait: int, shares: Shares, ahead: Positions, windows: Times, steps: tuple[int, int]
) -> float:
    """Estimate the recall of the cross join.

    Args:
        wait: In steps of the granularity.
        shares: For each stream, which share of its tuples has a delay of up to 0, 1, 2 … steps;
            all of them beyond the last.
        ahead: How many steps each stream is ahead of the slowest.
        windows: How long the window of each stream is.
        steps: How long a step of the granularity is, and a basic window.

    Cost: O(m · n) for n basic windows.
    """
    granularity, basic = steps
    # How many whole steps a basic window has, and what is left: a division in the loop costs more
    # than all the rest.
    whole, rest = basic // granularity, basic % granularity
    many, last = shares.shape
    fullness, in_order = np.empty(many), np.empty(many)
    for i in range(many):
        base = wait + ahead[i]
        in_order[i] = shares[i, base] if base < last else 1.0
        start, at, left, full = 0, base, 0, 0.0
        while start < windows[i]:
            width = min(basic, windows[i] - start)
            if at >= last:
                # Nothing is missing from here on.
                full += windows[i] - start
                break
            full += width * shares[i, at]
            start += width
            at, left = at + whole, left + rest
            if left >= granularity:
                at, left = at + 1, left - granularity
        fullness[i] = full / windows[i] if windows[i] > 0 else in_order[i]
    found, weights = 0.0, 0.0
    for i in range(many):
        # The product of the other windows, over that of all of them.
        weight = 1.0 / max(windows[i], 1)
        product = weight * in_order[i]
        for j in range(many):
            if j != i:
                product *= fullness[j]
        found += product
        weights += weight
    return found / weights


@kernel
def smallest_wait(
    enough: float, ratios: Shares, model: tuple[Shares, Positions, Times, tuple[int, int]]
) -> int:
    """Find the smallest wait whose estimated recall is enough.

    Args:
        enough: The recall to be reached.
        ratios: For each wait that is tried, the selectivity under it over the true one.
        model: The arguments of `recall`, but for the wait.

    Returns:
        The wait in steps; one more than all that were tried if none is enough.

    Cost: O(n + log² n · recall) for n waits, if few of them are nearly enough.
    """
    start, size = 0, len(ratios)
    while start < len(ratios):
        stop = min(start + size, len(ratios))
        if ratios[start:stop].max() * recall(stop - 1, *model) < enough * NEARLY:
            start, size = stop, 2 * size
        elif size > 1:
            size = (stop - start + 1) // 2
        elif ratios[start] * recall(start, *model) >= enough:
            return start
        else:
            start += 1
    return len(ratios)
