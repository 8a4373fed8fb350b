"""Functions of rows, as users write them, and what they return.

    def update(balance, row):
        balance += row.amount
        return balance, (balance, balance < 0)

A row is a named tuple of the columns of the stream. Times and durations are integers, as Arrow
holds them: microseconds, or days for dates. The outputs are

    a list of rows      each of them a row of the result; none if it is empty
    a tuple, or a dict  one row: the values in order of the columns, or by name
    None                no row

If the result has one column, a row may be its bare value. The time of the input row is added to
each output, and after a stateful step also its key; the function does not return them.
"""

from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Positions, cast, row_text
from latecomer.errors import UpdateError, listed
from latecomer.kernels.hashing import hash_columns
from latecomer.labels import named
from latecomer.operators.temporal.conditions import values_of

Row = Any
"""A named tuple of the columns of the stream."""


def rows_of(table: Batch) -> list[Row]:
    """Return the rows of a table as named tuples."""
    kind = namedtuple("Row", table.column_names, rename=True)  # type: ignore[misc]
    columns = [values_of(_counted(column)) for column in table.columns]
    return [kind(*values) for values in zip(*columns, strict=True)]


def _counted(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in which times inside lists and structs are integers."""
    kind = _plain(column.type) if pa.types.is_nested(column.type) else column.type
    return cast(column, kind)


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(_plain(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain(field.type)) for field in kind])
    if pa.types.is_temporal(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()  # noqa: PLR2004
    return kind


class Made:
    """The rows that a function has returned, in order."""

    def __init__(self, function: Callable[..., object], schema: pa.Schema) -> None:
        self._function = function
        self._schema = schema
        self._names = schema.names
        self._is_nested = any(pa.types.is_nested(field.type) for field in schema)
        self._rows: list[tuple[Any, ...]] = []
        self._of: list[Row] = []
        self.counts: list[int] = []
        """Number of rows that were returned for each row."""

    def add(self, given: Row, made: object) -> None:
        """Add the rows that were returned for a row."""
        before = len(self._rows)
        if made is not None:
            for each in self._each(given, made):
                row = self._read(given, each)
                # A list in the row may be the state, which the next call may modify.
                self._rows.append(deepcopy(row) if self._is_nested else row)
                self._of.append(given)
        self.counts.append(len(self._rows) - before)

    def _each(self, given: Row, made: object) -> Iterable[object]:
        if isinstance(made, tuple | dict | str | bytes) or not hasattr(made, "__iter__"):
            return (made,)
        try:
            return [*made]
        except Exception as error:
            raise failed(self._function, error, given, "") from error

    def table(self) -> Batch:
        """Return the rows as an Arrow table.

        Raises:
            UpdateError: A value does not fit its column.
        """
        columns = [*zip(*self._rows, strict=True)] or [()] * len(self._names)
        arrays = [
            self._column(field, column) for field, column in zip(self._schema, columns, strict=True)
        ]
        return pa.table(arrays, schema=self._schema)

    def _read(self, given: Row, made: object) -> tuple[Any, ...]:
        if isinstance(made, tuple):
            if len(made) == len(self._names):
                return made
        elif isinstance(made, dict):
            if made.keys() == set(self._names):
                return tuple(made[name] for name in self._names)
        elif len(self._names) == 1:
            return (made,)
        raise UpdateError(
            f"{named(self._function)} returned {made!r}, which is not a row of "
            f"{listed(self._names)}; it was called with {as_text(given)}.\n"
            "Hint: return a tuple of these values, a dict by column name, a list of either, or "
            "None; the time and the key are added to it."
        )

    def _column(self, field: pa.Field, values: Sequence[Any]) -> pa.Array:
        try:
            return _array(values, field.type)
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            for given, value in zip(self._of, values, strict=True):
                if not _fits(value, field.type):
                    raise UpdateError(
                        f'{named(self._function)} returned {value!r} for column "{field.name}", '
                        f"which is of type {field.type}; it was called with {as_text(given)}.\n"
                        "Hint: change what it returns, or the type in outputs=."
                    ) from error
            raise


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if _are_cut(values, kind):
        raise TypeError
    if pa.types.is_integer(kind):
        # If a function returns a boolean or a number, the compiled one always returns a number.
        values = [int(value) if value is True or value is False else value for value in values]
    return pa.array(values, kind)


def _are_cut(values: Iterable[Any], kind: pa.DataType) -> bool:
    """Return True if Arrow would cut off the fraction of a value without an error."""
    if pa.types.is_list(kind):
        lists = (value for value in values if isinstance(value, list | tuple | np.ndarray))
        return any(_are_cut(value, kind.value_type) for value in lists)
    if pa.types.is_struct(kind):
        rows = [value for value in values if isinstance(value, dict)]
        return any(_are_cut([row.get(each.name) for row in rows], each.type) for each in kind)
    if not (pa.types.is_integer(kind) or pa.types.is_temporal(kind)):
        return False
    # There are few types, and many values.
    return any(issubclass(each, float | np.floating | Decimal) for each in {*map(type, values)})


def _fits(value: object, kind: pa.DataType) -> bool:
    try:
        _array([value], kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return False
    return True


def failed(function: Callable[..., object], error: Exception, row: Row, state: str) -> UpdateError:
    """Return the error for a row on which a function has failed.

    `state` is the state before the row, in words; empty if there is none.
    """
    return UpdateError(
        f"{named(function)} failed with {type(error).__name__}: {error}; it was called with "
        f"{as_text(row)}{state}.\n"
        "Hint: handle such rows in the function, or leave them out with where() first."
    )


def as_text(row: Row) -> str:
    """Return a row in words."""
    return f"the row {row_text(row._asdict())}"


def content(table: Batch) -> Positions:
    """Return a hash of the values of each row. Columns may be of any type."""
    columns = []
    for column in table.columns:
        if pa.types.is_nested(column.type):
            columns.append(pa.chunked_array([[repr(value) for value in column.to_pylist()]]))
        else:
            columns.append(column)
    hashes: Positions = hash_columns(columns, table.num_rows).view(np.int64)
    return hashes
