"""The value below which a share of all values lies, exactly.

As Spark's `percentile`: at place q · (n − 1) of the n values in order, between two of them in
proportion (linear interpolation). A double, and for durations a duration, cut to whole
microseconds. Nulls are skipped; of nothing the result is null. NaN is the largest value. Between
a number and infinity there is infinity, and between NaN or -infinity and any other value NaN, since
that is what low + share · (high − low) gives.

Every value is kept until the end; `sketches.QuantileSketch` needs less room.
"""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from latecomer.operators.aggregates.base import (
    Aggregate,
    Columns,
    Input,
    doubles,
    is_number,
    lists,
)
from latecomer.operators.slices import Slices, Values


@dataclass(frozen=True, slots=True)
class AnyQuantile(Aggregate):
    """What the exact and the approximate quantile have in common."""

    q: float = field(kw_only=True)
    """The share, from 0 to 1."""

    def result_type(self, schema: pa.Schema) -> pa.DataType:
        """A double, or a duration."""
        kind = self.type_in(schema)
        if pa.types.is_duration(kind):
            return kind
        if not is_number(kind):
            raise self.refuse(kind, "numbers or durations")
        return pa.float64()

    def results(self, numbers: Values, is_empty: Values, schema: pa.Schema) -> pa.Array:
        """Turn doubles into results."""
        result = self.result_type(schema)
        if pa.types.is_duration(result):
            return pa.array(numbers.astype(np.int64), mask=is_empty).view(result)
        return pa.array(numbers, mask=is_empty)


@dataclass(frozen=True, slots=True)
class Quantile(AnyQuantile):
    """The exact quantile of a column."""

    def state_types(self, schema: pa.Schema) -> list[pa.DataType]:
        """All values."""
        return [pa.large_list(pa.float64())]

    def add(self, given: Input) -> Columns:
        """Keep the values."""
        (values,), _, slices = given.counted(self.where, self.column)
        return [lists(slices.bounds, pa.array(doubles(values)))]

    def merge(self, states: Columns, slices: Slices) -> Columns:
        """Put the values of all states together: they stand side by side already."""
        (state,) = states
        return [lists(slices.within(state.offsets.to_numpy()).bounds, state.flatten())]

    def finish(self, states: Columns, schema: pa.Schema) -> pa.Array:
        """Put the values in order, and find the place."""
        (state,) = states
        offsets, values = state.offsets.to_numpy(), state.flatten().to_numpy()
        slices = Slices(offsets - offsets[0])
        is_empty = slices.lengths == 0
        found = np.zeros(len(slices))
        found[~is_empty] = _interpolated(
            values[slices.order(values)],
            slices.bounds[:-1][~is_empty],
            (slices.lengths[~is_empty] - 1) * self.q,
        )
        return self.results(found, is_empty, schema)


def _interpolated(values: Values, starts: Values, places: Values) -> Values:
    """Look up places between values; those of a group ascend, from its start."""
    below, above = np.floor(places), np.ceil(places)
    low, high = values[starts + below.astype(np.int64)], values[starts + above.astype(np.int64)]
    with np.errstate(invalid="ignore", over="ignore"):
        between = low + (places - below) * (high - low)
    return np.where((below == above) | (low == high), low, between)
