"""Number of rows."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Positions
from latecomer.operators.aggregates.base import (
    Aggregate,
    Columns,
    Input,
    column_type,
    is_counted,
)
from latecomer.operators.aggregates.slices import Slices


@dataclass(frozen=True, slots=True)
class Count(Aggregate):
    """The number of rows, or of rows that are not null in a column."""

    column: str = ""
    """The column in which rows must not be null; empty to count all rows."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name in (self.column, self.where) if name)

    def result_type(self, schema: pa.Schema) -> pa.DataType:
        """Return a 64-bit integer, as in Spark."""
        if self.column:
            column_type(schema, self.column)
        return pa.int64()

    def adds_up(self, schema: pa.Schema) -> bool:
        return True

    def add(self, given: Input) -> Columns:
        _, _, slices = given.counted(self.where, *filter(None, [self.column]))
        return [pa.array(slices.lengths, pa.int64())]

    def tally(self, rows: Batch, groups: Positions, count: int) -> Columns | None:
        counted = is_counted(rows, self.where, *filter(None, [self.column]))
        groups = groups if counted is None else groups[counted]
        return [pa.array(np.bincount(groups, minlength=count))]

    def merge(self, states: Columns, slices: Slices) -> Columns:
        return [pa.array(slices.reduce(np.add, states[0].to_numpy(), 0))]
