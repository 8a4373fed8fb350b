"""Late rows: the one place that applies the late policy of a stream.

    divert   the rows go to the late output, with three more columns
    drop     they are counted
    adjust   they take part after all, with the watermark as their time
    raise    the query fails, and names the first one

The columns of a diverted row are `_delay` (how far behind the newest row it came), `_behind` (how
far behind the watermark) and `_reason`. Both durations are milliseconds, rounded up; they are null
where the row has no time that could be compared.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from latecomer.batch import Batch, Mask, row_text
from latecomer.clock.watermark import Clock
from latecomer.errors import LateRowError
from latecomer.hosts.output import DROPPED, Output
from latecomer.operators.base import LATE, NO_BEGIN
from latecomer.plan import Plan
from latecomer.time import TimeColumn, Times, format_duration, in_millis, minus

NO_TIME = "no time"
AHEAD = "ahead"
EMPTY = "ends before it begins"

LATE_FIELDS = (
    pa.field("_delay", pa.int64()),
    pa.field("_behind", pa.int64()),
    pa.field("_reason", pa.string(), nullable=False),
)


def late_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of late rows, given the rows that come in."""
    return pa.schema([*schema, *LATE_FIELDS])


def late_outputs(
    plan: Plan, rows: Batch, newest: int | Times, watermark: int | Times, reason: str = LATE
) -> Iterator[Output]:
    """Emit late rows by the late policy of their stream; rows that were moved are not among them.

    `newest` is the newest time at their arrival, `watermark` that of the last wait. Each is one
    value for all rows, or one for each row.
    """
    if not plan.needs_late_rows:
        yield only_counted(plan, rows.num_rows)
        return
    late = (
        behind_the_watermark(rows, plan.source.time, newest, watermark)
        if reason == LATE
        else unusable(rows, reason)
    )
    if late.num_rows:
        yield Output(plan.source.late, late.num_rows, checked(plan, late))


def moved(plan: Plan, rows: Batch, is_late: Mask, watermark: int | Times) -> Batch:
    """Return all rows in the same order, with the watermark as the time of those that are late.

    `watermark` is that of the last wait: one for all rows, or one for each row.
    """
    if not is_late.any():
        return rows
    time = plan.source.time
    at = rows.schema.get_field_index(time.name)
    later = time.replaced(rows, np.where(is_late, watermark, time.micros(rows)))
    times = pc.if_else(pa.array(is_late), later.column(at), rows.column(at))
    return rows.set_column(at, rows.schema.field(at), times)


def checked(plan: Plan, late: Batch) -> Batch:
    """Return annotated rows; raise if there are any and the policy is to raise."""
    if plan.late == "raise" and late.num_rows:
        _refuse(late, plan.source.time)
    return late


def only_counted(plan: Plan, rows: int) -> Output:
    """Return the number of late rows that are not needed as rows, as an output."""
    return Output(DROPPED if plan.late == "drop" else plan.source.late, rows, None)


def found_late(plan: Plan, clock: Clock, rows: Batch) -> Iterator[Output]:
    """Emit the late rows among rows that are aggregated to states of windows elsewhere.

    A state cannot be split into rows. But whether a row is late depends on the row and the clock
    alone, so any bucket can check it.
    """
    early = None if plan.first is None else plan.first.early
    is_late = None if early is None else early.is_late(rows, clock.watermark)
    if is_late is not None and is_late.any():
        late = rows.filter(pa.array(is_late))
        yield from late_outputs(plan, late, clock.newest, clock.watermark)


def behind_the_watermark(
    rows: Batch, time: TimeColumn, newest: int | Times, watermark: int | Times
) -> Batch:
    """Annotate rows that came behind the watermark: one for all rows, or one for each row."""
    times = time.micros(rows)
    delay, behind = (pa.array(in_millis(minus(each, times))) for each in (newest, watermark))
    return _annotated(rows, delay, behind, LATE)


def unusable(rows: Batch, reason: str) -> Batch:
    """Annotate rows whose time is missing or cannot be used."""
    nothing = pa.nulls(rows.num_rows, pa.int64())
    return _annotated(rows, nothing, nothing, reason)


def _annotated(rows: Batch, delay: pa.Array, behind: pa.Array, reason: str) -> Batch:
    reasons = pa.repeat(reason, rows.num_rows)
    return pa.table([*rows.columns, delay, behind, reasons], schema=late_schema(rows.schema))


def _refuse(late: Batch, time: TimeColumn) -> None:
    """Raise for late rows, and name the first one."""
    row = late.slice(0, 1).to_pylist()[0]
    reason = row["_reason"]
    shown = row_text({name: value for name, value in row.items() if not name.startswith("_")})
    if reason == LATE:
        what = f"a row came {format_duration(1_000 * row['_behind'])} behind the watermark"
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
        what = f'a row is too far ahead of its arrival, or of now, in column "{time.name}"'
        remedy = "allow more with ahead="
    raise LateRowError(
        f"{what}; such rows in this batch: {late.num_rows}, the first is {shown}.\n"
        f'Hint: {remedy}, or send such rows to late_df() with late="divert".'
    )
