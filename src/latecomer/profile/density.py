"""Rows counted in the cells of a grid: a picture of a whole stream, of a bounded size.

A scatter of twenty million rows cannot be drawn, and a sample of it would leave out just the few
rows that matter. So every row is counted in a cell, which spans so many arrivals and so many
heights (times, or levels of delay):

    time ▲            ░▓
         │      ░▓ ░▓▓░        a cell: 2^wide arrivals, 2^high microseconds
         │  ░▓▓▓░ ░    ░
         └────────────────▶ arrivals

Cells begin at multiples of their size, and their size is a power of two, so that a grid is made
coarser by joining neighbours. The size of the cells depends on the number of rows and on the
smallest and largest height alone: **counting in pieces, of whatever size, gives the same grid.**
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
    """The cells that are not empty, from left to right, and from the lowest to the highest."""

    wide: int
    """A cell spans 2^wide arrivals."""
    high: int
    """A cell spans 2^high heights."""
    columns: Counts
    """A column begins at its number times the width."""
    heights: Counts
    rows: Counts
    """Number of rows that are in each cell."""


def fitting(lowest: int, highest: int, cells: int) -> int:
    """Find the smallest power of two for which so many cells reach from one end to the other."""
    size = 0
    while (highest >> size) - (lowest >> size) >= cells:
        size += 1
    return size


class DensityCounter:
    """Counts rows in cells, as they come."""

    def __init__(self, columns: int = COLUMNS, rows: int = ROWS) -> None:
        """Begin with no rows, for a grid of at most so many cells."""
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
        """Return what was counted so far."""
        return self._cells


def joined(size: tuple[int, int], columns: Counts, heights: Counts, rows: Counts) -> Density:
    """Add up the rows of cells that are there more than once.

    Args:
        size: What a cell spans: 2^wide arrivals and 2^high heights.
        columns: The column of each cell.
        heights: The height of each cell.
        rows: How many rows are in it.
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
