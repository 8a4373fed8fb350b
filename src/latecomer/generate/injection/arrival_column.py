"""The column `arrival` of a disordered stream.

Its type is that of the source's arrival column, or else that of the time column, but always fine
enough for a delay: a date becomes a timestamp, and timestamps are in microseconds. An integer
column stays an integer, in its own unit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from latecomer.errors import ColumnNameError
from latecomer.time import FOREVER, NEVER, Times, Unit, from_micros

if TYPE_CHECKING:
    from latecomer.generate.injection.fates import Injection

ARRIVAL = "arrival"
OWN = "_lc_"
"""Prefix of the columns that Latecomer adds."""


def prepared(schema: pa.Schema, injection: Injection) -> tuple[Injection, pa.Field]:
    """Check that an injection fits the rows; return it with the field of the arrival column.

    Raises:
        ColumnNotFoundError: A column named by the user does not exist.
        ColumnTypeError: A time or arrival column is not a time.
        ColumnNameError: A column has a reserved name, or a name occurs twice.
    """
    _check_names(schema.names, injection)
    injection.time.check(schema, "time")
    if injection.arrival is not None:
        injection.arrival.check(schema, "arrival")
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
    """Return the rows with the arrival column, which replaces an existing one."""
    column = from_micros(arrivals, field.type, unit)
    column = pc.if_else(pa.array(arrivals == NEVER), pa.scalar(None, field.type), column)
    at = rows.schema.get_field_index(ARRIVAL)
    if at < 0:
        return rows.append_column(field, column)
    return rows.set_column(at, field, column)


def _check_names(names: list[str], injection: Injection) -> None:
    # Spark ignores the case of a name.
    lower = [name.lower() for name in names]
    for name, low in zip(names, lower, strict=True):
        mine = injection.arrival is not None and injection.arrival.name == name
        if (low == ARRIVAL and not mine) or low.startswith(OWN) or lower.count(low) > 1:
            raise ColumnNameError(
                f'the rows have a column "{name}", which is a name that Latecomer adds, or is '
                "there twice.\n"
                f'Hint: rename it; or pass arrival="{name}" if it says when the rows arrived.'
            )
