"""States of aggregates, computed by Spark itself.

If all aggregates are counts, sums, means, moments and extremes of plain numbers, Spark can compute
them without passing rows to Python, many times faster. It does not compute results but the states
of `latecomer.operators.aggregates`, to be merged with others. All other aggregates, and exact sums
of decimals and durations, are left to Python.

Estimates need more: how far values are spread over the units of a sample
(`operators.estimates.spread`). Spark adds up the rows of each unit first, then the units:

    rows ─groupBy(keys, unit)─▶ states of units ─groupBy(keys, sizes)─▶ states, and spreads

The units of one state have equal numbers of rows. So the spread of their sums is a plain variance,
which Spark computes without adding up squares, and `Spread.merge` keeps all digits when it adds up
units that differ in size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from latecomer.hosts.spark.columns import partitions, reference
from latecomer.operators.aggregates.counting import Count
from latecomer.operators.aggregates.extremes import Max, Min
from latecomer.operators.aggregates.moments import Stddev, Variance
from latecomer.operators.aggregates.summary import PANE, ROWS
from latecomer.operators.aggregates.sums import Mean, Sum
from latecomer.operators.estimates.spread import UNIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    from latecomer.operators.aggregates.base import Aggregate
    from latecomer.operators.aggregates.summary import Summary
    from latecomer.operators.estimates.estimation import Estimation
    from latecomer.operators.estimates.spread import Spread

FEW_PARTITIONS = 32
"""Shuffle partitions up to which a sample is shuffled once, by its keys. Over more, rows are first
spread by their units, which is even however few keys there are."""

_SIZE, _TOTAL = "_lc_size_{}", "_lc_total_{}"
"""Columns of a unit: the number of its rows that count, and the sum of their values. Both are null
if there are none."""


def not_plain(summary: Summary, schema: pa.Schema) -> str | None:
    """Return the name of a result whose states Spark cannot compute; None if there is none."""
    names = (name for name, each in summary.aggregates if not _is_plain(each, schema))
    return next(names, None)


def states(summary: Summary, schema: pa.Schema) -> Iterator[Column]:
    """Yield the columns that compute the states of a group."""
    for at, (_, aggregate) in enumerate(summary.aggregates):
        made = _states(aggregate, schema)
        for name, state in zip(summary.state_names(at, schema), made, strict=True):
            yield state.alias(name)


def states_of(rows: DataFrame, summary: Summary, schema: pa.Schema) -> pa.Table:
    """Compute one state per key. Without rows there are no states."""
    made = rows.groupBy(*(reference(name) for name in summary.keys)).agg(
        F.count(F.lit(1)).alias(ROWS), *states(summary, schema)
    )
    return _collected(made, summary, schema)


def adds_units(summary: Summary, schema: pa.Schema) -> bool:
    """Whether Spark can add up the states of units, and their spreads."""
    kinds = Count | Sum | Mean | Min | Max
    can_be_merged = all(isinstance(each, kinds) for _, each in summary.aggregates)
    return can_be_merged and not_plain(summary, schema) is None


def states_of_sample(rows: DataFrame, estimation: Estimation) -> pa.Table:
    """Compute states of rows that have a unit, with the spreads of these units.

    There is one for each key and number of rows in a unit, so they must be merged.
    """
    return _collected(_of_sample(rows, estimation), estimation.sampled, estimation.schema)


def _of_sample(rows: DataFrame, estimation: Estimation) -> DataFrame:
    summary, schema = estimation.summary, estimation.schema
    keys = [reference(name) for name in summary.keys]
    spreads = list(enumerate(estimation.spreads))
    if keys and partitions(rows) <= FEW_PARTITIONS:
        # Rows of a key are then in one partition for both groupings.
        rows = rows.repartition(*keys)
    units = rows.groupBy(*keys, UNIT).agg(
        F.count(F.lit(1)).alias(ROWS),
        *states(summary, schema),
        *(column for at, spread in spreads for column in _of_unit(at, spread)),
    )
    merged = [
        column.alias(name)
        for at, (_, aggregate) in enumerate(summary.aggregates)
        for name, column in _merged(aggregate, summary.state_names(at, schema), schema)
    ]
    sampled = estimation.sampled
    for at, _ in spreads:
        names = sampled.state_names(len(summary.aggregates) + at, schema)
        found = zip(names, _spread(at), strict=True)
        merged += [F.expr(text).alias(name) for name, text in found]
    sizes = [_SIZE.format(at) for at, _ in spreads]
    return units.groupBy(*keys, *sizes).agg(F.sum(ROWS).alias(ROWS), *merged)


def _collected(made: DataFrame, summary: Summary, schema: pa.Schema) -> pa.Table:
    # Without keys, Spark returns a group even if there are no rows.
    found = made.where(F.col(ROWS) > 0).toArrow()
    found = found.append_column(PANE, pa.array([0] * found.num_rows, pa.int64()))
    kept = pa.schema([*summary.state_schema(schema), pa.field(ROWS, pa.int64())])
    return found.select(kept.names).cast(kept)


def _is_plain(aggregate: Aggregate, schema: pa.Schema) -> bool:
    if isinstance(aggregate, Count):
        return True
    kind = aggregate.type_in(schema)
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if isinstance(aggregate, Sum | Mean | Variance | Stddev):
        return is_number
    return isinstance(aggregate, Min | Max)


def _value(aggregate: Aggregate) -> Column:
    """Return the value that is aggregated; null for rows that are not."""
    value = reference(aggregate.column) if aggregate.column else F.lit(1)
    return value if aggregate.where is None else F.when(reference(aggregate.where), value)


def _states(aggregate: Aggregate, schema: pa.Schema) -> list[Column]:
    value = _value(aggregate)
    count = F.count(value)
    if isinstance(aggregate, Count):
        return [count]
    is_float = pa.types.is_floating(aggregate.type_in(schema))
    if isinstance(aggregate, Min | Max):
        found = F.max(value) if isinstance(aggregate, Max) else F.min(value)
        # Adding 0 turns -0.0 into 0.0.
        return [found + F.lit(0).cast("float") if is_float else found]
    if isinstance(aggregate, Sum) and not is_float:
        return [_whole_sum(aggregate.column, value.cast("long"), count)]
    number = value.cast("double")
    if isinstance(aggregate, Sum):
        return [F.sum(number)]
    if isinstance(aggregate, Mean):
        return [F.sum(number), count]
    nothing = F.lit(0.0)
    mean, squares = F.coalesce(F.avg(number), nothing), F.var_pop(number) * count
    return [count, mean, F.coalesce(squares, nothing)]


def _merged(
    aggregate: Aggregate, names: list[str], schema: pa.Schema
) -> Iterator[tuple[str, Column]]:
    """Yield the columns that merge the states of units, by the name of each state."""
    for name in names:
        state = F.col(name)
        if isinstance(aggregate, Min | Max):
            yield name, F.max(state) if isinstance(aggregate, Max) else F.min(state)
        elif isinstance(aggregate, Sum) and not pa.types.is_floating(aggregate.type_in(schema)):
            yield name, _whole_sum(aggregate.column, state, F.count(state))
        else:
            yield name, F.sum(state)


def _of_unit(at: int, spread: Spread) -> list[Column]:
    """Return the columns of a unit for a spread."""
    value = _value(spread)
    rows = F.nullif(F.count(value), F.lit(0))
    total = F.sum(value.cast("double")) if spread.is_summed else rows.cast("double")
    return [rows.alias(_SIZE.format(at)), total.alias(_TOTAL.format(at))]


def _spread(at: int) -> list[str]:
    """Return SQL for the state of a spread, given the sums of units that all have `n` rows."""
    n, total = f"max({_SIZE.format(at)})", _TOTAL.format(at)
    units = f"count({total})"
    doubles = (
        f"avg({total}) / {n}",
        f"{units} * var_pop({total})",
        "0",
        f"{units} * double({n}) * {n}",
    )
    return [
        units,
        f"coalesce({units} * {n}, 0L)",
        *(f"coalesce(double({each}), 0D)" for each in doubles),
    ]


def _whole_sum(column: str, value: Column, count: Column) -> Column:
    """Add up integers; a sum that overflows is an error, whatever the session's ANSI mode."""
    message = (
        f'the sum of column "{column}" does not fit in 64 bits.\n'
        f"Hint: use a wider type, for example sum('CAST(`{column}` AS DECIMAL(38))')."
    )
    too_large = F.when(count > 0, F.raise_error(F.lit(message)).cast("long"))
    return F.coalesce(F.try_sum(value), too_large)
