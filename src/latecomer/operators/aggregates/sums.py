"""Sums and means.

As in Spark: integers add up to a 64-bit integer, floats to a double, decimals to a decimal with
ten more digits, durations to a duration. Nulls are skipped, and the sum of no values is null. A sum
that does not fit raises an error, as Spark's does in ANSI mode, and never gives a wrong number. (If
a sum would fit but a partial sum does not, whether there is an error depends on how rows are
divided, as in Spark.)

The mean of decimals has four more digits, and that of durations whole microseconds, both rounded
half away from zero; any other mean is a double.
"""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Positions
from latecomer.errors import AggregateOverflowError
from latecomer.operators.aggregates.base import (
    Aggregate,
    Columns,
    Input,
    doubles,
    is_counted,
    is_number,
)
from latecomer.operators.aggregates.slices import Slices
from latecomer.operators.aggregates.wide import MOST_DIGITS, decimal_totals, integer_totals

_EXACT = 1 << 53
"""Number up to which doubles hold every whole number exactly."""


@dataclass(frozen=True, slots=True)
class Sum(Aggregate):
    """The sum of a column."""

    def result_type(self, schema: pa.Schema) -> pa.DataType:
        """Return the type that Spark gives the sum."""
        kind = self.type_in(schema)
        if pa.types.is_decimal(kind):
            return pa.decimal128(min(kind.precision + 10, MOST_DIGITS), kind.scale)
        if pa.types.is_floating(kind):
            return pa.float64()
        if pa.types.is_integer(kind):
            return pa.int64()
        if pa.types.is_duration(kind):
            return kind
        raise self.refuse(kind, "numbers or durations")

    def state_types(self, schema: pa.Schema) -> list[pa.DataType]:
        """Return the type of the sum, which is null for no rows."""
        return [_total_type(self.result_type(schema))]

    def adds_up(self, schema: pa.Schema) -> bool:
        """Return True if the sum is a 64-bit integer; subtracting doubles would leave errors."""
        return self.state_types(schema) == [pa.int64()]

    def add(self, given: Input) -> Columns:
        (values,), _, slices = given.counted(self.where, self.column)
        return [_total(self.column, _widened(values), slices)]

    def tally(self, rows: Batch, groups: Positions, count: int) -> Columns | None:
        """Add integers as doubles, if these hold every sum of them exactly; else return None."""
        if not pa.types.is_integer(self.type_in(rows.schema)):
            return None
        counted = is_counted(rows, self.where, self.column)
        values = rows.column(self.column)
        if counted is not None:
            values, groups = values.filter(pa.array(counted)), groups[counted]
        numbers = values.to_numpy()
        largest = max(abs(int(numbers.min(initial=0))), abs(int(numbers.max(initial=0))))
        if largest * len(numbers) > _EXACT:
            return None
        totals = np.bincount(groups, numbers, minlength=count).astype(np.int64)
        return [pa.array(totals, mask=np.bincount(groups, minlength=count) == 0)]

    def merge(self, states: Columns, slices: Slices) -> Columns:
        valid = np.asarray(states[0].is_valid())
        return [_total(self.column, states[0].drop_null(), slices.keep(valid))]

    def finish(self, states: Columns, schema: pa.Schema) -> pa.Array:
        """Return the sum in the type of the result; raise an error if it does not fit."""
        result = self.result_type(schema)
        if pa.types.is_duration(result):
            return states[0].view(result)
        try:
            return states[0].cast(result)
        except pa.ArrowInvalid as error:
            raise _too_large("sum", self.column, str(error)) from error


@dataclass(frozen=True, slots=True)
class Mean(Aggregate):
    """The mean of a column."""

    def result_type(self, schema: pa.Schema) -> pa.DataType:
        """Return a double, a decimal with four more digits, or a duration, as in Spark."""
        kind = self.type_in(schema)
        if pa.types.is_decimal(kind):
            return pa.decimal128(
                min(kind.precision + 4, MOST_DIGITS), min(kind.scale + 4, MOST_DIGITS)
            )
        if is_number(kind):
            return pa.float64()
        if pa.types.is_duration(kind):
            return kind
        raise self.refuse(kind, "numbers or durations")

    def state_types(self, schema: pa.Schema) -> list[pa.DataType]:
        """Return the types of the sum, which is null for no rows, and of the count."""
        kind = self.type_in(schema)
        return [
            _total_type(kind if pa.types.is_decimal(kind) else self.result_type(schema)),
            pa.int64(),
        ]

    def add(self, given: Input) -> Columns:
        (values,), _, slices = given.counted(self.where, self.column)
        if pa.types.is_integer(values.type):
            values = pa.array(doubles(values))
        total = _total(self.column, _widened(values), slices)
        return [total, pa.array(slices.lengths, pa.int64())]

    def merge(self, states: Columns, slices: Slices) -> Columns:
        total, count = states
        valid = np.asarray(total.is_valid())
        total = _total(self.column, total.drop_null(), slices.keep(valid))
        return [total, pa.array(slices.reduce(np.add, count.to_numpy(), 0))]

    def finish(self, states: Columns, schema: pa.Schema) -> pa.Array:
        """Divide the sum by the count; null for no rows."""
        result = self.result_type(schema)
        total, count = states
        counts = count.to_numpy()
        if pa.types.is_decimal(result):
            return self._decimals(total, counts, result)
        totals, mask = total.fill_null(0).to_numpy(), counts == 0
        if pa.types.is_duration(result):
            return pa.array(_rounded(totals, np.maximum(counts, 1)), mask=mask).view(result)
        return pa.array(totals / np.maximum(counts, 1), mask=mask)

    def _decimals(self, totals: pa.Array, counts: np.ndarray, result: pa.DataType) -> pa.Array:
        step, context = Decimal(1).scaleb(-result.scale), Context(prec=2 * MOST_DIGITS)
        means = [
            context.divide(total, int(n)).quantize(step, ROUND_HALF_UP, context) if n else None
            for total, n in zip(totals.to_pylist(), counts, strict=True)
        ]
        try:
            return pa.array(means, result)
        except pa.ArrowInvalid as error:
            raise _too_large("mean", self.column, str(error)) from error


def _total_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_decimal(kind):
        return pa.decimal128(MOST_DIGITS, kind.scale)
    return pa.float64() if pa.types.is_floating(kind) else pa.int64()


def _widened(values: pa.Array) -> pa.Array:
    if pa.types.is_duration(values.type):
        return values.view(pa.int64())
    return values.cast(_total_type(values.type))


def _total(column: str, values: pa.Array, slices: Slices) -> pa.Array:
    try:
        if pa.types.is_decimal(values.type):
            return decimal_totals(values, slices)
        numbers = values.to_numpy()
        if pa.types.is_floating(values.type):
            totals = slices.reduce(np.add, numbers, 0.0)
        else:
            totals = integer_totals(numbers, slices)
    except OverflowError as error:
        raise _too_large("sum", column, str(error)) from error
    return pa.array(totals, mask=slices.empties)


def _rounded(totals: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Divide integers, rounding half away from zero."""
    quotients, rests = np.divmod(totals, counts)
    is_up = np.where(totals < 0, rests > counts - rests, rests >= counts - rests)
    return quotients + is_up


def _too_large(what: str, column: str, why: str) -> AggregateOverflowError:
    return AggregateOverflowError(
        f'the {what} of column "{column}" does not fit: {why}.\n'
        f"Hint: use a wider type, for example {what}('CAST(`{column}` AS DECIMAL(38))')."
    )
