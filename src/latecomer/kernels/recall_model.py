"""The recall that a wait would give, and the smallest wait that gives enough.

A tuple that comes in order finds in each other window the tuples that have come by then. In the
newest part of the window, these are the tuples whose delay is within the wait. In older parts, the
delay may be longer by the age of the part. So the share F of tuples with up to some delay gives how
full each part of a window is:

    window          newest ◀── b ──▶◀── b ──▶◀── b ──▶ oldest
    how full               F(wait)  F(wait+b) F(wait+2b)

The longer the wait, the fuller the windows. The selectivity may vary from wait to wait in any way.
But no wait in a range is enough if its longest wait, with the best selectivity of the range, is
not. Such a range is skipped, and the next one is twice as long; any other range is halved.
"""

import numpy as np
import numpy.typing as npt

from latecomer.batch import Positions
from latecomer.kernels.jit import kernel
from latecomer.time import Times

Shares = npt.NDArray[np.float64]

NEARLY = 1 - 1e-9
"""Tolerance for rounding errors: a range is skipped only if it falls short by more than this."""


@kernel
def upto(counts: Positions, many: int) -> Shares:
    """Return the share of `many` that is counted up to each place; 1 if there are none.

    Cost: O(n).
    """
    found, total = np.ones(len(counts)), 0
    if many:
        for step in range(len(counts)):
            total += counts[step]
            found[step] = total / many
    return found


@kernel
def recall(
    wait: int, shares: Shares, ahead: Positions, windows: Times, steps: tuple[int, int]
) -> float:
    """Return an estimate of the recall of the cross join.

    Args:
        wait: In steps of the granularity.
        shares: For each stream, the share of its tuples with a delay of up to 0, 1, 2 … steps;
            beyond the last, the share is 1.
        ahead: The number of steps that each stream is ahead of the slowest.
        windows: The length of each stream's window.
        steps: The length of a step of the granularity, and that of a basic window.

    Cost: O(m · n) for n shares.
    """
    return _recall(wait, shares, _lacking(shares, steps), ahead, windows, steps)


@kernel
def _lacking(shares: Shares, steps: tuple[int, int]) -> Shares:
    """Return what each share lacks, with all those that basic windows take after it.

    The array is empty if basic windows are not whole steps.

    Cost: O(n).
    """
    granularity, basic = steps
    if basic % granularity:
        return np.empty((len(shares), 0))
    whole, last = basic // granularity, shares.shape[1]
    found = 1.0 - shares
    for i in range(len(shares)):
        for at in range(last - whole - 1, -1, -1):
            found[i, at] += found[i, at + whole]
    return found


@kernel
def _recall(
    wait: int,
    shares: Shares,
    lacking: Shares,
    ahead: Positions,
    windows: Times,
    steps: tuple[int, int],
) -> float:
    """Return the estimate, given also what `_lacking` returns.

    Cost: O(m²) if basic windows are whole steps, O(m · n) for n basic windows otherwise.
    """
    granularity, basic = steps
    # The number of whole steps in a basic window, and the remainder. A division in the loop would
    # cost more than the rest of it.
    whole, rest = basic // granularity, basic % granularity
    many, last = shares.shape
    fullness, in_order = np.empty(many), np.empty(many)
    for i in range(many):
        base = wait + ahead[i]
        in_order[i] = shares[i, base] if base < last else 1.0
        start, at, left, full = 0, base, 0, 0.0
        if not rest and base < last and windows[i] > 0:
            parts = (windows[i] - 1) // basic + 1
            behind, oldest = base + parts * whole, base + (parts - 1) * whole
            lack = basic * (lacking[i, base] - (lacking[i, behind] if behind < last else 0.0))
            if oldest < last:
                # The oldest part may be shorter than the others.
                lack -= (parts * basic - windows[i]) * (1.0 - shares[i, oldest])
            start, full = windows[i], windows[i] - lack
        while start < windows[i]:
            width = min(basic, windows[i] - start)
            if at >= last:
                # The older parts of the window are complete.
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
        # The product of the lengths of the other windows, divided by that of all windows.
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
    """Return the smallest wait whose estimated recall is enough.

    Args:
        enough: The recall to be reached.
        ratios: For each wait to try, the selectivity under it divided by the true one.
        model: The arguments of `recall` other than the wait.

    Returns:
        The wait in steps. If none is enough, one more than the longest that was tried.

    Cost: O(n + log² n · recall) for n waits, if few of them are nearly enough.
    """
    shares, ahead, windows, steps = model
    lacking = _lacking(shares, steps)
    start, size = 0, len(ratios)
    while start < len(ratios):
        stop = min(start + size, len(ratios))
        last = _recall(stop - 1, shares, lacking, ahead, windows, steps)
        if ratios[start:stop].max() * last < enough * NEARLY:
            start, size = stop, 2 * size
        elif size > 1:
            size = (stop - start + 1) // 2
        elif ratios[start] * last >= enough:
            return start
        else:
            start += 1
    return len(ratios)
