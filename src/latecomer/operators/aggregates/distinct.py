"""Number of different values, exact or approximate.

Nulls are skipped. As in Spark, a NaN equals any other and 0.0 equals -0.0.

The exact count keeps every value. The approximate one keeps the k smallest hashes of values: if
hashes are spread evenly over all 64-bit numbers and the k-th smallest is a hundredth of the way up,
there are about 100 k values. The same values always leave the same k hashes, however rows arrive
and are cut into batches; fewer than k values are counted exactly.

Paper: Z. Bar-Yossef, T. S. Jayram, R. Kumar, D. Sivakumar, L. Trevisan, "Counting Distinct Elements
    in a Data Stream", RANDOM 2002, algorithm 1; the estimator is the unbiased one of K. Beyer,
    P. J. Haas, B. Reinwald, Y. Sismanis, R. Gemulla, "On Synopses for Distinct-Value Estimation
    Under Multiset Operations", SIGMOD 2007.
Symbols: k → `size`; U_(k) → the k-th smallest hash, divided by 2^64.
Departures: None. The relative standard deviation is at most 1 / √(k − 2), which gives k.
Holds: hashes are distinct and ascend, and no smaller one was ever seen.
"""

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.kernels.hashing import Hashes, hash_columns
from latecomer.operators.aggregates.base import Aggregate, Columns, Input, lists
from latecomer.operators.aggregates.slices import Slices, by_group


@dataclass(frozen=True, slots=True)
class _Distinct(Aggregate):
    def result_type(self, schema: pa.Schema) -> pa.DataType:
        """Return a 64-bit integer, as in Spark."""
        self.comparable_in(schema, self.column)
        return pa.int64()


@dataclass(frozen=True, slots=True)
class CountDistinct(_Distinct):
    """The number of different values."""

    def state_types(self, schema: pa.Schema) -> list[pa.DataType]:
        return [pa.large_list(self.type_in(schema))]

    def add(self, given: Input) -> Columns:
        (values,), _, slices = given.counted(self.where, self.column)
        return [_different(values, slices)]

    def merge(self, states: Columns, slices: Slices) -> Columns:
        (state,) = states
        return [_different(state.flatten(), slices.within(state.offsets.to_numpy()))]

    def finish(self, states: Columns, schema: pa.Schema) -> pa.Array:
        return states[0].value_lengths().cast(pa.int64())


@dataclass(frozen=True, slots=True)
class ApproxCountDistinct(_Distinct):
    """The approximate number of different values."""

    fixed = ("column", "where", "error")

    error: float = 0.05
    """Relative standard deviation of the result."""

    @property
    def size(self) -> int:
        """Number of hashes that are kept."""
        return math.ceil(1 / self.error**2) + 2

    def state_types(self, schema: pa.Schema) -> list[pa.DataType]:
        return [pa.large_list(pa.uint64())]

    def add(self, given: Input) -> Columns:
        (values,), _, slices = given.counted(self.where, self.column)
        hashes = hash_columns([pa.chunked_array([values])], len(values))
        return [self._smallest(hashes, slices)]

    def merge(self, states: Columns, slices: Slices) -> Columns:
        (state,) = states
        hashes = state.flatten().to_numpy()
        return [self._smallest(hashes, slices.within(state.offsets.to_numpy()))]

    def finish(self, states: Columns, schema: pa.Schema) -> pa.Array:
        """Return the number of hashes; if a state is full, an estimate from its largest hash."""
        (state,) = states
        counts, offsets = state.value_lengths().to_numpy(), state.offsets.to_numpy()
        counts = counts.astype(np.int64)
        is_full = counts == self.size
        largest = state.flatten().to_numpy()[offsets[1:][is_full] - offsets[0] - 1]
        counts[is_full] = np.rint((self.size - 1) * 2.0**64 / largest)
        return pa.array(counts)

    def _smallest(self, hashes: Hashes, slices: Slices) -> pa.Array:
        hashes = hashes[slices.order(hashes)]
        is_new = slices.changes(hashes)
        hashes, slices = hashes[is_new], slices.keep(is_new)
        is_small = slices.top(self.size)
        return lists(slices.keep(is_small).bounds, pa.array(hashes[is_small], pa.uint64()))


def _different(values: pa.Array, slices: Slices) -> pa.Array:
    groups = pa.chunked_array([pa.array(slices.groups, pa.int64())])
    order, equals = by_group([groups, pa.chunked_array([values])], len(values))
    is_first = np.zeros(len(values), np.bool_)
    is_first[order[equals.bounds[:-1]]] = True
    return lists(slices.keep(is_first).bounds, values.filter(pa.array(is_first)))
