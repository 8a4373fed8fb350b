"""The interface of sinks of other software, such as a table of a lake.

`lc.table("sales")` names the table that rows go to. To write each row exactly once, the table also
has to know the writer: it keeps the last micro-batch of each writer, in the commit that adds the
rows. A writer is one output of one checkpoint, and stays the same after a restart.
"""

from typing import Protocol, runtime_checkable

from pyspark.sql import DataFrame, SparkSession

from latecomer.errors import MissingPackageError

_NOT_FOUND = ("DATA_SOURCE_NOT_FOUND", "KAFKA_DATA_SOURCE_NOT_ENABLED")
"""Spark's error conditions for a missing source."""


@runtime_checkable
class Place(Protocol):
    """A sink for the rows of an output."""

    def check(self, spark: SparkSession) -> None:
        """Refuse a sink that cannot be written to, before any data is read."""

    def write(self, rows: DataFrame, number: int, writer: str) -> None:
        """Write the rows of a micro-batch, if this writer has not written them before.

        After a crash, the last micro-batch may be run again.
        """


def check_package(spark: SparkSession, source: str, hint: str, **options: str) -> None:
    """Refuse a source that Spark does not have; the hint says how to add it.

    Raises:
        MissingPackageError: The package of the source is missing.
    """
    try:
        _ = spark.read.format(source).options(**options).load().schema
    except Exception as error:
        # PySpark raises some of these as Java errors.
        if not any(name in str(error) for name in _NOT_FOUND):
            # The source exists; errors about this table or topic do not matter here.
            return
        raise MissingPackageError(
            f"Spark {spark.version} was started without the package for {source}.\nHint: {hint}"
        ) from error
