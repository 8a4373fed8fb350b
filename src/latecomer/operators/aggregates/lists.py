"""Results that are lists: all values in order of time, or the largest few.

Nulls are skipped, also in `by`. Without values the list is empty, as in Spark's collect_list.
Values compare as in `extremes`: NaN is the largest number. The lists do not depend on the order of
arrival, except that `Collect` keeps values of equal time in that order.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa

from latecomer.batch import Positions, cast
from latecomer.operators.aggregates.base import Aggregate, Columns, Input, lists
from latecomer.operators.aggregates.extremes import order_keys
from latecomer.operators.aggregates.slices import Slices


@dataclass(frozen=True, slots=True)
class TopK(Aggregate):
    """The k largest values, or the values of the k rows that are largest in another column.

    Values descend. With `by`, each is in a struct with its value of `by`, and of rows that are
    equal in `by` the one with the smaller value comes first. With `ties`, all rows that compare
    equal to the k-th are chosen too.
    """

    fixed = ("column", "where", "k", "by", "ties")

    k: int = field(kw_only=True)
    by: str | None = field(default=None, kw_only=True)
    ties: bool = field(default=False, kw_only=True)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name in (self.column, self.by, self.where) if name is not None)

    def result_type(self, schema: pa.Schema) -> pa.DataType:
        value, *by = self._types(schema)
        if not by:
            return pa.list_(value)
        return pa.list_(pa.struct(list(zip(self._names, [value, *by], strict=True))))

    def state_types(self, schema: pa.Schema) -> list[pa.DataType]:
        """Return the types of the values, and of those of `by`."""
        return [pa.large_list(kind) for kind in self._types(schema)]

    def add(self, given: Input) -> Columns:
        names = [name for name in (self.column, self.by) if name is not None]
        arrays, _, slices = given.counted(self.where, *names)
        return self._chosen(arrays, slices)

    def merge(self, states: Columns, slices: Slices) -> Columns:
        inner = slices.within(states[0].offsets.to_numpy())
        return self._chosen([state.flatten() for state in states], inner)

    def finish(self, states: Columns, schema: pa.Schema) -> pa.Array:
        if self.by is None:
            return cast(states[0], self.result_type(schema))
        offsets = states[0].offsets.to_numpy()
        structs = pa.StructArray.from_arrays([state.flatten() for state in states], self._names)
        return cast(lists(offsets - offsets[0], structs), self.result_type(schema))

    @property
    def _names(self) -> list[str]:
        """Names of the fields of the struct: the expressions that they are computed from."""
        return [str(self.part("column")), str(self.part("by"))]

    def _types(self, schema: pa.Schema) -> list[pa.DataType]:
        names = [name for name in (self.column, self.by) if name is not None]
        return [self.comparable_in(schema, name) for name in names]

    def _chosen(self, arrays: list[pa.Array], slices: Slices) -> Columns:
        # Inverting all bits reverses the order of integers without overflow.
        keys = ~order_keys(arrays[-1])
        order = slices.order(keys)
        if self.by is not None or self.ties:
            # Only rows that may be chosen, by rank or by a tie, are ordered by their values too.
            is_near = keys <= slices.spread(self._worst(keys[order], slices))
            arrays = [array.filter(pa.array(is_near)) for array in arrays]
            slices = slices.keep(is_near)
            order = slices.order(keys[is_near], order_keys(arrays[0]))
        is_top = np.ones(len(order), np.bool_) if self.ties else slices.top(self.k)
        bounds, places = slices.keep(is_top).bounds, pa.array(order[is_top])
        return [lists(bounds, array.take(places)) for array in arrays]

    def _worst(self, keys: Positions, slices: Slices) -> Positions:
        """Return the key of the last row that may be chosen; the keys of a group ascend."""
        worst = np.zeros(len(slices), np.int64)
        is_filled = slices.lengths > 0
        places = np.minimum(slices.bounds[:-1] + self.k, slices.bounds[1:]) - 1
        worst[is_filled] = keys[places[is_filled]]
        return worst


@dataclass(frozen=True, slots=True)
class Collect(Aggregate):
    """All values, in order of time."""

    minds_arrival: ClassVar[bool] = True

    def result_type(self, schema: pa.Schema) -> pa.DataType:
        return pa.list_(self.type_in(schema))

    def state_types(self, schema: pa.Schema) -> list[pa.DataType]:
        """Return the types of the times and of the values, both in order of arrival."""
        return [pa.large_list(pa.int64()), pa.large_list(self.type_in(schema))]

    def add(self, given: Input) -> Columns:
        (values,), times, slices = given.counted(self.where, self.column)
        return [lists(slices.bounds, pa.array(times)), lists(slices.bounds, values)]

    def merge(self, states: Columns, slices: Slices) -> Columns:
        """Join the lists of all states, whose values are adjacent already."""
        bounds = slices.within(states[0].offsets.to_numpy()).bounds
        return [lists(bounds, state.flatten()) for state in states]

    def finish(self, states: Columns, schema: pa.Schema) -> pa.Array:
        """Return the values in order of time."""
        times, values = states
        offsets = times.offsets.to_numpy()
        slices = Slices(offsets - offsets[0])
        order = slices.order(times.flatten().to_numpy())
        ordered = values.flatten().take(pa.array(order))
        return cast(lists(slices.bounds, ordered), self.result_type(schema))
