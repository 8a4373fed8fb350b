"""The status, counts and outputs of a query; thin. See `hosts.spark.progress`."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from latecomer.api.query import Query, spark_query
from latecomer.errors import LatecomerError
from latecomer.hosts.recall_report import Achieved
from latecomer.hosts.spark import held as holding
from latecomer.hosts.spark import listening, progress
from latecomer.hosts.spark import status as reading
from latecomer.hosts.spark import why as failing
from latecomer.hosts.spark.durable import outputs
from latecomer.hosts.spark.listening import Listening
from latecomer.hosts.status import Status

if TYPE_CHECKING:
    from datetime import timedelta

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery


def status(query: StreamingQuery | Query | str | PurePath) -> Status:
    """Return the status of a query: its counts since the checkpoint began, and its progress.

    Print it, or take `to_dict()`, whose keys docs/operate.md describes. Counts of a query of
    `start` are exact, even across restarts and on Spark Connect. Counts of a query of your own
    `writeStream` cover this run, as long as a status is asked for at least every 100 micro-batches:
    Spark remembers no more.

    Args:
        query: The query; or the checkpoint of one that `start` began, as a local directory. From a
            checkpoint only counts are known.

    Raises:
        OptionError: Spark reports no counts of the query; it is not one of Latecomer.
    """
    if isinstance(query, Query):
        return query.status()
    if isinstance(query, str | PurePath):
        return reading.of_checkpoint(None, str(query))
    return reading.of_query(query)


def counts(query: StreamingQuery | Query) -> dict[str, int]:
    """Return the counts of rows of a running or ended query: "ready", "late" and "dropped".

    "ahead" counts the late rows that are too far ahead of their arrival. For a query of `start`,
    all rows since the checkpoint began are counted. For a query of your own, they are counted as
    by `status`.
    """
    if isinstance(query, Query):
        return query.counts()
    return progress.counts(reading.counted(query).totals)


def why(query: StreamingQuery | Query) -> LatecomerError | None:
    """Return the error that made a query fail, the first one raised; None if it has not failed.

    The first line says what is wrong, and a hint says what to do. `query.exception()` has Spark's
    full report.
    """
    return failing.why(spark_query(query))


def listen(spark: SparkSession, *, port: int = 9108, host: str = "127.0.0.1") -> Listening:
    """Export metrics of all queries of a session, for Prometheus.

    The endpoint is `http://HOST:PORT/metrics`. docs/operate.md lists the metrics; ops/ has a
    dashboard for Grafana and rules for alerts.

    Args:
        spark: The session; metrics of all Latecomer queries that run in it are exported.
        port: The port; 0 picks a free one.
        host: The address to listen on. On an address other than loopback, anyone who can reach the
            machine can read the metrics.

    Raises:
        MissingPackageError: prometheus-client is not installed.
        OptionError: The address cannot be bound.
    """
    return listening.listen(spark, host, port)


def held(spark: SparkSession, checkpoint: str | PurePath) -> dict[str, int]:
    """Return the size of the state in a query's checkpoint after the last committed micro-batch.

    The query may run, or have stopped, and may be one of `start` or of your own `writeStream`.

    Returns:
        `rows`: rows held. `windows`: states of windows, one for each open window and key. `bytes`:
        compressed size of the states; all states are read to find it. `most`: the largest number
        of rows or states in one bucket of a stage, which `held_limit` is compared with.
    """
    return holding.held(spark, str(checkpoint))


def recall(query: StreamingQuery | Query) -> dict[timedelta | float | None, Achieved]:
    """Return the share of rows, or results, that were in time, with the counts behind it.

    With several waits there is one share for each wait: of the rows that the last wait had when
    their windows closed, the share that this wait had too. With a recall there is one for each
    target, with the current wait. For a window join with a fixed wait, the key is None.

    The same micro-batches are counted as by `counts`. The rows of `recall_df()`, or of the output
    "recall", have the same figures for each micro-batch.
    """
    if isinstance(query, Query):
        return query.recall()
    return progress.recall(reading.counted(query).totals)


def read(spark: SparkSession, path: str | PurePath) -> DataFrame:
    """Return an output that `start` writes to a directory: all complete micro-batches, each once.

    The column `batch` has the number of the micro-batch. Other files in the directory, such as
    those of a micro-batch that is being written, are not read. See
    `latecomer.hosts.spark.durable`.

    Raises:
        OptionError: No micro-batch is complete there.
    """
    return outputs.read(spark, str(path))
