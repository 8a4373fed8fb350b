"""Append to an Iceberg table, exactly once.

A snapshot of an Iceberg table has properties, which are committed with its files. Ours name the
writer of the snapshot and its micro-batch:

    snapshot 31    batch 7 of this writer     committed; the driver is killed before Spark knows
    snapshot 32    of another writer
                   batch 7, run again: the table has 7 of this writer, nothing is written
    snapshot 33    batch 8 of this writer

So the rows and the number of their micro-batch are in one commit. The number is looked up in the
snapshots that the table still has. `expire_snapshots` must keep those that were made since the
query last ran; by default Iceberg keeps five days.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

WRITER, BATCH = "latecomer-writer", "latecomer-batch"
"""Names of the properties of a snapshot."""


def append(rows: DataFrame, number: int, writer: str, table: str) -> None:
    """Append the rows of a micro-batch, unless the table has them already."""
    if _last(rows.sparkSession, table, writer) >= number:
        return
    snapshot = rows.writeTo(table).option(f"snapshot-property.{WRITER}", writer)
    snapshot.option(f"snapshot-property.{BATCH}", str(number)).append()


def _last(spark: SparkSession, table: str, writer: str) -> int:
    """Return the last micro-batch of a writer that the table has; -1 if it has none."""
    properties = F.col("summary")
    written = spark.table(f"{table}.snapshots").where(properties[WRITER] == writer)
    last = written.select(F.max(properties[BATCH].cast("long"))).collect()[0][0]
    return -1 if last is None else int(last)
