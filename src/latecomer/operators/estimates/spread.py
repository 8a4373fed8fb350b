"""The spread of counts and sums over the units of a sample.

A *unit* is what is drawn into a sample or not, as a whole: the rows that are equal in the columns
that distinguish rows. Most units are one row. Where they are larger, the rows of a unit carry less
information than as many rows drawn one by one, and an interval that counts rows would be too
narrow. So values are added up by unit first: `n`, the number of its rows, and `s`, the sum of their
values. A state then holds

    units, rows     their numbers
    mean            Σ s / Σ n
    squares         Σ (s − mean · n)²
    products        Σ n · (s − mean · n)
    sizes           Σ n²

As in `aggregates.moments`, distances from the mean are added up, since sums of squared values would
lose precision if values are large and close together. If each unit is one row, `squares` is the
same as there, `products` is 0, and `sizes` is the number of rows.

**All rows of a unit come in one call of `add`, in order of their units**; states of different units
are merged.
"""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from latecomer.operators.aggregates.base import Aggregate, Columns, Input, doubles
from latecomer.operators.aggregates.moments import pooled
from latecomer.operators.aggregates.slices import Slices, Values

UNIT = "_lc_unit"
"""Column that identifies the unit of a row."""


@dataclass(frozen=True, slots=True)
class Spread(Aggregate):
    """The sums that intervals are computed from; with an empty column, of all rows."""

    fixed = ("column", "where", "is_summed")

    is_summed: bool = field(default=False, kw_only=True)
    """Whether values are added up; otherwise each row counts as 1."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name in (self.column, self.where, UNIT) if name)

    def result_type(self, schema: pa.Schema) -> pa.DataType:
        """Return the type of the number of units; all else is read from the state."""
        return pa.int64()

    def state_types(self, schema: pa.Schema) -> list[pa.DataType]:
        """Return the types of units and rows, the mean, and three sums of products."""
        return [pa.int64(), pa.int64(), *[pa.float64()] * 4]

    def add(self, given: Input) -> Columns:
        """Add up rows by unit, then units."""
        names = [name for name in (self.column, UNIT) if name]
        arrays, _, slices = given.counted(self.where, *names)
        units = arrays[-1].to_numpy()
        begins = slices.changes(units)
        by_unit = Slices(np.append(np.flatnonzero(begins), len(units)))
        rows = by_unit.lengths.astype(np.float64)
        values = doubles(arrays[0]) if self.is_summed else np.ones(len(units))
        with np.errstate(invalid="ignore", over="ignore"):
            means = by_unit.reduce(np.add, values, 0.0) / rows
        each, nothing = np.ones(len(rows), np.int64), np.zeros(len(rows))
        parts = [each, by_unit.lengths, means, nothing, nothing, rows**2]
        return _merged(parts, slices.keep(begins))

    def merge(self, states: Columns, slices: Slices) -> Columns:
        """Compute the mean of all states, then the distances of their means from it."""
        parts = [state.to_numpy() for state in states]
        is_filled = parts[1] > 0
        return _merged([part[is_filled] for part in parts], slices.keep(is_filled))


def _merged(parts: list[Values], slices: Slices) -> Columns:
    units, rows, means, squares, products, sizes = parts
    total, mean = pooled(rows, means, slices)
    with np.errstate(invalid="ignore", over="ignore"):
        by = means - slices.spread(mean)
        summed = [squares + 2 * by * products + by**2 * sizes, products + by * sizes, sizes]
        sums = [slices.reduce(np.add, each, 0.0) for each in summed]
    return [pa.array(each) for each in (slices.reduce(np.add, units, 0), total, mean, *sums)]
