"""The column `window` of a result: start and end, in the form that Spark uses."""

import pyarrow as pa

from latecomer.time import PER_UNIT, TimeColumn, Times, from_micros

WINDOW = "window"
INSTANT = pa.timestamp("us", "UTC")


def window_field(schema: pa.Schema, time: TimeColumn, *lengths: int) -> pa.Field:
    """Return the field of the column. Bounds have the type of the time, if it can hold them.

    They are timestamps if the time is a date, or an integer whose unit does not divide the lengths
    of windows. The bounds of other integer times are int64, since a window may end after the
    largest time of a smaller type.

    Args:
        schema: The columns of the rows.
        time: The time column.
        lengths: The lengths that the bounds of windows are multiples of, in microseconds.
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
    """Return the column for windows with these starts and ends."""
    kind = field.type.field("start").type
    parts = [from_micros(bound, kind, time.unit) for bound in (starts, ends)]
    return pa.StructArray.from_arrays(parts, fields=list(field.type))
