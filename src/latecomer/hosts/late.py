"""Rows that cannot take part, and what is done with them.

A row is handed out as late with three columns more: `_delay` (how far behind the newest row it
came), `_behind` (how far behind the watermark) and `_reason`. Both durations are null where the
row has no time, or one that nobody believes.
"""

import pyarrow as pa

from latecomer.batch import Batch
from latecomer.errors import LateRowError
from latecomer.operators.base import LATE, NO_BEGIN
from latecomer.time import TimeColumn, Times, format_duration, minus

NO_TIME = "no time"
AHEAD = "ahead"
EMPTY = "ends before it begins"

_SPAN = pa.duration("us")
LATE_FIELDS = (
    pa.field("_delay", _SPAN),
    pa.field("_behind", _SPAN),
    pa.field("_reason", pa.string(), nullable=False),
)


def late_schema(schema: pa.Schema) -> pa.Schema:
    """Say what late rows look like, given the rows that come in."""
    return pa.schema([*schema, *LATE_FIELDS])


def behind_the_watermark(
    rows: Batch, time: TimeColumn, newest: int | Times, watermark: int | Times
) -> Batch:
    """Annotate rows that came behind the watermark, which is one for all, or one for each."""
    times = time.micros(rows)
    delay, behind = pa.array(minus(newest, times)), pa.array(minus(watermark, times))
    return _annotated(rows, delay.view(_SPAN), behind.view(_SPAN), LATE)


def unusable(rows: Batch, reason: str) -> Batch:
    """Annotate rows whose time is missing or not to be believed."""
    nothing = pa.nulls(rows.num_rows, _SPAN)
    return _annotated(rows, nothing, nothing, reason)


def _annotated(rows: Batch, delay: pa.Array, behind: pa.Array, reason: str) -> Batch:
    reasons = pa.repeat(reason, rows.num_rows)
    return pa.table([*rows.columns, delay, behind, reasons], schema=late_schema(rows.schema))


def refuse(late: Batch, time: TimeColumn) -> None:
    """Raise for late rows, as `late="raise"` asks for; name the first one.

    Args:
        late: Annotated rows; none raises nothing.
        time: The time column.
    """
    if not late.num_rows:
        return
    row = late.slice(0, 1).to_pylist()[0]
    reason = row["_reason"]
    shown = {name: value for name, value in row.items() if not name.startswith("_")}
    if reason == LATE:
        micros = int(late.column("_behind")[0].cast(pa.int64()).as_py())
        what = f"a row came {format_duration(micros)} behind the watermark"
        remedy = "wait longer"
    elif reason == NO_TIME:
        what = f'a row has no time: column "{time.name}" is null'
        remedy = f"leave such rows out with where('`{time.name}` IS NOT NULL')"
    elif reason == NO_BEGIN:
        what = "a row ends something that has not begun, or whose begin came late"
        remedy = "wait longer"
    elif reason == EMPTY:
        what = f'a row does not end after it begins, in column "{time.name}"'
        remedy = "leave such rows out with where()"
    else:
        what = f'a row is too far ahead of its arrival in column "{time.name}"'
        remedy = "allow more with ahead"
    message = (
        f"{what}; {late.num_rows} such in this batch, the first is {shown}.\n"
        f'Hint: {remedy}, or let such rows come out of late_df() with late="divert".'
    )
    raise LateRowError(message)
