"""Exact sums of integers and decimals, however large.

NumPy does not report an overflow of 64-bit integers, nor does Arrow one of decimals, which are
integers of 128 bits. So numbers are cut into digits of 32 bits. Each digit is summed separately,
which is safe for two billion rows, and carries are applied at the end. A sum that does not fit
raises an error, and never gives a wrong number.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from latecomer.operators.aggregates.slices import Slices, Values

MOST_DIGITS = 38
"""Decimal digits of an Arrow decimal."""

_BITS = 32
_DIGIT = (1 << _BITS) - 1
_WORD = 1 << 64


def integer_totals(numbers: Values, slices: Slices) -> Values:
    """Add up 64-bit integers; 0 for no rows.

    Raises:
        OverflowError: A sum does not fit in 64 bits.
    """
    if slices.is_one_each(numbers):
        return numbers
    largest = max(abs(int(numbers.min(initial=0))), abs(int(numbers.max(initial=0))))
    if largest * len(numbers) < 1 << 63:
        return slices.reduce(np.add, numbers, 0)
    low, high = _totals([numbers & _DIGIT, numbers >> _BITS], slices)
    _check_top(low, high)
    return high << _BITS | low


def decimal_totals(values: pa.Array, slices: Slices) -> pa.Array:
    """Add up decimals of the largest precision; null for no rows.

    Raises:
        OverflowError: A sum has too many digits.
    """
    data = np.frombuffer(values.buffers()[1] or b"", np.int64)
    words = data[2 * values.offset : 2 * (values.offset + len(values))].reshape(-1, 2)
    digits = [words[:, 0] & _DIGIT, words[:, 0] >> _BITS & _DIGIT]
    digits += [words[:, 1] & _DIGIT, words[:, 1] >> _BITS]
    *lower, top = _totals(digits, slices)
    _check_top(*lower, top)
    low, high = lower[0] | lower[1] << _BITS, lower[2] | top << _BITS
    _check_decimals(low.view(np.uint64), high)
    kind = pa.decimal128(MOST_DIGITS, values.type.scale)
    data = np.stack([low, high], axis=1)
    totals = pa.Array.from_buffers(kind, len(slices), [None, pa.py_buffer(data)])
    return pc.if_else(pa.array(slices.lengths > 0), totals, pa.scalar(None, kind))


def _totals(digits: list[Values], slices: Slices) -> list[Values]:
    """Return the sum of each digit, lowest first, after carrying. Only the highest has a sign."""
    totals = [slices.reduce(np.add, digit, 0) for digit in digits]
    for i in range(len(totals) - 1):
        totals[i + 1] += totals[i] >> _BITS
        totals[i] &= _DIGIT
    return totals


def _check_top(*digits: Values) -> None:
    half = 1 << (_BITS - 1)
    top = digits[-1]
    for place in np.flatnonzero((top < -half) | (top >= half))[:1]:
        total = sum(int(digit[place]) << _BITS * i for i, digit in enumerate(digits))
        raise OverflowError(f"it is {total:,}")


def _check_decimals(low: Values, high: Values) -> None:
    limit = 10**MOST_DIGITS
    above, below = divmod(limit, _WORD), divmod(-limit, _WORD)
    is_above = (high > above[0]) | ((high == above[0]) & (low >= np.uint64(above[1])))
    is_below = (high < below[0]) | ((high == below[0]) & (low <= np.uint64(below[1])))
    if (is_above | is_below).any():
        raise OverflowError(f"it has more than {MOST_DIGITS} digits")
