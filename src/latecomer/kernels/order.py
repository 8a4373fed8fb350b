"""Find the order of rows by time, with a stable sort.

A time and the number of its row fit into one 64-bit word, unless the times are too far apart:
the numbers of 262,144 rows leave room for 407 days, those of 1,000 rows for 285 years.

    time − earliest │ row          ascending words are ascending times,
    ────────────────┼─────         and rows of equal time stay as they were
        40 bits     │ 18 bits

So a *stable argsort* becomes a plain sort of numbers, which is several times as fast where rows are
badly disordered (`python -m benchmarks.sort --json`). `kernels.radix` sorts words in 4 to 8 ns a
row, on any processor. It is compiled, and loading the compiler takes half a second, which the first
answer of a query should not wait for. So NumPy sorts the words until the compiler has been loaded
anyway, or until so many rows have been sorted that loading it pays.

Rows that consist of a few ascending pieces are sorted by NumPy's stable sort, which merges the
pieces it finds and is faster there. Rows that are already in order need no sort.
"""

import sys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from latecomer.batch import Positions
from latecomer.time import Times

Words = npt.NDArray[np.uint64]

FEW_PIECES = 4
"""Largest number of ascending pieces that are merged."""
FEW_ROWS = 1_000
"""Number of rows below which packing does not pay."""
WORD_BITS = 63
"""Bits of a word that can be used; one of the 64 is the sign."""
WORTH_COMPILING = 20_000_000
"""Number of rows after which NumPy has lost about as much time as loading the compiler takes."""


@dataclass(slots=True)
class Sorted:
    """Number of rows that this process has sorted as words without the compiled sort."""

    rows: int = 0


_BY_NUMPY = Sorted()


def stable_order(times: Times) -> Positions:
    """Return the order of rows by time; rows of equal time keep their order."""
    pieces = 1 + int(np.count_nonzero(times[1:] < times[:-1]))
    if pieces == 1:
        return np.arange(len(times))
    if pieces <= FEW_PIECES or len(times) < FEW_ROWS:
        return np.argsort(times, kind="stable")
    low, bits = span(times)
    shift = index_bits(len(times))
    if bits + shift > WORD_BITS:
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
    """Return True if the compiler is already loaded, or enough rows were sorted to load it."""
    return "numba" in sys.modules or _BY_NUMPY.rows > WORTH_COMPILING


def span(times: Times) -> tuple[int, int]:
    """Return the earliest time, and the number of bits in the distance to the latest."""
    low = int(times.min())
    return low, (int(times.max()) - low).bit_length()


def index_bits(rows: int) -> int:
    """Return the number of bits that a row number needs."""
    return max(rows - 1, 0).bit_length()
