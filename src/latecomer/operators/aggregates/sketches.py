"""Quantiles from a sketch, each within a relative error.

Values are counted in buckets whose bounds grow by a factor: bucket i counts values in
(γ^(i−1), γ^i], and is represented by one number that is within the error of both bounds. Negative
numbers have such buckets too, and zero has its own. A range of six powers of ten fills some 700
buckets at an error of 1 %, however many rows there are. States are merged by adding counts, which
is exact.

The result is the value at place ⌊q · (n − 1)⌋ in order, without interpolation, within the error.
Nulls are skipped; the result of no values is null. Both infinities and NaN, the largest of all,
have a bucket each and come out unchanged. Numbers closer to zero than 2.3e-308 count as zero.

Paper: C. Masson, J. E. Rim, H. K. Lee, "DDSketch: A Fast and Fully-Mergeable Quantile Sketch with
    Relative-Error Guarantees", PVLDB 12(12), 2019, algorithms 1, 2 and 4.
Symbols: α → `error`; γ → the exponential of `_growth`; B_i → the count of one bucket.
Departures: Buckets are never collapsed: there cannot be more than doubles have powers of γ, and a
    collapsed sketch has no guarantee. All buckets share one range of numbers in order of their
    values, so that a quantile is one search.
Holds: buckets of a state are distinct and ascend; their counts add up to the rows counted.
"""

import math
import sys
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.operators.aggregates.base import Columns, Input, doubles, lists
from latecomer.operators.aggregates.quantiles import AnyQuantile
from latecomer.operators.aggregates.slices import Slices, Values

_SMALLEST, _LARGEST = sys.float_info.min, sys.float_info.max
_NAN = 2**62
_INFINITY = _NAN - 1
"""Numbers of the buckets for NaN and infinity, far above those of other values."""


@dataclass(frozen=True, slots=True)
class QuantileSketch(AnyQuantile):
    """A quantile of a column, within a relative error."""

    fixed = ("column", "where", "q", "error")

    error: float = 0.01
    """Largest distance of the result from the value, as a share of the value."""

    def state_types(self, schema: pa.Schema) -> list[pa.DataType]:
        """Return the types of the buckets and of their counts."""
        return [pa.large_list(pa.int64()), pa.large_list(pa.int64())]

    def add(self, given: Input) -> Columns:
        (values,), _, slices = given.counted(self.where, self.column)
        buckets = self._buckets(doubles(values))
        return _summed(buckets, np.ones(len(buckets), np.int64), slices)

    def merge(self, states: Columns, slices: Slices) -> Columns:
        buckets, counts = states
        inner = slices.within(buckets.offsets.to_numpy())
        return _summed(buckets.flatten().to_numpy(), counts.flatten().to_numpy(), inner)

    def sizes(self, states: Columns) -> Values:
        """Return the sum of the counts of each state."""
        offsets = states[1].offsets.to_numpy()
        return Slices(offsets - offsets[0]).reduce(np.add, states[1].flatten().to_numpy(), 0)

    def located(self, states: Columns, shares: Values) -> Values:
        """Return the values of the buckets at the shares."""
        buckets, counts = (state.flatten().to_numpy() for state in states)
        totals = self.sizes(states)
        is_filled = totals > 0
        places = np.floor(shares * (totals - 1)[:, None]).astype(np.int64)
        before = (np.cumsum(totals) - totals)[:, None]
        found = np.searchsorted(np.cumsum(counts), (before + places)[is_filled], side="right")
        numbers = np.zeros(shares.shape)
        numbers[is_filled] = self._values(buckets[found])
        return numbers

    @property
    def _growth(self) -> float:
        """Logarithm of γ = (1 + error) / (1 − error)."""
        return 2 * math.atanh(self.error)

    @property
    def _shift(self) -> int:
        """Summand that makes the powers of all buckets positive."""
        return 1 - math.floor(math.log(_SMALLEST) / self._growth)

    def _buckets(self, numbers: Values) -> Values:
        sizes = np.clip(np.abs(numbers), _SMALLEST, _LARGEST)
        powers = np.ceil(np.log(np.where(np.isnan(sizes), 1.0, sizes)) / self._growth)
        buckets = np.copysign(powers + self._shift, numbers).astype(np.int64)
        buckets[np.abs(numbers) < _SMALLEST] = 0
        buckets[numbers == np.inf] = _INFINITY
        buckets[numbers == -np.inf] = -_INFINITY
        buckets[np.isnan(numbers)] = _NAN
        return buckets

    def _values(self, buckets: Values) -> Values:
        is_finite = np.abs(buckets) < _INFINITY
        powers = np.abs(np.where(is_finite, buckets, 0)) - self._shift
        with np.errstate(over="ignore"):
            sizes = np.minimum((1 - self.error) * np.exp(powers * self._growth), _LARGEST)
        values = np.sign(buckets) * np.where(is_finite, sizes, np.inf)
        values[buckets == 0] = 0.0
        values[buckets == _NAN] = np.nan
        return values


def _summed(buckets: Values, counts: Values, slices: Slices) -> Columns:
    order = slices.order(buckets)
    buckets, counts = buckets[order], counts[order]
    is_new = slices.changes(buckets)
    starts = np.flatnonzero(is_new)
    totals = np.add.reduceat(counts, starts) if len(starts) else counts
    bounds = slices.keep(is_new).bounds
    return [lists(bounds, pa.array(buckets[is_new])), lists(bounds, pa.array(totals))]
