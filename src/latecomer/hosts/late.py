"""Rows that cannot take part, and what is done with them.

A row is handed out as late with three columns more: `_delay` (how far behind the newest row it
came), `_behind` (how far behind the watermark) and `_reason`. Both durations are null where the
row has no time, or one that nobody believes.
"""

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch
from latecomer.disorder.watermark import Clock
from latecomer.errors import LateRowError
from latecomer.time import TimeColumn, format_duration

LATE = "late"
NO_TIME = "no time"
AHEAD = "ahead"

_SPAN = pa.duration("us")
LATE_FIELDS = (
    pa.field("_delay", _SPAN),
    pa.field("_behind", _SPAN),
    pa.field("_reason", pa.string(), nullable=False),
)


def late_schema(schema: pa.Schema) -> pa.Schema:
    """Say what late rows look like, given the rows that come in."""
    return pa.schema([*schema, *LATE_FIELDS])


def behind_the_watermark(rows: Batch, time: TimeColumn, clock: Clock) -> Batch:
    """Annotate rows that came behind the watermark."""
    times = time.micros(rows)
    return _annotated(rows, clock.newest - times, clock.watermark - times, LATE)


def unusable(rows: Batch, reason: str) -> Batch:
    """Annotate rows whose time is missing or not to be believed."""
    nothing = pa.nulls(rows.num_rows, _SPAN)
    return _annotated(rows, nothing, nothing, reason)


def _annotated(rows: Batch, delay: object, behind: object, reason: str) -> Batch:
    columns = [
        *rows.columns,
        delay if isinstance(delay, pa.Array) else pa.array(delay, pa.int64()).view(_SPAN),
        behind if isinstance(behind, pa.Array) else pa.array(behind, pa.int64()).view(_SPAN),
        pa.array(np.full(rows.num_rows, reason, object), pa.string()),
    ]
    return pa.table(columns, schema=late_schema(rows.schema))


def refuse(late: Batch, time: TimeColumn) -> None:
    """Raise for late rows, as `late="raise"` asks for; name the first one.

    Args:
        late: Annotated rows; none raises nothing.
        time: The time column.
    """
    if not late.num_rows:
        return
    row = late.slice(0, 1).to_pylist()[0]
    reason, behind = row["_reason"], row["_behind"]
    shown = {name: value for name, value in row.items() if not name.startswith("_")}
    if reason == LATE:
        micros = int(late.column("_behind")[0].cast(pa.int64()).as_py())
        what = f"a row came {format_duration(micros)} behind the watermark ({behind})"
    elif reason == NO_TIME:
        what = f'a row has no time: column "{time.name}" is null'
    else:
        what = f'a row is too far ahead of its arrival in column "{time.name}"'
    message = (
        f"{what}; {late.num_rows} such in this batch, the first is {shown}.\n"
        'Hint: wait longer, or let late rows come out of late_df() with late="divert".'
    )
    raise LateRowError(message)
