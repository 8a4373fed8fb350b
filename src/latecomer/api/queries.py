"""What a query reports of itself, and what it wrote: thin. How: `hosts.spark.progress`."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from latecomer.api.query import Query, spark_query

if TYPE_CHECKING:
    from datetime import timedelta

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from latecomer.errors import LatecomerError
    from latecomer.hosts.recall_report import Achieved
    from latecomer.hosts.spark.listening import Listening
    from latecomer.hosts.status import Status


def status(query: StreamingQuery | Query | str | PurePath) -> Status:
    """Return what a query has done since its checkpoint began, and how it is doing.

    Print it, or take `to_dict()`, whose keys docs/operate.md describes. Counts of a query of
    `start` are exact, through restarts, on Spark Connect too. Of a query of your own `writeStream`
    they are those of the micro-batches that Spark remembers: the last 100 of this run.

    Args:
        query: The query; or the checkpoint of one that `start` began, as a local directory. Of a
            checkpoint only counts are known.
    """
    from latecomer.hosts.spark import status as reading

    if isinstance(query, Query):
        return query.status()
    if isinstance(query, str | PurePath):
        return reading.of_checkpoint(None, str(query))
    return reading.of_query(query)


def counts(query: StreamingQuery | Query) -> dict[str, int]:
    """Count the rows of a running or ended query: "ready", "late" and "dropped".

    "ahead" are those of the late rows that are too far ahead of their arrival. Of a query of
    `start` all rows since the checkpoint began are counted. Of a query of your own, Spark remembers
    the last 100 micro-batches, and these are added up.
    """
    from latecomer.hosts.spark import progress

    return query.counts() if isinstance(query, Query) else progress.counts(progress.totals(query))


def why(query: StreamingQuery | Query) -> LatecomerError | None:
    """Return why a query has failed, as the error that was raised first; None if it has not.

    The first line says what is wrong, and a hint says what to do. `query.exception()` has all that
    Spark says of it.
    """
    from latecomer.hosts.spark import why as reading

    return reading.why(spark_query(query))


def listen(spark: SparkSession, *, port: int = 9108, host: str = "127.0.0.1") -> Listening:
    """Export metrics of all queries of a session, for Prometheus.

    The endpoint is `http://HOST:PORT/metrics`. docs/operate.md lists the metrics; ops/ has a
    dashboard for Grafana and rules for alerts.

    Args:
        spark: The session; all queries of Latecomer that run in it are listened to.
        port: The port; 0 picks a free one.
        host: The address to listen at. Others than loopback show the metrics to whoever can reach
            the machine.

    Raises:
        MissingPackageError: prometheus-client is not installed.
        OptionError: Nothing can listen there.
    """
    from latecomer.hosts.spark.listening import listen as begin

    return begin(spark, host, port)


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

    Which micro-batches are counted is as for `counts`. The rows of `recall_df()`, or of the output
    "recall", have the same figures for each micro-batch.
    """
    from latecomer.hosts.spark import progress

    return query.recall() if isinstance(query, Query) else progress.recall(progress.totals(query))


def read(spark: SparkSession, path: str | PurePath) -> DataFrame:
    """Read an output that `start` writes to a directory: all complete micro-batches, each once.

    The column `batch` has the number of the micro-batch. What else is in the directory, such as the
    files of a micro-batch that is being written, is not read. How: `latecomer.hosts.spark.durable`.

    Raises:
        OptionError: No micro-batch is complete there.
    """
    from latecomer.hosts.spark.durable import outputs

    return outputs.read(spark, str(path))
