"""Current rows in a table of a catalog that supports MERGE, such as Delta or Iceberg.

    MERGE INTO counts AS t USING batch AS s
    ON t.window <=> s.window AND t.origin <=> s.origin
    WHEN MATCHED AND micros(s.wait) >= micros(t.wait) THEN UPDATE SET *
    WHEN NOT MATCHED THEN INSERT *

Rows of a changelog are inserts or deletes; a delete removes the row of its key.

One statement is one commit of the table: it contains a whole micro-batch or nothing of it. A batch
that is run again finds its own rows, and rows that were refined since then stay. Keys are compared
with `<=>`, so null is a key like any other. The texts of waits are compared as durations.
"""

from collections.abc import Sequence

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from latecomer.errors import ColumnNotFoundError, ColumnTypeError, OptionError, listed
from latecomer.hosts.spark.declared import quoted
from latecomer.hosts.spark.kept import kept
from latecomer.hosts.spark.upsert.rows import has_changes, has_waits, level_of, one_per_key
from latecomer.operators.optimistic.changelog import CHANGE_NUMBER, CHANGE_TYPE, DELETE, INSERT


def merge(rows: DataFrame, table: str, key: Sequence[str]) -> None:
    """Merge the rows of one micro-batch into a table."""
    check_columns(rows, _columns_of(rows, table), table)
    levels = level_of(rows, "s."), level_of(rows, "t.")
    query = statement(table, key, levels=levels, deletes=has_changes(rows.schema))
    # A merge reads its source twice: to find the matching rows, and to write.
    try:
        with kept(one_per_key(rows, key)) as batch:
            rows.sparkSession.sql(query, batch=batch)
    except PySparkException as error:
        if error.getCondition() != "UNSUPPORTED_FEATURE.TABLE_OPERATION":
            raise
        raise OptionError(
            f"table {table} does not support MERGE, by which refined rows replace early ones.\n"
            "Hint: create it in a format that does, for example USING delta or USING iceberg, and "
            "check that the format's catalog is set up; or keep Parquet files, with upsert(path, "
            "key=...)."
        ) from error


def statement(
    table: str,
    key: Sequence[str],
    *,
    levels: tuple[str | None, str | None] = (None, None),
    deletes: bool = False,
) -> str:
    """Return the statement; `SparkSession.sql` fills in its `{batch}`.

    `levels` are SQL for the wait, or the recall, of a new and an older row: the older row stays if
    its level is higher. With `deletes`, the rows are those of a changelog.
    """
    new, old = levels
    same = " AND ".join(f"t.{quoted(name)} <=> s.{quoted(name)}" for name in key)
    not_older = f" AND {new} >= {old}" if new else ""
    goes = f" WHEN MATCHED AND s.{CHANGE_TYPE} = '{DELETE}' THEN DELETE" if deletes else ""
    comes = f" AND s.{CHANGE_TYPE} = '{INSERT}'" if deletes else ""
    return (
        f"MERGE INTO {_braced(table)} AS t USING {{batch}} AS s "
        f"ON {_braced(same)}{goes} "
        f"WHEN MATCHED{not_older} THEN UPDATE SET * WHEN NOT MATCHED{comes} THEN INSERT *"
    )


def check_columns(rows: DataFrame, target: StructType, table: str) -> None:
    """Refuse rows that the table has no columns for.

    Raises:
        ColumnNotFoundError: The table lacks a column of the rows.
        ColumnTypeError: The wait of the table is of another type.
    """
    for name in rows.columns:
        if name not in target.names and name not in (CHANGE_TYPE, CHANGE_NUMBER):
            raise ColumnNotFoundError(
                f'table {table} has no column "{name}"; it has {listed(target.names)}.\n'
                "Hint: add the column to the table, or leave it out before upsert()."
            )
    if not has_waits(rows.schema):
        return
    ours, theirs = (schema["wait"].dataType.simpleString() for schema in (rows.schema, target))
    if ours != theirs:
        raise ColumnTypeError(
            f'column "wait" of table {table} is of type {theirs}; the rows have {ours}.\n'
            "Hint: make it a string, or write intervals, with "
            'formatted(durations="interval").'
        )


def _columns_of(rows: DataFrame, table: str) -> StructType:
    try:
        return rows.sparkSession.table(table).schema
    except PySparkException as error:
        if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
            raise
        raise OptionError(
            f"there is no table {table}.\n"
            "Hint: create it first, with the columns of the micro-batch "
            f"({', '.join(rows.columns)}), in a format that supports MERGE."
        ) from error


def _braced(text: str) -> str:
    """Escape braces for `SparkSession.sql`, which would fill them in."""
    return text.replace("{", "{{").replace("}", "}}")
