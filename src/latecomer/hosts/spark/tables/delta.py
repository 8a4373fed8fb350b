"""Append to a Delta table, exactly once.

A commit to a Delta table can carry the name of an application and a version. Delta refuses a commit
whose version this application has committed before:

    batch 7    rows, txn(writer, 7)    committed; the driver is killed before Spark knows
    batch 7    rows, txn(writer, 7)    run again: Delta skips it
    batch 8    rows, txn(writer, 8)

The rows and the version are in one commit, so the table has both or neither. Delta keeps the last
version of each application for as long as the table lives, unless
`delta.setTransactionRetentionDuration` says otherwise.
"""

from dataclasses import dataclass
from pathlib import PurePath

from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

from latecomer.hosts.spark.tables.place import check_package


@dataclass(frozen=True, slots=True)
class DeltaPath:
    """A Delta table under a path. Made by `delta`."""

    path: str

    def check(self, spark: SparkSession) -> None:
        """Refuse to start without Delta."""
        release = ".".join(spark.version.split(".")[:2])
        hint = (
            f'start it with io.delta:delta-spark_{release}_2.13 in "spark.jars.packages", and '
            "Delta's extension and catalog, as its documentation says."
        )
        check_package(spark, "delta", hint, path=self.path)

    def write(self, rows: DataFrame, number: int, writer: str) -> None:
        """Append the rows of a micro-batch."""
        appended(rows, number, writer).save(self.path)


def appended(rows: DataFrame, number: int, writer: str) -> DataFrameWriter:
    """Return a writer that appends a micro-batch, unless the table has it already."""
    append = rows.write.format("delta").mode("append")
    return append.option("txnAppId", writer).option("txnVersion", number)


def delta(path: str | PurePath) -> DeltaPath:
    """Make a sink that appends to the Delta table under a path, each row exactly once.

    The first micro-batch creates the table, with the columns of its rows.
    `latecomer.hosts.spark.tables.delta` explains how each row is written exactly once.

    Args:
        path: The directory of the table, on any file system that Spark can write to.
    """
    return DeltaPath(str(path))
