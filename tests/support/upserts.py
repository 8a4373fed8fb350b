"""Tables of current rows, and micro-batches for them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from latecomer.batch import retyped
from latecomer.hosts.spark.arrow_schema import in_arrow
from latecomer.hosts.spark.durable.parquet import ParquetWriter
from latecomer.hosts.spark.local_rows import LocalRows
from latecomer.hosts.spark.upsert.sink import current

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from latecomer.hosts.spark.upsert.sink import Upsert

    Put = Callable[[Upsert, DataFrame, int], None]

KEY = ["window", "origin"]
REFINED = (
    "window struct<start: timestamp, end: timestamp>, origin string, count bigint, "
    "wait string, is_final boolean, is_changed boolean"
)
PLAIN = "window struct<start: bigint, end: bigint>, origin string, count bigint"

Row = tuple[int, str | None, int, int]
"""A window of a minute by its number, an origin, a count, and a wait in minutes."""


def refined(spark: SparkSession, *rows: Row) -> DataFrame:
    def minute(number: int) -> datetime:
        return datetime(2013, 1, 1, tzinfo=UTC) + timedelta(minutes=number)

    values = [
        ((minute(at), minute(at + 1)), origin, count, f"{wait} minutes", wait == 60, True)
        for at, origin, count, wait in rows
    ]
    return spark.createDataFrame(values, REFINED).coalesce(1)


def plain(spark: SparkSession, *rows: tuple[int, str, int]) -> DataFrame:
    """Return rows of a single wait, in windows of ten over an integer time."""
    values = [((10 * at, 10 * at + 10), origin, count) for at, origin, count in rows]
    return spark.createDataFrame(values, PLAIN).coalesce(1)


def counts(spark: SparkSession, path: object) -> list[tuple[str | None, int]]:
    """Return all rows of the table with their keys, even if two have the same key."""
    rows = current(spark, str(path)).select("origin", "count").collect()
    return sorted(((row[0], row[1]) for row in rows), key=str)


def files(path: Path) -> dict[str, str]:
    """Return the name of the file in each part of the table."""
    return {str(f.parent.relative_to(path)): f.name for f in path.rglob("*.parquet")}


def by_spark(sink: Upsert, rows: DataFrame, number: int) -> None:
    """Give a table the rows of a micro-batch that are with Spark's workers."""
    sink(rows, number)


def on_driver(sink: Upsert, rows: DataFrame, number: int) -> None:
    """Give a table the rows of a micro-batch that are on the driver."""
    spark = rows.sparkSession
    local = LocalRows(spark, retyped(rows.toArrow(), in_arrow(rows.schema)), rows.schema)
    sink.write(local, number, ParquetWriter.of(spark))


either = pytest.mark.parametrize("put", [by_spark, on_driver])
