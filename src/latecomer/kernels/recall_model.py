"""The recall that a wait would give, and the smallest wait that gives enough.

A tuple that comes in order finds in each other window what has come by then. Of the newest part of
the window that is whatever has no delay left, of older parts what has a delay no longer than
the part is old. So the share F of tuples by delay tells how full a window is:

    window          newest ◀── b ──▶◀── b ──▶◀── b ──▶ oldest
    how full               F(wait)  F(wait+b) F(wait+2b)

Every longer wait finds windows fuller, so the smallest that is good enough can be bisected, but
for the selectivity: it differs from wait to wait in any way. It changes only at delays that were
seen in the last interval, and between two of them the model rises.
"""

import numpy as np
import numpy.typing as npt

from latecomer.batch import Positions
from latecomer.kernels.jit import kernel
from latecomer.time import Times

Shares = npt.NDArray[np.float64]


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
    many, last = shares.shape
    fullness, in_order = np.empty(many), np.empty(many)
    for i in range(many):
        base = wait + ahead[i]
        in_order[i] = shares[i, base] if base < last else 1.0
        start, full = 0, 0.0
        while start < windows[i]:
            width = min(basic, windows[i] - start)
            at = base + start // granularity
            if at >= last:
                # Nothing is missing from here on.
                full += windows[i] - start
                break
            full += width * shares[i, at]
            start += width
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
    enough: float,
    ratios: Shares,
    model: tuple[Shares, Positions, Times, tuple[int, int]],
) -> int:
    """Find the smallest wait whose estimated recall is enough.

    Args:
        enough: The recall to be reached.
        ratios: For each wait that is tried, the selectivity under it over the true one.
        model: The arguments of `recall`, but for the wait.

    Returns:
        The wait in steps; one more than all that were tried if none is enough.

    Cost: O((r + log n) · recall) for n waits; r is how often the ratio changes between the first
    wait that the best of all ratios would make enough and the one that is.
    """
    # A wait below this one is not enough with any ratio; rounding must not rule one out.
    best = max(ratios.max(), 1e-300)
    start = _bisected(0, len(ratios) - 1, enough / best * (1 - 1e-9), model)
    while start < len(ratios):
        stop = start + 1
        while stop < len(ratios) and ratios[stop] == ratios[start]:
            stop += 1
        ratio, last = ratios[start], stop - 1
        if ratio * recall(last, *model) >= enough:
            return _bisected(start, last, enough, model, ratio)
        start = stop
    return len(ratios)


@kernel
def _bisected(
    low: int,
    high: int,
    enough: float,
    model: tuple[Shares, Positions, Times, tuple[int, int]],
    ratio: float = 1.0,
) -> int:
    """Find the smallest of some waits that is enough; the last one if no other is."""
    while low < high:
        middle = (low + high) // 2
        if ratio * recall(middle, *model) >= enough:
            high = middle
        else:
            low = middle + 1
    return low
