"""A condition on the rows of two or more streams, as an ordinary Python function.

    lambda order, quote: quote.price <= order.limit

Or a value that is computed from single rows: `lambda row: row.price * row.pieces`.

Times and durations are integers, as Arrow holds them: microseconds, or days for dates. A function
is compiled, and run in one loop over all pairs, if it uses only numbers, booleans and times, none
of them null, and reads columns by name and not by place. Any other function is called pair by pair,
with None for null. If it fails because of a None, as `None < 5` does, a condition is false and a
computed value is null, as in Spark SQL. A compiled function returns what the called one returns
(`operators.temporal.exact`). A function that computes a value must compile, so that the type of
the value is known.
"""

from collections import namedtuple
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, Self

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask, Positions, gather
from latecomer.errors import ConditionError
from latecomer.labels import Labelled, named
from latecomer.operators.aggregates.base import one_array
from latecomer.operators.aggregates.extremes import as_numbers
from latecomer.operators.aggregates.slices import Values
from latecomer.operators.temporal.compiling import (
    CALLED,
    LARGEST,
    check_arguments,
    columns_read,
    explained,
    is_compilable,
    not_compiled,
)

Placed = Callable[[Positions], Mask]
"""A function that marks combinations of rows, given the places of the rows of each stream."""


@dataclass(frozen=True, slots=True)
class Condition(Labelled):
    """A condition on rows, one of each stream."""

    function: Callable[..., bool]

    def holds(self, *streams: Batch) -> Mask:
        """Mark the places at which the condition holds for the rows of all streams."""
        if not streams[0].num_rows:
            return np.zeros(0, np.bool_)
        if not is_compilable(self.function):
            return self._row_by_row(streams)
        try:
            return _looped(self.function, streams)
        except Exception:  # noqa: BLE001 - an error of the function is raised by the call
            return self._row_by_row(streams)

    def placed(self, streams: Sequence[Batch], starts: Positions) -> Placed:
        """Return a function that marks combinations of rows of these streams, by their places.

        It takes an array with one line for each stream: the places of its rows in all combinations.
        Columns are read once. Rows are gathered only if the condition has to be called.

        Args:
            streams: The rows.
            starts: The place of the first row of each stream.
        """
        numbers: list[dict[str, Values]] = []
        loops = []
        if is_compilable(self.function):
            read = columns_read(self.function.__code__)
            numbers = [numbers_of(rows, read) for rows in streams]
            columns = tuple(map(tuple, numbers))
            loops.append(_compiled(Same(self.function), columns, is_placed=True))

        def holds(places: Positions) -> Mask:
            if loops and places.size:
                try:
                    return loops[0]((places, starts), *(tuple(each.values()) for each in numbers))
                except not_compiled():
                    loops.clear()
                except Exception:  # noqa: BLE001, S110 - the call below raises it
                    pass
            own = places - starts[:, np.newaxis]
            return self._row_by_row(tuple(map(gather, streams, own)))

        return holds

    def of_pairs(self, rows: Batch) -> Callable[[int, int], bool]:
        """Return a function that calls the condition for two rows, given their places."""
        known = _named(rows)
        return lambda one, other: bool(_value(self.function, known[one], known[other]))

    def _row_by_row(self, streams: tuple[Batch, ...]) -> Mask:
        values = _called(self.function, streams)
        return np.array([bool(value) for value in values], np.bool_)

    def columns(self, schemas: Sequence[pa.Schema]) -> list[list[str]]:
        """Return the columns of each stream that it may read: if it compiles, only numbers."""
        tables = tuple(schema.empty_table() for schema in schemas)
        try:
            if is_compilable(self.function):
                _looped(self.function, tables)
                return [list(numbers_of(table)) for table in tables]
        except not_compiled():
            pass
        return [schema.names for schema in schemas]

    def check(self, names: tuple[str, ...], schemas: Sequence[pa.Schema]) -> None:
        """Check that it takes one row of each stream, and compile it for their columns.

        Raises:
            ConditionError: It does not take one row of each, or cannot be compiled.
        """
        check_arguments(self.function, names)
        if not is_compilable(self.function):
            return
        tables = tuple(schema.empty_table() for schema in schemas)
        try:
            _looped(self.function, tables)
        except not_compiled() as error:
            if CALLED in str(error):
                return
            raise explained(error, self.function, _numbers(names, tables)) from None


@dataclass(frozen=True, slots=True)
class Computed(Labelled):
    """A value that a function computes from a row: a number or a boolean."""

    function: FunctionType
    kind: pa.DataType

    @classmethod
    def of(cls, function: Callable[..., Any], schema: pa.Schema) -> Self:
        """Compile a function for rows of this schema, to find the type of its values.

        Raises:
            ConditionError: It does not take a row, or cannot be compiled.
        """
        from numba import typeof, types

        from latecomer.operators.temporal import exact

        check_arguments(function, ("row",))
        table = schema.empty_table()
        numbers = numbers_of(table)
        columns = _numbers(("row",), (table,))
        if not is_compilable(function):
            raise ConditionError(
                f"{named(function)} computes a column, and must be a plain function that reads "
                "columns by their names.\nHint: for example lambda row: row.price * row.pieces."
            )
        row = namedtuple("row_0", list(numbers), rename=True)  # type: ignore[misc]
        compiled = exact.compiled(function)
        try:
            example = row(*(each.dtype.type(1) for each in numbers.values()))
            compiled.compile((typeof(example),))  # type: ignore[no-untyped-call]
        except not_compiled() as error:
            raise explained(error, function, columns) from None
        made = compiled.nopython_signatures[0].return_type
        kinds = {types.boolean: pa.bool_(), types.int64: pa.int64(), types.float64: pa.float64()}
        found = kinds.get(types.unliteral(made))  # type: ignore[no-untyped-call]
        if found is None:
            reason = ValueError(
                f"a column must be numbers or booleans, and the function returns {made}"
            )
            raise explained(reason, function, columns)
        return cls(function, found)

    def values(self, rows: Batch) -> pa.Array:
        """Return the value for each row; null if the function fails because of a null."""
        if not rows.num_rows:
            return pa.array([], self.kind)
        try:
            return pa.array(_looped(self.function, (rows,), _NUMPY[self.kind]), self.kind)
        except Exception:  # noqa: BLE001 - an error of the function is raised by the call
            return pa.array(_called(self.function, (rows,)), self.kind)


_NUMPY = {pa.bool_(): "bool_", pa.int64(): "int64", pa.float64(): "float64"}


def _looped(function: FunctionType, streams: tuple[Batch, ...], kind: str = "bool_") -> Values:
    """Return the values of a compiled function for the rows of all streams."""
    numbers = [numbers_of(rows, columns_read(function.__code__)) for rows in streams]
    loop = _compiled(Same(function), tuple(map(tuple, numbers)), kind)
    return loop(streams[0].num_rows, *(tuple(each.values()) for each in numbers))


def _called(function: Callable[..., Any], streams: tuple[Batch, ...]) -> list[Any]:
    """Return the values of a function that is called for the rows of all streams."""
    return [_value(function, *each) for each in zip(*map(_named, streams), strict=True)]


def _named(rows: Batch) -> list[tuple[Any, ...]]:
    kind = namedtuple("Row", rows.column_names, rename=True)  # type: ignore[misc]
    return [kind(*values) for values in zip(*map(values_of, rows.columns), strict=True)]


def _value(function: Callable[..., Any], *rows: tuple[Any, ...]) -> Any:  # noqa: ANN401
    """Return the value of a function; None if it raises TypeError and a row has a null."""
    try:
        return function(*rows)
    except TypeError:
        if any(value is None for row in rows for value in row):
            return None
        raise


def _numbers(names: Sequence[str], tables: Sequence[Batch]) -> str:
    """Return the names of the columns that a compiled function may use."""
    return ", ".join(
        f"{name}.{column}"
        for name, table in zip(names, tables, strict=True)
        for column in numbers_of(table)
    )


def values_of(column: pa.ChunkedArray) -> list[Any]:
    """Return the values of a column as Python objects, and times as integers."""
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32() if column.type.bit_width == 32 else pa.int64())  # noqa: PLR2004
    return column.to_pylist()


def numbers_of(rows: Batch, read: frozenset[str] | None = None) -> dict[str, Values]:
    """Return the columns of numbers, booleans and times that have no nulls, as arrays.

    Columns with integers larger than `LARGEST` are left out, and columns that are not `read`.
    """
    found: dict[str, Values] = {}
    for name in rows.column_names:
        if read is not None and name not in read:
            continue
        values = one_array(rows.column(name))
        numbers = None if values.null_count else as_numbers(values)
        if numbers is None:
            continue
        if pa.types.is_boolean(values.type):
            found[name] = numbers.astype(np.bool_)
        elif numbers.dtype.kind == "f":
            found[name] = numbers.astype(np.float64, copy=False)
        elif not len(numbers) or max(-int(numbers.min()), int(numbers.max())) <= LARGEST:
            found[name] = numbers.astype(np.int64, copy=False)
    return found


class Same:
    """A function that equals its copies. A worker receives a new copy with each micro-batch."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self._key: object = function
        code, names = function.__code__, function.__globals__
        if any(isinstance(const, CodeType) for const in code.co_consts):
            # The names that an inner function reads are not known here.
            return
        read = tuple((name, names[name]) for name in code.co_names if name in names)
        cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
        key = (code, function.__defaults__, cells, read)
        with suppress(TypeError):
            hash(key)
            self._key = key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=64)
def _compiled(
    same: Same,
    columns: tuple[tuple[str, ...], ...],
    kind: str = "bool_",
    *,
    is_placed: bool = False,
) -> Callable[..., Values]:
    """Compile a loop that calls the function for each row of all streams.

    The loop takes the number of rows. If `is_placed`, it takes the places of the rows of each
    stream and the place of its first row instead.
    """
    from numba import njit

    from latecomer.operators.temporal import exact

    scope: dict[str, Any] = {"np": np, "function": exact.compiled(same.function)}
    rows = []
    for number, names in enumerate(columns):
        at = f"places[{number}, i] - starts[{number}]" if is_placed else "i"
        values = ", ".join(f"stream_{number}[{column}][{at}]" for column in range(len(names)))
        rows.append(f"row_{number}({values})")
        scope[f"row_{number}"] = namedtuple(f"row_{number}", names, rename=True)
    streams = ", ".join(f"stream_{number}" for number in range(len(columns)))
    source = (
        f"def loop(rows, {streams}):\n"
        f"    {'places, starts = rows' if is_placed else 'count = rows'}\n"
        f"    {'count = places.shape[1]' if is_placed else ''}\n"
        f"    found = np.empty(count, np.{kind})\n"
        "    for i in range(count):\n"
        f"        found[i] = function({', '.join(rows)})\n"
        "    return found\n"
    )
    exec(source, scope)  # noqa: S102 - numba needs a loop that names each column
    loop: Callable[..., Values] = njit(nogil=True)(scope["loop"])
    return loop
