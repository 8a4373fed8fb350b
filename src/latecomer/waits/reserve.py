"""A reserve for each period: what may be missed next, so that no hour by itself falls short.

A recall in the long run allows a bad hour after a good day. Where each hour counts, less is allowed
at all times, so that a bad hour misses no more than an ordinary one may:

    hour          1      2      3      4      5   …
    missed      0.8 %  4.0 %  0.9 %  0.9 %  0.7 %       1 % may be missed
    share       1      0.19   0.19   0.20   0.20        of what may be missed, that is allowed next

A period that falls short makes the reserve larger: by as much as it fell short, and a quarter more,
so that the next one like it would be enough. A period without a miss makes it 1 % smaller; one with
fewer misses than it may have, by less. So a reserve is for the worst of the last few hundred
periods.

Why it holds. Let the reserve be r = −log(share), from 0 to log 1000. Each of S periods that fall
short raises it by 0.25 or more, each of the other P − S lowers it by 0.01 at the most. As long as
it has not reached log 1000, 0.25 S − 0.01 (P − S) is at most log 1000, so

    S ≤ P / 26 + 27

At its largest the reserve allows a thousandth of what may be missed, and the wait is at least the
longest delay that is remembered. Delays that are longer still, each time, can make any period fall
short; and so can a single miss, where a period has fewer than 1 / (1 − recall) rows.

Holds: `share` is from a thousandth to 1.
"""

from __future__ import annotations

from math import exp, inf, log
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from latecomer.arrays import Arrays

FADING = 0.01
"""How much of a reserve a period without misses gives up, at the most."""
MARGIN = 0.25
"""How much larger a reserve becomes than it would have had to be."""
LARGEST = log(1_000)
"""The largest reserve: a thousandth of what may be missed."""
_NEARLY = 1e-9
"""Shares are rounded: 1 - 0.9 is below a tenth, and a tenth does not fall short of it."""


class Reserve:
    """What is kept back of what one recall may miss, for periods of one length."""

    def __init__(self, may_miss: float, within: int) -> None:
        """Begin without a reserve.

        Args:
            may_miss: The share of the rows that may be missed.
            within: How long a period is, in microseconds.
        """
        self._may_miss, self._within = may_miss, within
        self._kept = 0.0
        self._period, self._rows, self._missed = 0, 0, 0
        self.periods = 0
        """Number of periods that have ended."""
        self.short = 0
        """How many of them have missed more than they may."""

    @property
    def share(self) -> float:
        """The share of what may be missed that is allowed next."""
        return exp(-self._kept)

    def learn(self, newest: int, rows: int, missed: int) -> None:
        """Take note of a micro-batch that came when `newest` had been seen."""
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
