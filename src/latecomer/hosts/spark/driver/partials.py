"""States of windows that Spark computes itself: one row per pane and key.

    rows ─groupBy(pane, keys).agg(...)─▶ the table that `Aggregation.partial` would make of them

Passing a million rows to Python takes a third of a second; Spark adds them up in less. So Spark
computes the states of aggregates, if it can compute all of them.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from latecomer.errors import OptionError
from latecomer.hosts.spark.columns import arrow_schema, reference
from latecomer.hosts.spark.parcels import NOW
from latecomer.hosts.spark.sql_states import not_plain, states
from latecomer.operators.aggregates.summary import PANE, ROWS
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.plan import Plan
from latecomer.time import FOREVER

NEWEST, TOO_FAR = "_lc_newest", "_lc_too_far"
"""Columns with the largest time of the rows of a state, and the number of rows too far ahead."""


def computable(df: DataFrame, plan: Plan) -> Aggregation:
    """Return the aggregation of a plan; refuse one whose states Spark cannot compute."""
    found = plan.first
    # Spark computes the states of windows in SQL, so it needs a plain aggregation.
    if not isinstance(found, Aggregation) or found.merges:
        raise _refused("the stream is not one of plain aggregates over windows")
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
        raise _refused("late rows are to be moved")
    if (name := not_plain(found.first, arrow_schema(df))) is not None:
        raise _refused(f'the state of "{name}" is not one that Spark can add up')
    return found


def partials(rows: DataFrame, plan: Plan, spec: Aggregation) -> DataFrame:
    """Return the states of rows; the states of rows without a usable time have no pane."""
    is_ahead, time = F.expr("false"), F.unix_micros(reference(plan.source.time.name))
    if plan.source.ahead is not None:
        arrived = F.col(NOW)
        if plan.source.arrival is not None:
            arrived = F.coalesce(F.unix_micros(reference(plan.source.arrival.name)), arrived)
        # The sum of an arrival and a very long span must not wrap around.
        latest = F.least(arrived, F.lit(FOREVER - plan.source.ahead)) + F.lit(plan.source.ahead)
        is_ahead = F.coalesce(time > latest, is_ahead)
        time = F.when(~is_ahead, time)
    since = time - F.lit(spec.windows.origin)
    pane = time - F.pmod(since, F.lit(spec.windows.width))
    keys = [reference(key) for key in spec.first.keys]
    return rows.groupBy(pane.alias(PANE), *keys).agg(
        *states(spec.first, arrow_schema(rows.drop(NOW))),
        F.count("*").alias(ROWS),
        F.max(time).alias(NEWEST),
        F.count_if(is_ahead).alias(TOO_FAR),
    )


def _refused(why: str) -> OptionError:
    return OptionError(
        f'states="driver" is for what Spark can add up by itself, and {why}.\n'
        'Hint: leave it out; states="buckets" can do all.'
    )
