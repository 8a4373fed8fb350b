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

    If Spark has no cache they are written to the directory, and replace its content. Without a
    directory, they are then computed each time that they are read.
    """
    has_cache = True
    try:
        rows = rows.persist()
    except PySparkException:
        has_cache = False
        if directory is not None:
            rows.write.mode("overwrite").parquet(directory)
            rows = rows.sparkSession.read.schema(rows.schema).parquet(directory)
    try:
        yield rows
    finally:
        if has_cache:
            rows.unpersist()
