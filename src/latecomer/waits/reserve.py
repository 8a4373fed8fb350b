"""A reserve, so that not only the long run but also each period reaches the recall.

A recall in the long run allows a bad hour after a good day. Where each hour counts, fewer misses
are allowed at all times, so that even a bad hour stays within the recall:

    hour          1      2      3      4      5   …
    missed      0.8 %  4.0 %  0.9 %  0.9 %  0.7 %       1 % may be missed
    share       1      0.19   0.19   0.20   0.20        of what may be missed, that is allowed next

A period that falls short makes the reserve larger: by as much as it fell short, and a quarter more,
so that the next period like it would reach the recall. A period without a miss makes it 1 %
smaller; a period with fewer misses than allowed, by less. So the reserve covers the worst of the
last few hundred periods.

Why it holds. Let the reserve be r = −log(share), from 0 to log 1000. Each of S periods that fall
short raises it by 0.25 or more, each of the other P − S lowers it by 0.01 at the most. As long as
it has not reached log 1000, 0.25 S − 0.01 (P − S) is at most log 1000, so

    S ≤ P / 26 + 27

At its largest the reserve allows a thousandth of what may be missed, and the wait is at least the
longest delay that is remembered. A period can still fall short if its delays are longer than all
remembered ones. One with fewer than 1 / (1 − recall) rows falls short with a single miss.

Holds: `share` is from a thousandth to 1.
"""

from __future__ import annotations

from math import exp, inf, log
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from latecomer.arrays import Arrays

FADING = 0.01
"""Amount by which a period without misses lowers the reserve."""
MARGIN = 0.25
"""Amount by which a reserve is raised beyond what a period fell short."""
LARGEST = log(1_000)
"""The largest reserve: a thousandth of what may be missed."""
_NEARLY = 1e-9
"""Tolerance for rounding errors: 1 - 0.9 is below 0.1, and a share of 0.1 must not exceed it."""


class Reserve:
    """The part of the allowed misses of one recall that is kept back for bad periods."""

    def __init__(self, may_miss: float, within: int) -> None:
        """Begin without a reserve.

        Args:
            may_miss: The share of the rows that may be missed.
            within: The length of a period, in microseconds.
        """
        self._may_miss, self._within = may_miss, within
        self._kept = 0.0
        self._period, self._rows, self._missed = 0, 0, 0
        self.periods = 0
        """Number of periods that have ended."""
        self.short = 0
        """Number of periods that missed more than they may."""

    @property
    def share(self) -> float:
        """The share of what may be missed that is allowed next."""
        return exp(-self._kept)

    def learn(self, newest: int, rows: int, missed: int) -> None:
        """Count the rows of a micro-batch that came when `newest` had been seen."""
        period = newest // self._within
        if period != self._period:
            self._end()
            self._period = period
        self._rows += rows
        self._missed += missed

    def _end(self) -> None:
        if not self._rows:
            return
        over = self._missed / self._rows
        is_short = over > self._may_miss + _NEARLY
        self.periods += 1
        self.short += is_short
        gap = -inf if not over else log(over / self._may_miss) if self._may_miss else LARGEST
        self._kept += gap + MARGIN if is_short else FADING * min(max(gap, -1), 0)
        self._kept = min(max(self._kept, 0.0), LARGEST)
        self._rows = self._missed = 0

    def save(self) -> Arrays:
        counts = [self._period, self._rows, self._missed, self.periods, self.short]
        return {"kept": np.array([self._kept]), "counts": np.array(counts)}

    def load(self, arrays: Arrays) -> None:
        self._kept = float(arrays["kept"][0])
        counts = arrays["counts"].tolist()
        self._period, self._rows, self._missed, self.periods, self.short = counts
