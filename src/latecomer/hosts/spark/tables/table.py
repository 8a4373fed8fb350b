"""Append to a table of a catalog, exactly once: `lc.table("sales")`.

The format of the table decides how a micro-batch that is run again is recognized: see `delta` and
`iceberg`. Formats that cannot recognize it are refused.
"""

from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from latecomer.errors import OptionError
from latecomer.hosts.spark.tables import delta, iceberg

_NOT_FOUND = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE")
"""Spark's error conditions for a missing table, schema or catalog."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a catalog. Made by `table`."""

    name: str

    def check(self, spark: SparkSession) -> None:
        """Refuse a table that does not exist, or that cannot be appended to exactly once."""
        self._format(spark)

    def write(self, rows: DataFrame, number: int, writer: str) -> None:
        """Append the rows of a micro-batch."""
        if self._format(rows.sparkSession) == "delta":
            delta.appended(rows, number, writer).saveAsTable(self.name)
        else:
            iceberg.append(rows, number, writer, self.name)

    def _format(self, spark: SparkSession) -> str:
        try:
            lines = spark.sql(f"DESCRIBE TABLE EXTENDED {self.name}").collect()
        except PySparkException as error:
            if error.getCondition() not in _NOT_FOUND:
                raise
            raise OptionError(
                f"there is no table {self.name}.\n"
                "Hint: create it first, with the columns of the output, USING delta or USING "
                "iceberg; lc.delta(path) creates its own."
            ) from error
        # Take the last one: columns come first, and one of them may have this name.
        found = [line.data_type.lower() for line in lines if line.col_name == "Provider"][-1:]
        if found in (["delta"], ["iceberg"]):
            return str(found[0])
        raise OptionError(
            f"table {self.name} is {f'stored as {found[0]}' if found else 'a view'}, which cannot "
            "distinguish a micro-batch that runs again from a new one.\n"
            "Hint: create it USING delta or USING iceberg, or write to a directory."
        )


def table(name: str) -> Table:
    """Make a sink that appends to a table of Delta or Iceberg, each row exactly once.

    The table must exist, with the columns of the output. Several queries may append to one
    table. To keep one row per key instead, use `upsert(table=..., key=...)`.

    Args:
        name: The name of the table as in SQL, for example "sales" or "lake.shop.sales".
    """
    return Table(name)
