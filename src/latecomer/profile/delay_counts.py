"""Count rows by delay, which is all that is needed to choose a wait.

A row is in time iff its delay is not longer than the wait. So counts by ascending delay give the
rows in time for a wait, and the wait for a share of rows:

    delay   0    2    6          a wait of 2 keeps 4 of 5 rows in time
    rows    3    1    1          to keep 80 % of them in time, wait 2

A stream of any length has few distinct delays if its times are coarse or its disorder is small.
Every count is then exact. If there are more than `MOST_DISTINCT`, delays are *rounded up* to eleven
binary digits. That adds less than 0.1 % (1/1024) and leaves at most some 56,000 distinct values. It
errs on the safe side: a rounded wait is never too short, and a row counted as in time is in time.
The number of rows, the number out of order and the largest delay stay exact.

Rounding depends on the delay alone. So counts taken in parts, on other machines or in another
order, add up to the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np
import numpy.typing as npt

Delays = npt.NDArray[np.uint64]
"""Delays in microseconds; the difference of any two int64 fits."""

MOST_DISTINCT = 1 << 20
"""Largest number of distinct delays that are counted exactly: 16 MB."""
ERROR = 1 / 1024
"""Largest relative error of a delay that is rounded up."""

_DIGITS = 11
_PENDING = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class DelayCounts:
    """Number of rows by delay. Delays ascend, and are distinct."""

    delays: Delays
    rows: npt.NDArray[np.int64]
    largest: int
    """Largest delay, exact."""
    is_exact: bool
    """Whether no delay was rounded up."""

    @property
    def total(self) -> int:
        """Number of rows."""
        return int(self.rows.sum())

    @property
    def out_of_order(self) -> int:
        """Number of rows that have a delay."""
        return int(self.rows[self.delays > 0].sum())

    def in_time(self, waits: Sequence[int]) -> list[int]:
        """Return, for each wait, the number of rows whose delay is not longer."""
        upto = np.concatenate([[0], np.cumsum(self.rows)])
        return [int(upto[at]) for at in self._upto(waits)]

    def wait_for(self, share: float) -> int:
        """Return the smallest wait for which at least this share of the rows is in time."""
        if not len(self.delays):
            return 0
        # 0.07 * 100 is a little more than 7 in floats, and would count one row too many.
        enough = ceil(Fraction(str(share)) * self.total)
        at = np.searchsorted(np.cumsum(self.rows), enough, side="left")
        return int(self.delays[at])

    def held(self, wait: int) -> float:
        """Return how long rows in time are held in all, in microseconds of the stream's clock."""
        upto = int(self._upto([wait])[0])
        behind = self.delays[:upto].astype(float)
        return float(((wait - behind) * self.rows[:upto]).sum())

    def _upto(self, waits: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return, for each wait, the number of distinct delays that are not longer."""
        # A wait longer than any possible delay is cut to the longest that fits.
        asked = np.array([min(wait, 2**64 - 1) for wait in waits], np.uint64)
        return np.searchsorted(self.delays, asked, side="right")


class DelayCounter:
    """Counts rows by delay as they come; holds at most a few million numbers."""

    def __init__(self, most_distinct: int = MOST_DISTINCT) -> None:
        """Begin with no rows; more distinct delays than this are rounded up."""
        self._most = most_distinct
        self._in_order = 0
        self._delays = np.empty(0, np.uint64)
        self._rows = np.empty(0, np.int64)
        self._pending: list[tuple[Delays, npt.NDArray[np.int64]]] = []
        self._pending_rows = 0
        self._largest = 0
        self._is_exact = True

    def add(self, delays: Delays) -> None:
        """Count more rows."""
        behind = delays[delays > 0]
        self._in_order += len(delays) - len(behind)
        self.add_counts(*np.unique(behind, return_counts=True))

    def add_counts(self, delays: Delays, rows: npt.NDArray[np.int64]) -> None:
        """Count more rows, given distinct delays and the number of rows with each."""
        is_behind = delays > 0
        if not is_behind.all():
            self._in_order += int(rows[~is_behind].sum())
            delays, rows = delays[is_behind], rows[is_behind]
        if not len(delays):
            return
        self._largest = max(self._largest, int(delays.max()))
        self._pending.append((delays, rows))
        self._pending_rows += len(delays)
        if self._pending_rows >= _PENDING:
            self._settle()

    def result(self) -> DelayCounts:
        """Return the counts so far."""
        self._settle()
        delays, rows = self._delays, self._rows
        if self._in_order:
            zero = np.zeros(1, np.uint64), np.array([self._in_order], np.int64)
            delays, rows = _added([zero, (delays, rows)])
        # The last delay may have been rounded up beyond the largest. Only it can change here.
        delays = np.minimum(delays, np.uint64(self._largest))
        return DelayCounts(delays, rows, self._largest, self._is_exact)

    def _settle(self) -> None:
        self._delays, self._rows = _added([(self._delays, self._rows), *self._pending])
        self._pending, self._pending_rows = [], 0
        if self._is_exact and len(self._delays) <= self._most:
            return
        self._is_exact = False
        self._delays, self._rows = _added([(rounded_up(self._delays), self._rows)])


def rounded_up(delays: Delays) -> Delays:
    """Return delays rounded up to eleven binary digits; those below 2,048 stay as they are."""
    shift = np.maximum(_bit_length(delays) - _DIGITS, 0).astype(np.uint64)
    return delays | ((np.uint64(1) << shift) - np.uint64(1))


def _bit_length(values: Delays) -> npt.NDArray[np.int64]:
    # A float has 53 binary digits, so a value just below a power of two may be rounded up to it.
    length = np.frexp(values.astype(float))[1].astype(np.int64)
    floor = np.uint64(1) << np.maximum(length - 1, 0).astype(np.uint64)
    is_too_long = (length > 64) | ((floor > values) & (length > 0))  # noqa: PLR2004  bits
    return length - is_too_long


LEVELS = 256
"""An upper bound on the number of levels."""


def level(delays: Delays) -> npt.NDArray[np.int64]:
    """Return the level of each delay, for figures: four levels for each doubling.

    delay   0  1  2  3  4  5  6  7  8  9  10  11  12 …
    level   0  1  2  3  4  5  6  7  8  8   9   9  10 …
    """
    shift = np.maximum(_bit_length(delays) - 3, 0)
    return (shift << 2) + (delays >> shift.astype(np.uint64)).astype(np.int64)


def level_start(number: int) -> int:
    """Return the smallest delay of a level."""
    shift = max((number >> 2) - 1, 0)
    return (number - (shift << 2)) << shift


def _added(
    parts: list[tuple[Delays, npt.NDArray[np.int64]]],
) -> tuple[Delays, npt.NDArray[np.int64]]:
    """Return the sum of counts, which may be in any order and have a delay more than once."""
    delays = np.concatenate([part[0] for part in parts])
    rows = np.concatenate([part[1] for part in parts])
    if not len(delays):
        return delays, rows
    # Most parts are ascending, and a stable sort merges ascending parts quickly.
    order = np.argsort(delays, kind="stable")
    delays, rows = delays[order], rows[order]
    starts = np.flatnonzero(np.concatenate([[True], delays[1:] != delays[:-1]]))
    return delays[starts], np.add.reduceat(rows, starts)
