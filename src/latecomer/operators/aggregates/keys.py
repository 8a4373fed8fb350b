"""Integers that stand for values, and compare as they do.

Values of any type are put in order by their keys. Keys of two calls do not compare with each other,
since that of a text is its rank among those given; so they are never kept. As in Spark, NaN is
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
    """Find integers that compare as the values do; there are no nulls."""
    numbers = as_numbers(values)
    if numbers is None:
        ranks = pc.rank(values, sort_keys="ascending", tiebreaker="dense")
        return ranks.to_numpy().astype(np.int64)
    if np.issubdtype(numbers.dtype, np.floating):
        return _bits(numbers.astype(np.float64))
    return numbers.astype(np.int64)


def _bits(numbers: npt.NDArray[np.float64]) -> Keys:
    """The bits of a float compare as it does, if those of negative ones are turned over."""
    bits = np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.int64)
    return np.where(bits < 0, bits ^ _ALL_BUT_SIGN, bits)
