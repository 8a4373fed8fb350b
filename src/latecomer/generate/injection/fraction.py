"""Find the share of rows to delay, so that a given fraction of all is out of order.

Share and fraction differ: a delayed row is out of order only if a newer one overtakes it. A row
that is delayed by less than the gap to the next row is not overtaken, nor is one among rows that
all have the same delay. The fraction does not even grow with the share: if all rows are delayed by
the same time, it falls back to zero.

So shares are tried. They are nested (a larger share delays the same rows, and some more), which
makes the fraction nearly continuous. Sixteen shares are tried at once, then sixteen between the two
that enclose the wanted fraction, and so on. A try is cheap (`latecomer.kernels.overtaking`), and
on Spark sixteen tries are one job.

**Holds:** the same rows give the same share, wherever the counting is done.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

TRIES = 16
ROUNDS = 8
CLOSE = 0.0002
"""The search ends once the fraction is this close: a tenth of `GOOD`."""
GOOD = 0.002
"""Largest difference from the requested fraction without a warning."""
WIDE, MANY = 1 / 16, 256
"""If `GOOD` is not met, `MANY` shares are tried up to `WIDE` to both sides of the best."""


class Found(NamedTuple):
    """A share of rows to delay, and the rows that are then out of order and delayed."""

    share: float
    out_of_order: int
    delayed: int


def find_share(
    fraction: float, rows: int, count: Callable[[Sequence[float]], Sequence[tuple[int, int]]]
) -> tuple[Found, Found]:
    """Return the share that comes closest to a fraction, and the result of delaying no row.

    If several shares come equally close, the smallest one tried is returned. `count` returns the
    rows out of order and the rows delayed for each of some shares.
    """
    wanted = fraction * rows

    def run(shares: list[float]) -> list[Found]:
        return [Found(share, *counts) for share, counts in zip(shares, count(shares), strict=True)]

    def nearest(tried: list[Found]) -> Found:
        return min(tried, key=lambda found: abs(found.out_of_order - wanted))

    tried = run(np.linspace(0, 1, TRIES + 1).tolist())
    undelayed, best = tried[0], nearest(tried)
    if undelayed.out_of_order >= wanted:
        return undelayed, undelayed
    for _ in range(ROUNDS):
        low, high = _around(tried, wanted)
        if abs(best.out_of_order - wanted) <= max(CLOSE * rows, 0.5):
            break
        inner = run(np.linspace(low.share, high.share, TRIES + 1)[1:-1].tolist())
        tried = [low, *inner, high]
        best = nearest([best, *tried])
    if abs(best.out_of_order - wanted) > GOOD * rows:
        # Near its peak the fraction is flat and noisy, and a narrow search may miss a spike.
        around = np.linspace(max(best.share - WIDE, 0), min(best.share + WIDE, 1), MANY)
        best = nearest([best, *run(around.tolist())])
    return best, undelayed


def _around(tried: list[Found], wanted: float) -> tuple[Found, Found]:
    """Return the first two neighbours that enclose the wanted count, or those of the highest."""
    for low, high in pairwise(tried):
        if low.out_of_order <= wanted <= high.out_of_order:
            return low, high
    counts = [found.out_of_order for found in tried]
    at = counts.index(max(counts))
    return tried[max(at - 1, 0)], tried[min(at + 1, len(tried) - 1)]
