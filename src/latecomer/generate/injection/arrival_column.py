"""The column `arrival` that a disordered stream carries.

It is of the type of the column that said when rows arrived, or else of the time column, but always
fine enough for a delay: a date becomes a timestamp, and timestamps count microseconds. An integer
column stays one, in its own unit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from latecomer.errors import ColumnNameError, ColumnNotFoundError, ColumnTypeError
from latecomer.time import FOREVER, NEVER, UNITS, TimeColumn, Times, Unit, from_micros

if TYPE_CHECKING:
    from latecomer.generate.injection.fates import Injection

ARRIVAL = "arrival"
OWN = "_lc_"
"""Names that begin like this are ours."""


def prepared(schema: pa.Schema, injection: Injection) -> tuple[Injection, pa.Field]:
    """Check that an injection fits the rows, and say what the arrival column looks like.

    Raises:
        ColumnNotFoundError: A column named by the user is not there.
        ColumnTypeError: It is no time.
        ColumnNameError: There is another column with a name that is ours.
    """
    check_time(schema, injection.time, "time")
    if injection.arrival is not None:
        check_time(schema, injection.arrival, "arrival")
    _check_names(schema.names, injection)
    for pattern in injection.patterns:
        pattern.check(schema)
    kind = schema.field((injection.arrival or injection.time).name).type
    if pa.types.is_integer(kind):
        resolution = _RESOLUTION.get(injection.time.unit or "us", 1)
        most = (FOREVER - 1) // (1_000 if injection.time.unit == "ns" else 1)
        latest = most // resolution * resolution
        integers = replace(injection, resolution=resolution, latest=latest)
        return integers, pa.field(ARRIVAL, pa.int64())
    zone = kind.tz if pa.types.is_timestamp(kind) else "UTC"
    return injection, pa.field(ARRIVAL, pa.timestamp("us", zone))


_RESOLUTION = {"s": 1_000_000, "ms": 1_000}


def with_arrival(rows: pa.Table, arrivals: Times, field: pa.Field, unit: Unit | None) -> pa.Table:
    """Add the arrival column, or put it in the place of the one that the rows have."""
    column = from_micros(arrivals, field.type, unit)
    column = pc.if_else(pa.array(arrivals == NEVER), pa.scalar(None, field.type), column)
    at = rows.schema.get_field_index(ARRIVAL)
    if at < 0:
        return rows.append_column(field, column)
    return rows.set_column(at, field, column)


def check_time(schema: pa.Schema, column: TimeColumn, role: str) -> None:
    """Refuse a time column that is not there, or is none."""
    if column.name not in schema.names:
        names = ", ".join(f'"{name}"' for name in schema.names)
        raise ColumnNotFoundError(
            f'no column "{column.name}"; the rows have {names}.\n'
            f'Hint: name the column with {role}="...".'
        )
    kind = schema.field(column.name).type
    if pa.types.is_timestamp(kind) or pa.types.is_date32(kind):
        return
    if pa.types.is_integer(kind) and column.unit:
        return
    hint = (
        f"say what one is, with unit= one of {', '.join(UNITS)}"
        if pa.types.is_integer(kind)
        else "convert it to a timestamp first"
    )
    raise ColumnTypeError(
        f'the {role} column "{column.name}" is of type {kind}; it must be a timestamp, a date, '
        f"or an integer with a unit.\nHint: {hint}."
    )


def _check_names(names: list[str], injection: Injection) -> None:
    for name in names:
        mine = injection.arrival is not None and injection.arrival.name == name
        # Spark does not tell capital letters from small ones.
        if (name.lower() == ARRIVAL and not mine) or name.startswith(OWN) or names.count(name) > 1:
            raise ColumnNameError(
                f'the rows have a column "{name}" that is in the way of ours, or twice there.\n'
                f'Hint: rename it; or say arrival="{name}" if it tells when the rows arrived.'
            )
