"""Aggregates: partial states that can be added to and merged.

An aggregate is computed in four steps, so that each row is read once, wherever and whenever it
arrives:

    zero      the state of no rows
    add       rows of a group ─▶ a state
    merge     states of a group ─▶ one state, as if all rows had been added to it
    finish    a state ─▶ the result

One call computes all groups: a state is a row of a few Arrow columns, and groups are slices of rows
(`operators.aggregates.slices`). The zero is the state that `add` makes of an empty slice.

**Nothing depends on how rows were cut into batches**: in whatever portions they are added and
merged, the same rows give the same result (but for the last digits of floating-point sums). If
`needs_order` is set, rows of a group come in order of time, equal times in order of arrival. States
come in the order in which they were made.
"""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from latecomer.batch import Batch, Mask, Positions, is_true
from latecomer.errors import ColumnNotFoundError, ColumnTypeError, listed
from latecomer.labels import Labelled
from latecomer.operators.aggregates.slices import Slices
from latecomer.time import Times

Columns = list[pa.Array]


@dataclass(frozen=True, slots=True)
class Input:
    """The rows that an aggregate reads, in order of their groups."""

    rows: Batch
    times: Times
    slices: Slices

    def filtered(self, where: str | None, *columns: str) -> tuple[list[pa.Array], Times, Slices]:
        """Return the columns, times and slices of the rows that pass the filter."""
        return self._kept(is_counted(self.rows, where), columns)

    def counted(self, where: str | None, *columns: str) -> tuple[list[pa.Array], Times, Slices]:
        """Return the same of rows that pass the filter and are not null in any of the columns."""
        return self._kept(is_counted(self.rows, where, *columns), columns)

    def _kept(
        self, keep: Mask | None, columns: tuple[str, ...]
    ) -> tuple[list[pa.Array], Times, Slices]:
        arrays = [one_array(self.rows.column(name)) for name in columns]
        if keep is None or keep.all():
            return arrays, self.times, self.slices
        mask = pa.array(keep)
        return [array.filter(mask) for array in arrays], self.times[keep], self.slices.keep(keep)


@dataclass(frozen=True, slots=True)
class Aggregate(Labelled, ABC):
    """The specification of one aggregate of one column."""

    fixed: ClassVar[tuple[str, ...]] = ("column", "where")

    column: str
    where: str | None = None
    """A boolean column: only rows for which it is true are counted."""
    texts: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)
    """Expressions as the user wrote them, by the field that names the column Spark computes."""

    def part(self, name: str) -> object:
        """Return the value of a field; an expression as it was written."""
        return dict(self.texts).get(name, getattr(self, name))

    needs_order: ClassVar[bool] = False
    """Whether `add` needs the rows of a group in order of time."""

    minds_arrival: ClassVar[bool] = False
    """Whether it matters which of two rows of equal time arrived first."""

    def adds_up(self, schema: pa.Schema) -> bool:
        """Return True if states are integers that merge by adding, and so can be subtracted."""
        return False

    def has_ranks(self, schema: pa.Schema) -> bool:
        """Return True if the merged state of several rows is always that of one of them."""
        return False

    def ranks(self, states: Columns) -> Positions | None:
        """Return a rank for each state: merging several states gives the one of highest rank.

        The ranks of null states have no meaning. None if states have no ranks.
        """
        return None

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are read."""
        return (self.column, *([self.where] if self.where is not None else []))

    @abstractmethod
    def result_type(self, schema: pa.Schema) -> pa.DataType:
        """Return the type of the result.

        Raises:
            ColumnTypeError: This aggregate cannot be computed of such a column.
        """

    def state_types(self, schema: pa.Schema) -> list[pa.DataType]:
        """Return the types of the columns of a state: the result's alone, unless overridden."""
        return [self.result_type(schema)]

    @abstractmethod
    def add(self, given: Input) -> Columns:
        """Return one state for each group of rows."""

    def tally(self, rows: Batch, groups: Positions, count: int) -> Columns | None:
        """Return one state for each group, as `add` would make them; rows are in any order.

        The number of a group is less than `count`, and a group may have no rows. None if rows must
        be in order of groups.
        """
        return None

    @abstractmethod
    def merge(self, states: Columns, slices: Slices) -> Columns:
        """Merge the states of each group into one."""

    def finish(self, states: Columns, schema: pa.Schema) -> pa.Array:
        """Return the results: the states themselves, unless overridden."""
        return states[0]

    def type_in(self, schema: pa.Schema) -> pa.DataType:
        """Return the type of the column."""
        return column_type(schema, self.column)

    def comparable_in(self, schema: pa.Schema, name: str) -> pa.DataType:
        """Return the type of a column whose values are compared.

        Raises:
            ColumnTypeError: Its values cannot be compared.
        """
        kind = column_type(schema, name)
        if pa.types.is_nested(kind) or pa.types.is_null(kind):
            raise self.refuse(kind, "values that can be compared")
        return kind

    def refuse(self, kind: pa.DataType, needed: str) -> ColumnTypeError:
        """Return the error for a column of the wrong type."""
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()
        what = f'column "{self.column}"'
        how = f" first, for example with_columns({self.column}=...)"
        if text := dict(self.texts).get("column"):
            what, how = text, f', for example {name}("CAST({text} AS DOUBLE)")'
        return ColumnTypeError(
            f"{name} needs {needed}; {what} is of type {kind}.\nHint: cast it{how}."
        )


def column_type(schema: pa.Schema, name: str) -> pa.DataType:
    """Return the type of a column.

    Raises:
        ColumnNotFoundError: There is no such column.
    """
    if name not in schema.names:
        raise ColumnNotFoundError(f'no column "{name}"; the stream has {listed(schema.names)}.')
    return schema.field(name).type


def is_counted(rows: Batch, where: str | None, *columns: str) -> Mask | None:
    """Mark the rows that pass the filter and are not null in any column; None if all rows are."""
    read = [rows.column(name) for name in columns]
    masks = [np.asarray(column.is_valid()) for column in read if column.null_count]
    if where is not None:
        masks.append(is_true(rows.column(where)))
    return np.logical_and.reduce(masks) if masks else None


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def doubles(values: pa.Array) -> npt.NDArray[np.float64]:
    """Return numbers without nulls as doubles, cast as in Spark."""
    if pa.types.is_decimal(values.type):
        values = values.cast(pa.float64())
    elif pa.types.is_duration(values.type):
        values = values.view(pa.int64())
    return values.to_numpy().astype(np.float64)


def is_number(kind: pa.DataType) -> bool:
    """Return True if values of a type are numbers."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def lists(bounds: Positions, values: pa.Array) -> pa.Array:
    """Return a column of lists: list i has the values from `bounds[i]` to `bounds[i + 1]`."""
    return pa.LargeListArray.from_arrays(pa.array(bounds, pa.int64()), values)
