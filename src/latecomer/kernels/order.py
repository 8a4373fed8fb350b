"""Put times in order, and say which row each of them was.

A time and the number of its row fit into one 64-bit word, unless the times are too far apart:
the numbers of 262,144 rows leave room for 407 days, those of 1,000 rows for 285 years.

    time − earliest │ row          ascending words are ascending times,
    ────────────────┼─────         and rows of equal time stay as they were
        40 bits     │ 18 bits

So a *stable argsort* becomes a plain sort of numbers, which is several times as fast where rows are
badly disordered (`python -m benchmarks.sort --json`). `kernels.radix` sorts words in 4 to 8 ns a
row, on any processor. It is compiled, and loading the compiler takes half a second, which the first
answer of a query should not wait for. So NumPy sorts the words until either the compiler is loaded
anyway or so many rows have been sorted that loading it pays.

Rows that come as a few ascending pieces are another matter: there NumPy's stable sort, which merges
the pieces it finds, is the faster one, and rows in order already need no sort at all.
"""

import sys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from latecomer.batch import Positions
from latecomer.time import Times

Words = npt.NDArray[np.uint64]

FEW_PIECES = 4
"""Up to so many ascending pieces are merged."""
FEW_ROWS = 1_000
"""So few rows are not worth packing."""
WORD_BITS = 63
"""One of the 64 is the sign."""
WORTH_COMPILING = 20_000_000
"""By then NumPy has taken about as much longer as it takes to load the compiled sort."""


@dataclass(slots=True)
class Sorted:
    """How many rows this process has sorted by words without the compiled sort."""

    rows: int = 0


_BY_NUMPY = Sorted()


def stable_order(times: Times) -> Positions:
    """Order rows by time; rows of equal time keep their places."""
    pieces = 1 + int(np.count_nonzero(times[1:] < times[:-1]))
    if pieces == 1:
        return np.arange(len(times))
    low, bits = span(times)
    shift = index_bits(len(times))
    if pieces <= FEW_PIECES or len(times) < FEW_ROWS or bits + shift > WORD_BITS:
        return np.argsort(times, kind="stable")
    if is_compiler_worth_it():
        from latecomer.kernels.radix import radix_order

        return radix_order(times, low, bits, shift)
    _BY_NUMPY.rows += len(times)
    words = times - low
    words <<= shift
    words |= np.arange(len(times))
    words.sort()
    words &= (1 << shift) - 1
    return words


def is_compiler_worth_it() -> bool:
    """Return True if the compiler is loaded already, or enough has been sorted to load it."""
    return "numba" in sys.modules or _BY_NUMPY.rows > WORTH_COMPILING


def span(times: Times) -> tuple[int, int]:
    """Find the earliest time, and how many bits the distance to the latest has."""
    low = int(times.min())
    return low, (int(times.max()) - low).bit_length()


def index_bits(rows: int) -> int:
    """Return how many bits the number of a row has."""
    return max(rows - 1, 0).bit_length()
