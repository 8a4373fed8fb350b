"""The column `window` of a result: where it starts and ends, as Spark writes it."""

import pyarrow as pa

from latecomer.time import TimeColumn, Times, from_micros

WINDOW = "window"


def window_field(schema: pa.Schema, time: TimeColumn) -> pa.Field:
    """Say what the column is: bounds are of the type of the time, or timestamps if it is a date."""
    kind = schema.field(time.name).type
    instant = pa.timestamp("us", "UTC") if pa.types.is_date32(kind) else kind
    bounds = pa.struct([pa.field("start", instant), pa.field("end", instant)])
    return pa.field(WINDOW, bounds, nullable=False)


def window_column(starts: Times, ends: Times, field: pa.Field, time: TimeColumn) -> pa.Array:
    """Write the column."""
    kind = field.type.field("start").type
    parts = [from_micros(bound, kind, time.unit) for bound in (starts, ends)]
    return pa.StructArray.from_arrays(parts, fields=list(field.type))
