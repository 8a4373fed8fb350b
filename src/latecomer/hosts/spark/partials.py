"""States that Spark computes itself: one row per pane and key, without a detour through Python.

    rows ─groupBy(pane, keys).agg(...)─▶ the table that `Aggregation.partial` would make of them

Handing a million rows to Python costs a third of a second; Spark adds them up in less. So where
each state of an aggregate is something that Spark can compute, it does.
"""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from latecomer.errors import OptionError
from latecomer.hosts.spark.frames import arrow_schema
from latecomer.operators.aggregate import Aggregation
from latecomer.operators.aggregates.base import Aggregate
from latecomer.operators.aggregates.counting import Count
from latecomer.operators.aggregates.extremes import Max, Min
from latecomer.operators.aggregates.sums import Mean, Sum
from latecomer.operators.summary import PANE, ROWS
from latecomer.plan import Plan

NEWEST = "_lc_newest"
"""The largest time of the rows of a state."""


def computable(df: DataFrame, plan: Plan) -> Aggregation:
    """Find what is to be computed.

    Raises:
        OptionError: Spark cannot; why not, and what to do about it.
    """
    found = plan.aggregation
    if found is None or found.merges:
        raise _refused("the stream is not one of plain aggregates over windows")
    if found.windows.zone is not None:
        raise _refused("windows have a time zone")
    if not isinstance(df.schema[plan.source.time.name].dataType, TimestampType):
        raise _refused(f'the time column "{plan.source.time.name}" is not a timestamp')
    if plan.source.ahead is not None:
        raise _refused("rows that are too far ahead are looked for")
    if plan.source.clock or plan.idle is not None:
        raise _refused("keys have clocks of their own, or silence counts")
    if plan.late == "adjust":
        raise _refused("late rows are to be moved")
    schema = arrow_schema(df)
    for name, aggregate in found.first.aggregates:
        if not _is_computable(aggregate, schema):
            raise _refused(f'the state of "{name}" is not one that Spark can add up')
    is_strict = df.sparkSession.conf.get("spark.sql.ansi.enabled") == "true"
    if not is_strict and any(isinstance(each, Sum) for _, each in found.first.aggregates):
        raise _refused("sums that do not fit would be wrong, with spark.sql.ansi.enabled off")
    return found


def partials(rows: DataFrame, plan: Plan, spec: Aggregation) -> DataFrame:
    """Make the states of rows; those of rows without a time have no pane."""
    time = F.unix_micros(F.col(f"`{plan.source.time.name}`"))
    since = time - F.lit(spec.windows.origin)
    pane = time - F.pmod(since, F.lit(spec.windows.width))
    names = spec.first.state_schema(arrow_schema(rows)).names[1 + len(spec.first.keys) :]
    columns = [column for _, aggregate in spec.first.aggregates for column in _state(aggregate)]
    states = [column.alias(name) for column, name in zip(columns, names, strict=True)]
    keys = [F.col(f"`{key}`") for key in spec.first.keys]
    return rows.groupBy(pane.alias(PANE), *keys).agg(
        *states, F.count("*").alias(ROWS), F.max(time).alias(NEWEST)
    )


def _is_computable(aggregate: Aggregate, schema: pa.Schema) -> bool:
    if isinstance(aggregate, Count):
        return True
    if isinstance(aggregate, Sum | Mean):
        kind = aggregate.type_in(schema)
        return pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return isinstance(aggregate, Min | Max)


def _state(aggregate: Aggregate) -> Iterator[Column]:
    """Say how Spark computes the state of an aggregate, column by column."""
    value = F.col(f"`{aggregate.column}`") if aggregate.column else F.lit(1)
    if aggregate.where is not None:
        value = F.when(F.col(f"`{aggregate.where}`"), value)
    if isinstance(aggregate, Count):
        yield F.count(value)
    elif isinstance(aggregate, Min):
        yield F.min(value)
    elif isinstance(aggregate, Max):
        yield F.max(value)
    elif isinstance(aggregate, Mean):
        yield F.sum(value.cast("double"))
        yield F.count(value)
    else:
        yield F.sum(value)


def _refused(why: str) -> OptionError:
    return OptionError(
        f'states="driver" is for what Spark can add up by itself, and {why}.\n'
        'Hint: leave it out; states="buckets" can do all.'
    )
