"""What a query tells of itself, as users ask for it: thin. How: `hosts.spark.progress`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta

    from pyspark.sql.streaming import StreamingQuery

    from latecomer.hosts.recall_report import Achieved


def counts(query: StreamingQuery) -> dict[str, int]:
    """Count the rows that a running or ended query has put out: "ready", "late" and "dropped".

    Spark remembers a query's last 100 micro-batches, and these are added up.
    """
    from latecomer.hosts.spark import progress

    return progress.counts(query)


def recall(query: StreamingQuery) -> dict[timedelta, float]:
    """Tell what share of the rows each of several waits had, of those that the last one had.

    Spark remembers a query's last 100 micro-batches. Counted are the rows whose windows have
    closed at the last wait in these; there is nothing to tell before the first has. Where a recall
    was asked for, see `achieved`.
    """
    from latecomer.hosts.spark import progress

    return progress.recall(query)


def achieved(query: StreamingQuery) -> dict[float | None, Achieved]:
    """Tell what a query has achieved for each recall that it was asked for, and how it waits.

    Spark remembers a query's last 100 micro-batches, and these are added up. A fixed wait, where
    its recall is measured, stands under None.
    """
    from latecomer.hosts.spark import progress

    return progress.achieved(query)
