"""Rows that are computed once and read several times.

Spark computes a DataFrame again for every action on it. The rows of a micro-batch are read once for
each output, and computing them again would sort the stream again. Usually Spark's cache keeps them.
Serverless Spark refuses `persist`; there they are written to a directory and read from that.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame


@contextmanager
def kept(rows: DataFrame, directory: str | None = None) -> Iterator[DataFrame]:
    """Keep rows while they are read several times.

    Args:
        rows: The rows to compute once.
        directory: Directory for the rows if Spark has no cache; its old content is replaced.
            Without it, the rows are then computed each time that they are read.
    """
    cached = _cached(rows)
    if cached is None:
        yield rows if directory is None else _written(rows, directory)
        return
    try:
        yield cached
    finally:
        cached.unpersist()


def _cached(rows: DataFrame) -> DataFrame | None:
    """Let Spark keep the rows when they are first computed; return None if it refuses."""
    try:
        return rows.persist()
    except PySparkException:
        return None


def _written(rows: DataFrame, directory: str) -> DataFrame:
    rows.write.mode("overwrite").parquet(directory)
    return rows.sparkSession.read.schema(rows.schema).parquet(directory)
