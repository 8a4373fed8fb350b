"""Put times in order, and say which row each of them was.

A time and the number of its row fit into one 64-bit word, unless the times are too far apart:
the numbers of 262,144 rows leave room for 407 days, those of 1,000 rows for 285 years.

    time − earliest │ row          ascending words are ascending times,
    ────────────────┼─────         and rows of equal time stay as they were
        40 bits     │ 18 bits

So a *stable argsort* becomes a plain sort of numbers. That is the one thing that processors now
have instructions for, and NumPy uses them. Where rows are badly disordered it sorts words faster
than it finds the order of times (`python -m benchmarks.sort --json`).

Rows that come as a few ascending pieces are another matter: there NumPy's stable sort, which merges
the pieces it finds, is the faster one, and rows in order already need no sort at all.
"""

import numpy as np
import numpy.typing as npt

from latecomer.batch import Positions
from latecomer.time import Times

Words = npt.NDArray[np.int64]

FEW_PIECES = 4
"""Up to so many ascending pieces are merged."""
FEW_ROWS = 1_000
"""So few rows are not worth packing."""
WORD_BITS = 63
"""One of the 64 is the sign."""


def stable_order(times: Times) -> Positions:
    """Order rows by time; rows of equal time keep their places."""
    pieces = 1 + int(np.count_nonzero(times[1:] < times[:-1]))
    if pieces == 1:
        return np.arange(len(times))
    low, bits = span(times)
    shift = index_bits(len(times))
    if pieces <= FEW_PIECES or len(times) < FEW_ROWS or bits + shift > WORD_BITS:
        return np.argsort(times, kind="stable")
    words = times - low
    words <<= shift
    words |= np.arange(len(times))
    words.sort()
    words &= (1 << shift) - 1
    return words


def span(times: Times) -> tuple[int, int]:
    """Find the earliest time, and how many bits the distance to the latest has."""
    low = int(times.min())
    return low, (int(times.max()) - low).bit_length()


def index_bits(rows: int) -> int:
    """Say how many bits the number of a row has."""
    return max(rows - 1, 0).bit_length()
