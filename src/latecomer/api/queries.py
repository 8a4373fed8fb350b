"""What a query reports of itself, and what it wrote: thin. How: `hosts.spark.progress`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latecomer.api.query import spark_query

if TYPE_CHECKING:
    from datetime import timedelta
    from pathlib import PurePath

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from latecomer.api.query import Query
    from latecomer.hosts.recall_report import Achieved


def counts(query: StreamingQuery | Query) -> dict[str, int]:
    """Return how many rows a query has emitted: "ready", "late" and "dropped".

    The sum is over the last 100 micro-batches, which Spark remembers.
    """
    from latecomer.hosts.spark import progress

    return progress.counts(spark_query(query))


def held(spark: SparkSession, checkpoint: str | PurePath) -> dict[str, int]:
    """Return how much a query holds in its checkpoint after the last committed micro-batch.

    The query may run, or have stopped, and may be one of `start` or of your own `writeStream`.

    Returns:
        `rows` that are held, and states of `windows`: one for each open window and key. `bytes`
        that the states take, compressed; to count them, all states are read. `most`: the largest
        number of rows or states in one bucket of a stage, which `held_limit` is compared with.
    """
    from latecomer.hosts.spark import held as counting

    return counting.held(spark, str(checkpoint))


def recall(query: StreamingQuery | Query) -> dict[timedelta | float | None, Achieved]:
    """Return the share of rows, or results, that were in time, and how it was counted.

    With several waits there is one share for each wait: how many of the rows that the last wait
    had, when their windows closed, this wait had too. With a recall there is one for each target,
    with the current wait. For a window join with a fixed wait, the key is None.

    The sum is over the last 100 micro-batches, which Spark remembers. The rows of
    `recall_df()`, or of the output "recall", have the same figures for each micro-batch.
    """
    from latecomer.hosts.spark import progress

    return progress.recall(spark_query(query))


def read(spark: SparkSession, path: str | PurePath) -> DataFrame:
    """Read an output that `start` writes to a directory: all complete micro-batches, each once.

    The column `batch` has the number of the micro-batch. What else is in the directory, such as the
    files of a micro-batch that is being written, is not read. How: `latecomer.hosts.spark.durable`.

    Raises:
        OptionError: No micro-batch is complete there.
    """
    from latecomer.hosts.spark.durable import outputs

    return outputs.read(spark, str(path))
