"""Times and rows in one word each: see `kernels.order`. Packed and unpacked in one pass."""

from latecomer.batch import Positions
from latecomer.kernels.jit import kernel
from latecomer.kernels.order import Words
from latecomer.time import FOREVER, NEVER, Times


@kernel
def extent(times: Times) -> tuple[int, int]:
    """Find the earliest time and the latest; FOREVER and NEVER if there are none."""
    low, high = FOREVER, NEVER
    for i in range(len(times)):
        low = min(low, times[i])
        high = max(high, times[i])
    return low, high


@kernel
def pack(times: Times, low: int, shift: int, first: int, words: Words) -> None:
    """Write each time, counted from `low`, above the number of its row, which has `shift` bits.

    Args:
        times: From `low` on.
        low: The earliest time there may be.
        shift: How many bits the number of a row has.
        first: The number of the first row.
        words: Where to write them.
    """
    for i in range(len(times)):
        words[i] = ((times[i] - low) << shift) | (first + i)


@kernel
def unpack(
    words: Words, low: int, shift: int, named: Positions, first: int, out: tuple[Times, Positions]
) -> None:
    """Read the times, and the position of each row.

    Args:
        words: As `pack` wrote them, in any order.
        low: As for `pack`.
        shift: As for `pack`.
        named: The positions of the first rows.
        first: The position of the row after these; the others follow it.
        out: Where to write times and positions.
    """
    times, positions = out
    mask = (1 << shift) - 1
    first -= len(named)
    for i in range(len(words)):
        times[i] = low + (words[i] >> shift)
        row = words[i] & mask
        positions[i] = named[row] if row < len(named) else first + row
