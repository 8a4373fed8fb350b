"""The value of the earliest row, and that of the latest.

Earliest and latest are by time, in whatever order rows arrive. Of rows of equal time, the one that
arrived first is the earliest, and the one that arrived last is the latest. A null counts as a
value: if the row is null, so is the result. Only `where` leaves rows out.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from latecomer.operators.aggregates.base import Aggregate, Columns, Input
from latecomer.operators.aggregates.slices import Slices
from latecomer.time import Times


@dataclass(frozen=True, slots=True)
class _End(Aggregate):
    latest: ClassVar[bool]
    minds_arrival: ClassVar[bool] = True

    def result_type(self, schema: pa.Schema) -> pa.DataType:
        return self.type_in(schema)

    def state_types(self, schema: pa.Schema) -> list[pa.DataType]:
        """Return the types of the row's time, which is null for no rows, and of its value."""
        return [pa.int64(), self.result_type(schema)]

    def add(self, given: Input) -> Columns:
        (values,), times, slices = given.filtered(self.where, self.column)
        return self._found(times, values, slices)

    def merge(self, states: Columns, slices: Slices) -> Columns:
        times, values = states
        is_filled = times.is_valid()
        return self._found(
            times.drop_null().to_numpy(),
            values.filter(is_filled),
            slices.keep(np.asarray(is_filled)),
        )

    def finish(self, states: Columns, schema: pa.Schema) -> pa.Array:
        return states[1]

    def _found(self, times: Times, values: pa.Array, slices: Slices) -> Columns:
        ends = slices.reduce(np.maximum if self.latest else np.minimum, times, 0)
        is_end = times == slices.spread(ends)
        places = slices.last(is_end) if self.latest else slices.first(is_end)
        nothing = places < 0
        return [pa.array(ends, mask=nothing), values.take(pa.array(places, mask=nothing))]


class First(_End):
    """The value of the earliest row."""

    __slots__ = ()
    latest = False


class Last(_End):
    """The value of the latest row."""

    __slots__ = ()
    latest = True
