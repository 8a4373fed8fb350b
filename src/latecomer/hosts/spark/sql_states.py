"""States of aggregates, computed by Spark itself.

If all aggregates are counts, sums, means, moments and extremes of plain numbers, Spark can compute
them without passing rows to Python, many times faster. It does not compute results but the states
of `latecomer.operators.aggregates`, to be merged with others. All other aggregates, and exact sums
of decimals and durations, are left to Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from latecomer.hosts.spark.columns import reference
from latecomer.operators.aggregates.counting import Count
from latecomer.operators.aggregates.extremes import Max, Min
from latecomer.operators.aggregates.moments import Stddev, Variance
from latecomer.operators.aggregates.summary import PANE, ROWS
from latecomer.operators.aggregates.sums import Mean, Sum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    from latecomer.operators.aggregates.base import Aggregate
    from latecomer.operators.aggregates.summary import Summary


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


def _states(aggregate: Aggregate, schema: pa.Schema) -> list[Column]:
    value = reference(aggregate.column) if aggregate.column else F.lit(1)
    if aggregate.where is not None:
        value = F.when(reference(aggregate.where), value)
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


def _whole_sum(column: str, value: Column, count: Column) -> Column:
    """Add up integers; a sum that overflows is an error, whatever the session's ANSI mode."""
    message = (
        f'the sum of column "{column}" does not fit in 64 bits.\n'
        f"Hint: use a wider type, for example sum('CAST(`{column}` AS DECIMAL(38))')."
    )
    too_large = F.when(count > 0, F.raise_error(F.lit(message)).cast("long"))
    return F.coalesce(F.try_sum(value), too_large)
