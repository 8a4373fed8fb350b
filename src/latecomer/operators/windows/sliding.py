"""Aggregates over lifetimes of one length: windows that slide with time.

Each row counts for a fixed duration from its time on: `[time, time + duration)`. There is one
answer for each stretch of time in which the same rows of a key count:

    duration 10     row at 0    ├──────────┤
                    row at 3       ├──────────┤
    counts                      │1 │   2   │1 │
                                0  3      10 13

This is the temporal aggregate, whose stretches are written as windows. It needs the rows in order,
because a row that came late would change answers already given. With several waits there is an
ordered stream for each of them, and each has answers of its own.
"""

import pyarrow as pa

from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.base import Operator
from latecomer.operators.levels import Levels
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.aggregate import SnapshotAggregate
from latecomer.operators.temporal.lifetimes import Lasting
from latecomer.operators.temporal.whole import AsWindows
from latecomer.operators.windows.bounds import window_field
from latecomer.time import TimeColumn


def sliding(
    time: TimeColumn,
    waits: tuple[int, ...],
    duration: int,
    summary: Summary,
    schema: pa.Schema,
    texts: tuple[str, ...] = (),
) -> tuple[Operator, ...]:
    """Return the operators of a stage that aggregates over lifetimes.

    Args:
        time: The time column.
        waits: The waits, in microseconds, ascending.
        duration: The time for which a row counts, in microseconds.
        summary: The keys and the aggregates.
        schema: The columns of the rows.
        texts: The waits as the user wrote them.
    """
    behind = (
        Lasting(time, duration, summary.columns),
        SnapshotAggregate(summary),
        AsWindows(window_field(schema, time, duration), time),
    )
    return (Levels(time, waits, behind, texts),) if len(waits) > 1 else (Sort(time), *behind)
