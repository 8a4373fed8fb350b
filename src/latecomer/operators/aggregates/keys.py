"""Integer keys that compare as the values do that they stand for.

Values of any type are sorted by their keys. Keys of different calls must not be compared, since the
key of a text is its rank among the values of the call; so keys are never kept. As in Spark, NaN is
larger than any other number, 0.0 equals -0.0, and text compares by its bytes.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from latecomer.operators.aggregates.extremes import as_numbers

Keys = npt.NDArray[np.int64]

_ALL_BUT_SIGN = np.int64(2**63 - 1)


def order_keys(values: pa.Array) -> Keys:
    """Return integers that compare as the values do; there are no nulls."""
    numbers = as_numbers(values)
    if numbers is None:
        ranks = pc.rank(values, sort_keys="ascending", tiebreaker="dense")
        return ranks.to_numpy().astype(np.int64)
    if np.issubdtype(numbers.dtype, np.floating):
        return _bits(numbers.astype(np.float64))
    return numbers.astype(np.int64)


def _bits(numbers: npt.NDArray[np.float64]) -> Keys:
    """Return the bits of floats, those of negative ones inverted so that they compare alike."""
    bits = np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.int64)
    return np.where(bits < 0, bits ^ _ALL_BUT_SIGN, bits)
