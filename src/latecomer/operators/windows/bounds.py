"""The column `window` of a result: where it starts and ends, as Spark writes it."""

import pyarrow as pa

from latecomer.time import PER_UNIT, TimeColumn, Times, from_micros

WINDOW = "window"
INSTANT = pa.timestamp("us", "UTC")


def window_field(schema: pa.Schema, time: TimeColumn, *lengths: int) -> pa.Field:
    """Return what the column is: bounds are of the type of the time, if that can hold them.

    They are timestamps if the time is a date, or an integer of which the windows are no whole
    number of units. Otherwise the bounds of a small integer are int64, since a window may end
    after the largest time.

    Args:
        schema: The columns of the rows.
        time: The time column.
        lengths: What the bounds of windows are multiples of, in microseconds.
    """
    kind = schema.field(time.name).type
    if pa.types.is_integer(kind):
        is_whole = all(length % (PER_UNIT[time.unit or "us"] or 1) == 0 for length in lengths)
        kind = pa.int64() if is_whole else INSTANT
    elif pa.types.is_date32(kind):
        kind = INSTANT
    bounds = pa.struct([pa.field("start", kind), pa.field("end", kind)])
    return pa.field(WINDOW, bounds, nullable=False)


def window_column(starts: Times, ends: Times, field: pa.Field, time: TimeColumn) -> pa.Array:
    """Write the column."""
    kind = field.type.field("start").type
    parts = [from_micros(bound, kind, time.unit) for bound in (starts, ends)]
    return pa.StructArray.from_arrays(parts, fields=list(field.type))
