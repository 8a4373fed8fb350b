"""Current rows in a table of a catalog that knows MERGE, such as Delta or Iceberg.

    MERGE INTO counts AS t USING batch AS s
    ON t.window <=> s.window AND t.origin <=> s.origin
    WHEN MATCHED AND s.wait >= t.wait THEN UPDATE SET *
    WHEN NOT MATCHED THEN INSERT *

Rows of a changelog say whether they come or go, and those that go are deleted.

One statement is one commit of the table: all of a micro-batch, or nothing of it. A batch that is
run again finds its own rows, and rows that were refined since then stay. Keys are compared with
`<=>`, so that null is a key like any other.

Delta and Iceberg do not store intervals. There the table's column `wait` is a number, and takes
seconds.
"""

from collections.abc import Sequence

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DayTimeIntervalType, NumericType, StructType

from latecomer.errors import ColumnNotFoundError, ColumnTypeError, OptionError
from latecomer.hosts.spark.columns import quoted
from latecomer.hosts.spark.upsert.rows import has_changes, has_waits, level_of, one_per_key
from latecomer.operators.optimistic.changelog import CHANGE_TYPE, DELETE, INSERT


def merge(rows: DataFrame, table: str, key: Sequence[str]) -> None:
    """Merge the rows of one micro-batch into a table."""
    rows = fitted(rows, _columns_of(rows, table), table)
    query = statement(table, key, level=level_of(rows), deletes=has_changes(rows))
    # A merge reads its source twice: to find what matches, and to write.
    batch = one_per_key(rows, key).persist()
    try:
        rows.sparkSession.sql(query, batch=batch)
    except PySparkException as error:
        if error.getCondition() != "UNSUPPORTED_FEATURE.TABLE_OPERATION":
            raise
        raise OptionError(
            f"table {table} does not know MERGE, by which refined rows replace early ones.\n"
            "Hint: create it in a format that does, for example USING delta or USING iceberg, and "
            "check that the format's catalog is set up; or keep Parquet files, with "
            "upsert(path, key=...)."
        ) from error
    finally:
        batch.unpersist()


def statement(
    table: str, key: Sequence[str], *, level: str | None = None, deletes: bool = False
) -> str:
    """Write the statement; `{batch}` in it is for `SparkSession.sql` to fill in.

    `level` is the column that says after which wait, or for which recall, rows were given: an older
    row stays if its level is higher. With `deletes`, rows say whether they come or go.
    """
    same = " AND ".join(f"t.{quoted(name)} <=> s.{quoted(name)}" for name in key)
    not_older = f" AND s.`{level}` >= t.`{level}`" if level else ""
    goes = f" WHEN MATCHED AND s.{CHANGE_TYPE} = '{DELETE}' THEN DELETE" if deletes else ""
    comes = f" AND s.{CHANGE_TYPE} = '{INSERT}'" if deletes else ""
    return (
        f"MERGE INTO {_braced(table)} AS t USING {{batch}} AS s "
        f"ON {_braced(same)}{goes} "
        f"WHEN MATCHED{not_older} THEN UPDATE SET * WHEN NOT MATCHED{comes} THEN INSERT *"
    )


def fitted(rows: DataFrame, target: StructType, table: str) -> DataFrame:
    """Fit the rows to the columns of the table: a wait becomes seconds where it must.

    Raises:
        ColumnNotFoundError: The table lacks a column of the rows.
        ColumnTypeError: The table has a wait that is neither an interval nor a number.
    """
    for name in rows.columns:
        if name not in target.names and name != CHANGE_TYPE:
            names = ", ".join(f'"{column}"' for column in target.names)
            raise ColumnNotFoundError(
                f'table {table} has no column "{name}"; it has {names}.\n'
                "Hint: add the column to the table, or leave it out before upsert()."
            )
    if not has_waits(rows) or not isinstance(rows.schema["wait"].dataType, DayTimeIntervalType):
        return rows
    kind = target["wait"].dataType
    if isinstance(kind, DayTimeIntervalType):
        return rows
    if not isinstance(kind, NumericType):
        raise ColumnTypeError(
            f'column "wait" of table {table} is of type {kind.simpleString()}; waits are compared, '
            "so it must be an interval or a number.\n"
            "Hint: make it a double; it takes seconds."
        )
    # Spark casts an interval to a number only from a single unit, and only exactly.
    seconds = F.col("wait").cast("interval second").cast("decimal(18, 6)")
    return rows.withColumn("wait", seconds.cast(kind))


def _columns_of(rows: DataFrame, table: str) -> StructType:
    try:
        return rows.sparkSession.table(table).schema
    except PySparkException as error:
        if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
            raise
        raise OptionError(
            f"there is no table {table}.\n"
            "Hint: create it first, with the columns of the micro-batch "
            f"({', '.join(rows.columns)}), in a format that knows MERGE."
        ) from error


def _braced(text: str) -> str:
    """Shield braces from `SparkSession.sql`, which fills them in."""
    return text.replace("{", "{{").replace("}", "}}")
