"""The value below which a share of all values lies, exactly.

As Spark's `percentile`: the value at place q · (n − 1) of the n values in order, with linear
interpolation between two values. The result is a double, or for durations a duration, truncated to
whole microseconds. Nulls are skipped; the result of no values is null. NaN is the largest value.
Between a number and infinity the result is infinity, and between NaN or -infinity and any other
value it is NaN, as computed by low + share · (high − low). For several shares the result is a list,
and one state serves all of them.

Every value is kept until the end; `sketches.QuantileSketch` needs less memory.
"""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from latecomer.operators.aggregates.base import Aggregate, Columns, Input, doubles, is_number, lists
from latecomer.operators.aggregates.slices import Slices, Values


@dataclass(frozen=True, slots=True)
class AnyQuantile(Aggregate):
    """The common part of the exact and the approximate quantile."""

    fixed: ClassVar[tuple[str, ...]] = ("column", "where", "q")

    q: float | tuple[float, ...] = field(kw_only=True)
    """The share, from 0 to 1; or several, for a list."""

    def result_type(self, schema: pa.Schema) -> pa.DataType:
        """Return a double or a duration, or a list of them."""
        kind = self.value_type(schema)
        return pa.list_(kind) if isinstance(self.q, tuple) else kind

    def value_type(self, schema: pa.Schema) -> pa.DataType:
        """Return a double, or for durations their type."""
        kind = self.type_in(schema)
        if pa.types.is_duration(kind):
            return kind
        if not is_number(kind):
            raise self.refuse(kind, "numbers or durations")
        return pa.float64()

    def finish(self, states: Columns, schema: pa.Schema) -> pa.Array:
        """Return the values at the shares; null for no values."""
        several = self.q if isinstance(self.q, tuple) else (self.q,)
        is_empty = self.sizes(states) == 0
        shares = np.tile(np.array(several, np.float64), (len(is_empty), 1))
        found = self.values(self.located(states, shares).ravel(), schema)
        if not isinstance(self.q, tuple):
            return pc.if_else(pa.array(is_empty), pa.scalar(None, found.type), found)
        lengths = np.where(is_empty, 0, len(several))
        bounds = np.concatenate([[0], np.cumsum(lengths)])
        kept = found.filter(pa.array(np.repeat(~is_empty, len(several))))
        listed = lists(bounds, kept).cast(self.result_type(schema))
        return pc.if_else(pa.array(is_empty), pa.scalar(None, listed.type), listed)

    @abstractmethod
    def sizes(self, states: Columns) -> Values:
        """Return the number of values of each state."""

    @abstractmethod
    def located(self, states: Columns, shares: Values) -> Values:
        """Return the values at some shares, one row for each state; 0 where there are no values."""

    def values(self, numbers: Values, schema: pa.Schema) -> pa.Array:
        """Return doubles as values of `value_type`."""
        kind = self.value_type(schema)
        if pa.types.is_duration(kind):
            return pa.array(numbers.astype(np.int64)).view(kind)
        return pa.array(numbers)


@dataclass(frozen=True, slots=True)
class Quantile(AnyQuantile):
    """The exact quantile of a column."""

    def state_types(self, schema: pa.Schema) -> list[pa.DataType]:
        return [pa.large_list(pa.float64())]

    def add(self, given: Input) -> Columns:
        (values,), _, slices = given.counted(self.where, self.column)
        return [lists(slices.bounds, pa.array(doubles(values)))]

    def merge(self, states: Columns, slices: Slices) -> Columns:
        """Join the lists of all states, whose values are adjacent already."""
        (state,) = states
        return [lists(slices.within(state.offsets.to_numpy()).bounds, state.flatten())]

    def sizes(self, states: Columns) -> Values:
        return np.diff(states[0].offsets.to_numpy())

    def located(self, states: Columns, shares: Values) -> Values:
        """Sort the values, and interpolate at the shares."""
        (state,) = states
        offsets, values = state.offsets.to_numpy(), state.flatten().to_numpy()
        slices = Slices(offsets - offsets[0])
        is_filled = slices.lengths > 0
        found = np.zeros(shares.shape)
        found[is_filled] = _interpolated(
            values[slices.order(values)],
            slices.bounds[:-1][is_filled, None],
            (slices.lengths[is_filled, None] - 1) * shares[is_filled],
        )
        return found


def _interpolated(values: Values, starts: Values, places: Values) -> Values:
    """Interpolate at places in groups of ascending values, counted from the starts of groups."""
    below, above = np.floor(places), np.ceil(places)
    low, high = values[starts + below.astype(np.int64)], values[starts + above.astype(np.int64)]
    with np.errstate(invalid="ignore", over="ignore"):
        between = low + (places - below) * (high - low)
    return np.where((below == above) | (low == high), low, between)
