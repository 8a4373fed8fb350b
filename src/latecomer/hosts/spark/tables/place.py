"""What a sink is that other software keeps, such as a table of a lake.

`lc.table("sales")` says where rows go. Exactly-once also depends on who writes them: a table
remembers, in the commit that adds the rows, the last micro-batch of each writer. A writer is one
output of one checkpoint, also after a restart.
"""

from typing import Protocol, runtime_checkable

from pyspark.sql import DataFrame, SparkSession

from latecomer.errors import MissingPackageError

_NOT_FOUND = ("DATA_SOURCE_NOT_FOUND", "KAFKA_DATA_SOURCE_NOT_ENABLED")
"""What Spark says if it has no such source."""


@runtime_checkable
class Place(Protocol):
    """Where the rows of an output go."""

    def check(self, spark: SparkSession) -> None:
        """Refuse a place that cannot be written to, before any data is read."""

    def write(self, rows: DataFrame, number: int, writer: str) -> None:
        """Write the rows of a micro-batch, if this writer has not written them before.

        Args:
            rows: The rows.
            number: The number of the micro-batch. A crash may run the last one again.
            writer: The name of the writer.
        """


def check_package(spark: SparkSession, source: str, hint: str, **options: str) -> None:
    """Refuse a source that Spark does not have; the hint says how it comes to have it.

    Raises:
        MissingPackageError: Its package is not there.
    """
    try:
        _ = spark.read.format(source).options(**options).load().schema
    except Exception as error:
        # PySpark passes some of these on as Java's own.
        if not any(name in str(error) for name in _NOT_FOUND):
            # There is such a source; what it says of a place is not asked for here.
            return
        raise MissingPackageError(
            f"Spark {spark.version} was started without the package for {source}.\nHint: {hint}"
        ) from error
