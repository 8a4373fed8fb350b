"""ADWIN: a window over the recent past, as long as it resembles the present.

A window of recent values grows with each value, and is cut from its old end as soon as the mean of
an older part differs from the mean of the rest by more than chance explains. Values are kept as
sums over buckets of 1, 2, 4, 8 … values, at most five of a size, so that a window of a million
costs some hundred numbers:

    newest                                                oldest
    1 1 1 │ 2 2 2 2 │ 4 4 4 │ 8 8 8 8 8 │ 16 16 16          a cut may fall between any two

Paper: Bifet, Gavaldà: Learning from Time-Changing Data with Adaptive Windowing (SDM 2007), ADWIN2;
    the paper on quality-driven joins sizes its history of delays with it (Section IV-A).
Symbols: δ → `delta`, ε_cut → `bound`.
Departures: the bound of the paper is for values from 0 to 1; ours takes their `reach`, so that
    values may be in any unit. Cuts are looked for at each `CLOCK`-th value, as in the
    implementations of MOA and river.
Holds: the buckets add up to the window.
"""

from math import log, sqrt

import numpy as np
import numpy.typing as npt

from latecomer.batch import Positions
from latecomer.kernels.jit import linear_kernel

Values = npt.NDArray[np.float64]
State = tuple[Values, Values, Positions, Values]
"""The sums of the buckets of each size, the oldest first; their variances times their size; the
number of buckets of each size; and, for the whole window, its number of values, their sum, their
variance times that number, the number of values ever taken in, and the largest size in use."""

SIZES = 40
"""Buckets of up to 2^39 values."""
MOST_BUCKETS = 5
CLOCK, GRACE, SHORTEST = 32, 10, 5
"""Number of values between two searches for cuts; size above which a window is searched; and least
number of values on each side of a cut."""
WIDTH, TOTAL, VARIANCE, TICKS, LAST = range(5)


def adwin_state() -> State:
    """Return an empty window."""
    shape = (SIZES, MOST_BUCKETS + 1)
    return np.zeros(shape), np.zeros(shape), np.zeros(SIZES, np.int64), np.zeros(5)


def bucket_sizes(state: State) -> Positions:
    """Return the number of values in each bucket of a window, the newest first."""
    _, _, counts, _ = state
    return np.repeat(2 ** np.arange(SIZES), counts)


@linear_kernel
def adwin(values: Values, state: State, delta: float, reach: float) -> Positions:
    """Add values to a window, and return its length after each.

    Args:
        values: In order.
        state: The window, which is changed.
        delta: The probability of a cut where nothing has changed.
        reach: The largest difference that two values can have.

    Cost: O(1) for each value on average, and O(log n) for each `CLOCK`-th.
    """
    _, _, _, window = state
    widths = np.empty(len(values), np.int64)
    for i in range(len(values)):
        _insert(values[i], state)
        window[TICKS] += 1
        if window[TICKS] % CLOCK == 0 and window[WIDTH] > GRACE:
            while _has_cut(state, delta, reach):
                _drop_oldest(state)
        widths[i] = window[WIDTH]
    return widths


@linear_kernel
def _insert(value: float, state: State) -> None:
    totals, variances, counts, window = state
    totals[0, counts[0]], variances[0, counts[0]] = value, 0.0
    counts[0] += 1
    if window[WIDTH] > 0:
        apart = value - window[TOTAL] / window[WIDTH]
        window[VARIANCE] += window[WIDTH] * apart * apart / (window[WIDTH] + 1)
    window[WIDTH] += 1
    window[TOTAL] += value
    size = 0
    while counts[size] > MOST_BUCKETS:
        # The two oldest become one of the next size.
        half = 2.0**size
        apart = (totals[size, 0] - totals[size, 1]) / half
        at = counts[size + 1]
        totals[size + 1, at] = totals[size, 0] + totals[size, 1]
        spread = half * apart * apart / 2
        variances[size + 1, at] = variances[size, 0] + variances[size, 1] + spread
        counts[size + 1] += 1
        _shift(totals[size], variances[size], 2)
        counts[size] -= 2
        size += 1
        window[LAST] = max(window[LAST], size)


@linear_kernel
def _shift(totals: Values, variances: Values, by: int) -> None:
    for k in range(len(totals) - by):
        totals[k], variances[k] = totals[k + by], variances[k + by]


@linear_kernel
def _drop_oldest(state: State) -> None:
    totals, variances, counts, window = state
    size = int(window[LAST])
    many = 2.0**size
    window[WIDTH] -= many
    window[TOTAL] -= totals[size, 0]
    apart = totals[size, 0] / many - window[TOTAL] / window[WIDTH]
    spread = many * window[WIDTH] * apart * apart / (many + window[WIDTH])
    window[VARIANCE] -= variances[size, 0] + spread
    _shift(totals[size], variances[size], 1)
    counts[size] -= 1
    if counts[size] == 0:
        window[LAST] -= 1


@linear_kernel
def _has_cut(state: State, delta: float, reach: float) -> bool:
    """Return True if the mean of an old part differs from that of the rest by more than chance."""
    totals, _, counts, window = state
    old, total = 0.0, 0.0
    chance = log(2 * log(window[WIDTH]) / delta)
    # Rounding may leave a small negative number.
    variance = max(window[VARIANCE] / window[WIDTH], 0.0)
    for size in range(int(window[LAST]), -1, -1):
        for k in range(counts[size]):
            old += 2.0**size
            total += totals[size, k]
            new = window[WIDTH] - old
            if old < SHORTEST or new < SHORTEST:
                continue
            apart = abs(total / old - (window[TOTAL] - total) / new)
            inverse = 1 / (old - SHORTEST + 1) + 1 / (new - SHORTEST + 1)
            bound = sqrt(2 * inverse * variance * chance) + 2 / 3 * reach * chance * inverse
            if apart > bound:
                return True
    return False
