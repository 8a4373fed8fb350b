"""Sample variance and standard deviation.

As Spark's var_samp and stddev_samp: a double, null for fewer than two numbers; nulls are skipped; a
NaN or an infinity among two or more numbers gives NaN.

A sum of squares would lose precision by cancellation if numbers are large and close together. So a
state holds the mean and the sum of squared distances from it.

Paper: T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating Formulae and a Pairwise Algorithm for
    Computing Sample Variances", Stanford STAN-CS-79-773, 1979, formula 2.1.
Symbols: m, n → counts; T / m → means; S → squares.
Departures: All states of a group are merged at once; for two it is the paper's formula.
Holds: squares = Σ (x − mean)².
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from latecomer.operators.aggregates.base import Aggregate, Columns, Input, doubles, is_number
from latecomer.operators.aggregates.slices import Slices, Values


@dataclass(frozen=True, slots=True)
class _Moment(Aggregate):
    is_root: ClassVar[bool]

    def result_type(self, schema: pa.Schema) -> pa.DataType:
        kind = self.type_in(schema)
        if not is_number(kind):
            raise self.refuse(kind, "numbers")
        return pa.float64()

    def state_types(self, schema: pa.Schema) -> list[pa.DataType]:
        """Return the types of the count, the mean, and the sum of squared distances from it."""
        return [pa.int64(), pa.float64(), pa.float64()]

    def add(self, given: Input) -> Columns:
        """Compute the mean of the rows, then their distances from it."""
        (values,), _, slices = given.counted(self.where, self.column)
        numbers = doubles(values)
        return _merged(np.ones(len(numbers), np.int64), numbers, np.zeros(len(numbers)), slices)

    def merge(self, states: Columns, slices: Slices) -> Columns:
        """Compute the mean of all states, then the distances of their means from it."""
        counts, means, squares = (state.to_numpy() for state in states)
        is_filled = counts > 0
        return _merged(
            counts[is_filled], means[is_filled], squares[is_filled], slices.keep(is_filled)
        )

    def finish(self, states: Columns, schema: pa.Schema) -> pa.Array:
        """Divide the squares by one less than the count."""
        counts, _, squares = (state.to_numpy() for state in states)
        variance = squares / np.maximum(counts - 1, 1)
        return pa.array(np.sqrt(variance) if self.is_root else variance, mask=counts < 2)  # noqa: PLR2004


class Variance(_Moment):
    """The sample variance of a column."""

    __slots__ = ()
    is_root = False


class Stddev(_Moment):
    """The sample standard deviation of a column."""

    __slots__ = ()
    is_root = True


def pooled(counts: Values, means: Values, slices: Slices) -> tuple[Values, Values]:
    """Return the count and the mean of each group, given those of its parts, none of them empty."""
    total = slices.reduce(np.add, counts, 0)
    is_filled = total > 0
    # Distances from one number of the group stay small if numbers are large and close together.
    near = np.zeros(len(slices))
    near[is_filled] = means[slices.bounds[:-1][is_filled]]
    with np.errstate(invalid="ignore", over="ignore"):
        away = slices.reduce(np.add, counts * (means - slices.spread(near)), 0.0)
        return total, near + away / np.maximum(total, 1)


def _merged(counts: Values, means: Values, squares: Values, slices: Slices) -> Columns:
    total, mean = pooled(counts, means, slices)
    with np.errstate(invalid="ignore", over="ignore"):
        square = slices.reduce(np.add, squares + counts * (means - slices.spread(mean)) ** 2, 0.0)
    return [pa.array(total), pa.array(mean), pa.array(square)]
