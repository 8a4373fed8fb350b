"""Count rows in the cells of a grid: a picture of a whole stream, of bounded size.

A scatter plot of twenty million rows cannot be drawn, and a sample would leave out the few rows
that matter. So every row is counted in a cell, which spans a range of arrivals and a range of
heights (times, or levels of delay):

    time ▲            ░▓
         │      ░▓ ░▓▓░        a cell: 2^wide arrivals, 2^high microseconds
         │  ░▓▓▓░ ░    ░
         └────────────────▶ arrivals

Cells begin at multiples of their size, and their size is a power of two, so that joining neighbours
makes a grid coarser. The size of the cells depends only on the number of rows and on the smallest
and largest height: **counting in parts, of whatever size, gives the same grid.**
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from latecomer.time import Times

Counts = npt.NDArray[np.int64]

COLUMNS = 256
ROWS = 160


@dataclass(frozen=True, slots=True, eq=False)
class Density:
    """The cells that are not empty, from left to right, and in each column from bottom to top."""

    wide: int
    """Width of a cell, as a power of two: it spans 2^wide arrivals."""
    high: int
    """Height of a cell, as a power of two: it spans 2^high heights."""
    columns: Counts
    """Column of each cell; column c begins at arrival c · 2^wide."""
    heights: Counts
    rows: Counts
    """Number of rows in each cell."""


def fitting(lowest: int, highest: int, cells: int) -> int:
    """Return the smallest exponent e for which at most `cells` cells of size 2^e are needed."""
    size = 0
    while (highest >> size) - (lowest >> size) >= cells:
        size += 1
    return size


class DensityCounter:
    """Counts rows in cells as they come."""

    def __init__(self, columns: int = COLUMNS, rows: int = ROWS) -> None:
        """Begin with no rows, for a grid of at most this many columns and rows of cells."""
        self._most = columns, rows
        self._seen = 0
        self._low = self._high = 0
        nothing = np.empty(0, np.int64)
        self._cells = Density(0, 0, nothing, nothing, nothing)

    def add(self, heights: Times) -> None:
        """Count more rows, in order of arrival."""
        if not len(heights):
            return
        low, high = int(heights.min()), int(heights.max())
        self._low = min(self._low, low) if self._seen else low
        self._high = max(self._high, high) if self._seen else high
        at = np.arange(self._seen, self._seen + len(heights))
        self._seen += len(heights)
        wide = fitting(0, self._seen - 1, self._most[0])
        tall = fitting(self._low, self._high, self._most[1])
        old = self._cells
        self._cells = joined(
            (wide, tall),
            np.concatenate([old.columns >> (wide - old.wide), at >> wide]),
            np.concatenate([old.heights >> (tall - old.high), heights >> tall]),
            np.concatenate([old.rows, np.ones(len(heights), np.int64)]),
        )

    def result(self) -> Density:
        """Return the counts so far."""
        return self._cells


def joined(size: tuple[int, int], columns: Counts, heights: Counts, rows: Counts) -> Density:
    """Return a grid in which cells that are given more than once are added up.

    `size` has the exponents `wide` and `high` of a cell's size, the others a value for each cell.
    """
    if not len(rows):
        return Density(*size, columns, heights, rows)
    lowest = heights.min()
    tall = int(heights.max() - lowest) + 1
    code = columns * tall + (heights - lowest)
    # Exact: a float holds counts up to 2^53.
    counts = np.bincount(code, weights=rows).astype(np.int64)
    filled = np.flatnonzero(counts)
    return Density(*size, filled // tall, filled % tall + lowest, counts[filled])
