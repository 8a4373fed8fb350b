"""The smallest and the largest value.

Nulls are skipped; the result of no values is null. Numbers and times compare as usual, false is
less than true, and text and bytes compare by their bytes, as in Spark. NaN is larger than any other
number, and a negative zero comes out as zero.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from latecomer.batch import Positions
from latecomer.operators.aggregates.base import Aggregate, Columns, Input
from latecomer.operators.aggregates.slices import Slices


@dataclass(frozen=True, slots=True)
class _Extreme(Aggregate):
    largest: ClassVar[bool]

    def result_type(self, schema: pa.Schema) -> pa.DataType:
        return self.comparable_in(schema, self.column)

    def add(self, given: Input) -> Columns:
        (values,), _, slices = given.counted(self.where, self.column)
        return [self._found(values, slices)]

    def merge(self, states: Columns, slices: Slices) -> Columns:
        valid = np.asarray(states[0].is_valid())
        return [self._found(states[0].drop_null(), slices.keep(valid))]

    def has_ranks(self, schema: pa.Schema) -> bool:
        return as_numbers(pa.array([], self.type_in(schema))) is not None

    def ranks(self, states: Columns) -> Positions | None:
        numbers = as_numbers(_filled(states[0]))
        if numbers is None:
            return None
        ranks = _ranks(numbers)
        return ranks if self.largest else ~ranks

    def _found(self, values: pa.Array, slices: Slices) -> pa.Array:
        kind = values.type
        numbers = as_numbers(values)
        if numbers is None:
            return values.take(self._by_sorting(values, slices))
        if pa.types.is_floating(kind):
            # NumPy may return either 0.0 or -0.0, so -0.0 is turned into 0.0 first.
            numbers = numbers + numbers.dtype.type(0)
        # Of a number and NaN, fmin returns the number and maximum the NaN.
        function: np.ufunc = np.maximum if self.largest else np.fmin
        found = pa.array(slices.reduce(function, numbers, 0), mask=slices.empties)
        return found.cast(pa.bool_()) if pa.types.is_boolean(kind) else found.view(kind)

    def _by_sorting(self, values: pa.Array, slices: Slices) -> pa.Array:
        rows = pa.table({"group": slices.groups, "value": values})
        order = pc.sort_indices(rows, [("group", "ascending"), ("value", "ascending")])
        places = slices.bounds[1:] - 1 if self.largest else slices.bounds[:-1]
        is_empty = slices.lengths == 0
        return order.take(pa.array(np.where(is_empty, 0, places), mask=is_empty))


class Min(_Extreme):
    """The smallest value."""

    __slots__ = ()
    largest = False


class Max(_Extreme):
    """The largest value."""

    __slots__ = ()
    largest = True


def as_numbers(values: pa.Array) -> np.ndarray | None:
    """Return numbers that compare as the values do, which have no nulls; None if there are none."""
    kind = values.type
    if pa.types.is_boolean(kind):
        return np.asarray(values.cast(pa.int8()))
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return np.asarray(values)
    if pa.types.is_temporal(kind) and kind.bit_width in (32, 64):
        return np.asarray(values.view(pa.int32() if kind.bit_width == 32 else pa.int64()))  # noqa: PLR2004
    return None


def _filled(values: pa.Array) -> pa.Array:
    """Return the array with arbitrary values in place of nulls, without copying."""
    buffers = [None, *values.buffers()[1:]] if values.null_count else values.buffers()
    return pa.Array.from_buffers(values.type, len(values), buffers, offset=values.offset)


def _ranks(numbers: np.ndarray) -> Positions:
    """Return 64-bit integers that compare as numbers do; NaN is the largest number."""
    if numbers.dtype.kind == "u":
        return (numbers.astype(np.uint64) ^ np.uint64(1 << 63)).view(np.int64)
    if numbers.dtype.kind != "f":
        return numbers.astype(np.int64)
    # -0.0 becomes 0.0. The bits of negative numbers descend, so they are inverted.
    bits = (numbers.astype(np.float64) + 0.0).view(np.int64)
    ranks = bits ^ ((bits >> 63) & _MOST)
    ranks[np.isnan(numbers)] = _MOST
    return ranks


_MOST = np.iinfo(np.int64).max


def order_keys(values: pa.Array) -> Positions:
    """Return integers that compare as the values of one call do; there are no nulls.

    The key of a text is its rank among the values, so keys of different calls must not be compared.
    As in Spark, NaN is the largest number, 0.0 equals -0.0, and text compares by its bytes.
    """
    numbers = as_numbers(values)
    if numbers is not None:
        return _ranks(numbers)
    ranks = pc.rank(values, sort_keys="ascending", tiebreaker="dense")
    return ranks.to_numpy().astype(np.int64)
