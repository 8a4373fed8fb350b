"""Sums and means.

As in Spark: integers add up to a 64-bit integer, floats to a double, decimals to a decimal with
ten more digits; the sum of nothing is null. A sum that does not fit raises an error, as Spark's
does in ANSI mode, never a wrong number. (Where a sum would fit in the end but a part of it does
not, Spark and Latecomer may differ in whether they raise.)
"""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np
import pyarrow as pa

from latecomer.errors import AggregateOverflowError
from latecomer.operators.aggregates.base import Aggregate, Columns, Input
from latecomer.operators.slices import Slices
from latecomer.time import FOREVER, NEVER

_MOST_DIGITS = 38
_SAFE = 2.0**62
"""What a float, which may be a little off, must stay below to prove that an integer fits."""


@dataclass(frozen=True, slots=True)
class Sum(Aggregate):
    """The sum of a column."""

    def result_type(self, schema: pa.Schema) -> pa.DataType:
        """As Spark has it."""
        kind = self.type_in(schema)
        if pa.types.is_decimal(kind):
            return pa.decimal128(min(kind.precision + 10, _MOST_DIGITS), kind.scale)
        if pa.types.is_floating(kind):
            return pa.float64()
        if pa.types.is_integer(kind):
            return pa.int64()
        raise self.refuse(kind, "numbers")

    def state_types(self, schema: pa.Schema) -> list[pa.DataType]:
        """The sum; null for no rows."""
        result = self.result_type(schema)
        if pa.types.is_decimal(result):
            return [pa.decimal128(_MOST_DIGITS, result.scale)]
        return [result]

    def add(self, given: Input) -> Columns:
        """Add the rows up."""
        (values,), _, slices = given.counted(self.where, self.column)
        if pa.types.is_decimal(values.type):
            values = values.cast(pa.decimal128(_MOST_DIGITS, values.type.scale))
        elif not pa.types.is_floating(values.type):
            values = values.cast(pa.int64())
        return [self._total(values, slices)]

    def merge(self, states: Columns, slices: Slices) -> Columns:
        """Add the sums up."""
        valid = np.asarray(states[0].is_valid())
        return [self._total(states[0].drop_null(), slices.keep(valid))]

    def finish(self, states: Columns, schema: pa.Schema) -> pa.Array:
        """The sum is the result, if it fits."""
        try:
            return states[0].cast(self.result_type(schema))
        except pa.ArrowInvalid as error:
            raise self._too_large(str(error)) from error

    def _total(self, values: pa.Array, slices: Slices) -> pa.Array:
        if pa.types.is_decimal(values.type):
            return decimal_totals(values, slices)
        nothing = pa.array(slices.lengths == 0)
        if pa.types.is_floating(values.type):
            totals = slices.reduce(np.add, values.to_numpy().astype(np.float64), 0.0)
        else:
            totals = self._integers(values, slices)
        return pa.array(totals, mask=np.asarray(nothing))

    def _integers(self, values: pa.Array, slices: Slices) -> np.ndarray:
        numbers = values.to_numpy()
        largest = max(int(numbers.max(initial=0)), -int(numbers.min(initial=0)))
        if float(largest) * int(slices.lengths.max(initial=0)) < _SAFE:
            return slices.reduce(np.add, numbers, 0)
        exact = decimal_totals(values.cast(pa.decimal128(_MOST_DIGITS, 0)), slices)
        totals = [int(total or 0) for total in exact.to_pylist()]
        for total in totals:
            if not NEVER <= total <= FOREVER:
                raise self._too_large(f"it is {total:,}")
        return np.array(totals, np.int64)

    def _too_large(self, why: str) -> AggregateOverflowError:
        return AggregateOverflowError(
            f'the sum of column "{self.column}" does not fit: {why}.\n'
            f"Hint: add up a wider type, for example sum('CAST(`{self.column}` AS DECIMAL(38))')."
        )


@dataclass(frozen=True, slots=True)
class Mean(Aggregate):
    """The mean of a column."""

    def result_type(self, schema: pa.Schema) -> pa.DataType:
        """A double; for a decimal, one with four more digits, as in Spark."""
        kind = self.type_in(schema)
        if pa.types.is_decimal(kind):
            return pa.decimal128(
                min(kind.precision + 4, _MOST_DIGITS), min(kind.scale + 4, _MOST_DIGITS)
            )
        if pa.types.is_floating(kind) or pa.types.is_integer(kind):
            return pa.float64()
        raise self.refuse(kind, "numbers")

    def state_types(self, schema: pa.Schema) -> list[pa.DataType]:
        """The sum, and the count."""
        result = self.result_type(schema)
        if pa.types.is_decimal(result):
            return [pa.decimal128(_MOST_DIGITS, self.type_in(schema).scale), pa.int64()]
        return [result, pa.int64()]

    def add(self, given: Input) -> Columns:
        """Add the rows up, and count them."""
        (values,), _, slices = given.counted(self.where, self.column)
        if pa.types.is_decimal(values.type):
            total = decimal_totals(
                values.cast(pa.decimal128(_MOST_DIGITS, values.type.scale)), slices
            )
        else:
            total = pa.array(slices.reduce(np.add, values.to_numpy().astype(np.float64), 0.0))
        return [total, pa.array(slices.lengths, pa.int64())]

    def merge(self, states: Columns, slices: Slices) -> Columns:
        """Add up sums and counts."""
        total, count = states
        if pa.types.is_decimal(total.type):
            valid = np.asarray(total.is_valid())
            total = decimal_totals(total.drop_null(), slices.keep(valid))
        else:
            total = pa.array(slices.reduce(np.add, total.to_numpy(), 0.0))
        return [total, pa.array(slices.reduce(np.add, count.to_numpy(), 0))]

    def finish(self, states: Columns, schema: pa.Schema) -> pa.Array:
        """Divide; null for no rows."""
        result = self.result_type(schema)
        total, count = states
        counts = count.to_numpy()
        if pa.types.is_decimal(result):
            step, context = Decimal(1).scaleb(-result.scale), Context(prec=2 * _MOST_DIGITS)
            means = [
                context.divide(one, int(n)).quantize(step, ROUND_HALF_UP, context) if n else None
                for one, n in zip(total.to_pylist(), counts, strict=True)
            ]
            return pa.array(means, result)
        return pa.array(total.to_numpy() / np.maximum(counts, 1), mask=counts == 0)


def decimal_totals(values: pa.Array, slices: Slices) -> pa.Array:
    """Add up decimals, which NumPy cannot; null for no rows."""
    rows = pa.table({"group": slices.groups, "value": values})
    sums = rows.group_by("group", use_threads=False).aggregate([("value", "sum")])
    places = np.full(len(slices), -1)
    places[sums.column("group").to_numpy()] = np.arange(sums.num_rows)
    found = pa.array(places, mask=places < 0)
    return sums.column("value_sum").combine_chunks().cast(values.type).take(found)
