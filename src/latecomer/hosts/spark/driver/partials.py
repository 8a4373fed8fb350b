"""States of windows that Spark computes itself: one row per pane and key.

    rows ─groupBy(pane, keys).agg(...)─▶ the table that `Aggregation.partial` would make of them

Passing a million rows to Python takes a third of a second; Spark adds them up in less. So Spark
computes the states of aggregates, if it can compute all of them.
"""

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from latecomer.clock.watermark import Clock
from latecomer.errors import OptionError
from latecomer.hosts.spark.columns import arrow_schema, as_data, reference
from latecomer.hosts.spark.declared import quoted
from latecomer.hosts.spark.parcels import NOW
from latecomer.hosts.spark.sql_states import not_plain, states
from latecomer.hosts.tally import BOUNDS_MS
from latecomer.operators.aggregates.summary import PANE, ROWS
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.plan import Plan
from latecomer.time import FOREVER, NEVER

NEWEST, TOO_FAR, DELAY = "_lc_newest", "_lc_too_far", "_lc_delay"
"""Columns with the largest time of the rows of a state, the number of rows too far ahead, and the
place of the rows' delays in `hosts.tally.DELAYS`: a pane and key has a state for each of these."""
_TIME, _IS_AHEAD, _BEHIND = "_lc_time", "_lc_is_ahead", "_lc_behind"
"""Columns with the time of a row, whether it is too far ahead, and how far behind the newest."""
_FIRST = -(1 << 62)
"""A number before all times. Spark cannot read the smallest of all as a literal."""


def computable(df: DataFrame, plan: Plan) -> Aggregation:
    """Return the aggregation of a plan; refuse one whose states Spark cannot compute."""
    found = plan.first
    # Spark computes the states of windows in SQL, so it needs a plain aggregation.
    if not isinstance(found, Aggregation) or found.merges:
        raise _refused("it is not a plain aggregation over windows")
    if found.windows.zone is not None:
        raise _refused("windows have a time zone")
    if not isinstance(df.schema[plan.source.time.name].dataType, TimestampType):
        raise _refused(f'the time column "{plan.source.time.name}" is not a timestamp')
    if plan.source.end is not None:
        raise _refused("rows have an end")
    compared = plan.source.arrival if plan.source.ahead is not None else None
    if compared and not isinstance(df.schema[compared.name].dataType, TimestampType):
        raise _refused(f'rows are compared with "{compared.name}", which is not a timestamp')
    if not plan.clock.is_shared or plan.clock.keeps_marks:
        raise _refused(f"{plan.clock} is not one watermark for all rows")
    if plan.idle is not None:
        raise _refused("silence counts")
    if plan.moves_late_rows:
        raise _refused('late="adjust" moves late rows')
    if (name := not_plain(found.first, arrow_schema(df))) is not None:
        raise _refused(f'Spark cannot add up the state of "{name}"')
    return found


def partials(
    rows: DataFrame, schema: pa.Schema, plan: Plan, spec: Aggregation, newest: int, now: int
) -> DataFrame:
    """Return the states of rows; the states of rows without a usable time have no pane.

    Args:
        rows: The rows of a micro-batch.
        schema: Their columns.
        plan: The plan of the stream.
        spec: Its aggregation.
        newest: The newest time of all micro-batches before.
        now: The wall clock of the micro-batch.
    """
    is_ahead, time = _read(plan, now)
    # Each is a step of its own: else Spark would compute it wherever it is used.
    read = map(reference, spec.first.columns)
    timed = rows.select(*read, F.expr(time).alias(_TIME), F.expr(is_ahead).alias(_IS_AHEAD))
    timed = timed.withColumn(_BEHIND, F.expr(_behind(newest)))
    pane = f"{_TIME} - pmod({_TIME} - {spec.windows.origin}L, {spec.windows.width}L)"
    keys = [reference(key) for key in spec.first.keys]
    groups = (F.expr(pane).alias(PANE), *keys, F.expr(_delay()).alias(DELAY))
    return timed.groupBy(*groups).agg(
        *states(spec.first, schema),
        F.count("*").alias(ROWS),
        F.expr(f"max({_TIME})").alias(NEWEST),
        F.expr(f"count_if({_IS_AHEAD})").alias(TOO_FAR),
    )


def may_be_late(rows: DataFrame, plan: Plan, clock: Clock, now: int) -> DataFrame:
    """Return the rows without a usable time, and those behind the watermark, with the wall clock.

    A window ends after each of its rows, so a row that is not behind the watermark is in a window
    that is open. Most rows are not, and need not go to Python to be looked at.
    """
    _, time = _read(plan, now)
    watermark = as_data(f"{max(clock.watermark, _FIRST)}L", plan.source.time.name)
    found = rows.where(f"{time} IS NULL OR {time} < {watermark}")
    return found if plan.source.ahead is None else found.withColumn(NOW, F.expr(_now(plan, now)))


def _now(plan: Plan, now: int) -> str:
    return as_data(f"{now}L", plan.source.time.name)


def _read(plan: Plan, now: int) -> tuple[str, str]:
    """Return SQL for whether a row is too far ahead, and for its time: null if it is.

    Text is parsed by Spark at once; a tree of columns would be a request to Spark for each node.
    """
    time = f"unix_micros({quoted(plan.source.time.name)})"
    if plan.source.ahead is None:
        return "false", time
    arrived = _now(plan, now)
    if plan.source.arrival is not None:
        arrived = f"coalesce(unix_micros({quoted(plan.source.arrival.name)}), {arrived})"
    # The sum of an arrival and a very long span must not wrap around.
    latest = f"least({arrived}, {FOREVER - plan.source.ahead}L) + {plan.source.ahead}L"
    is_ahead = f"coalesce({time} > {latest}, false)"
    return is_ahead, f"CASE WHEN NOT {is_ahead} THEN {time} END"


def _behind(newest: int) -> str:
    """Return SQL for how far a time is behind the newest one of all micro-batches before."""
    if newest == NEVER:
        return "0L"
    # The difference of two times in this range does not overflow.
    first, last = _FIRST, -_FIRST - 1
    seen = as_data(f"{min(max(newest, first), last)}L", _TIME)
    return f"{seen} - greatest(least({_TIME}, {last}L), {first}L)"


def _delay() -> str:
    """Return SQL for the place of a delay in `hosts.tally.DELAYS`; 0 for rows without a time."""
    cases = (f"WHEN {_BEHIND} <= {1_000 * bound}L THEN {at}" for at, bound in enumerate(BOUNDS_MS))
    return f"CASE WHEN {_TIME} IS NULL THEN 0 {' '.join(cases)} ELSE {len(BOUNDS_MS)} END"


def _refused(why: str) -> OptionError:
    return OptionError(
        f'states="driver" does not support this query: {why}.\n'
        'Hint: leave it out; states="buckets" supports all queries.'
    )
