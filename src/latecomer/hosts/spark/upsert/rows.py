"""Rows with a key: find the current one of each key, and the part of a table that keeps it."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, IntegralType, StructType, TimestampNTZType, TimestampType

from latecomer.errors import ColumnNameError, ColumnNotFoundError, listed
from latecomer.hosts.spark.declared import quoted
from latecomer.hosts.spark.outputs import WINDOW_END, WINDOW_START, micros_sql
from latecomer.operators.optimistic.changelog import CHANGE_NUMBER, CHANGE_TYPE, DELETE
from latecomer.operators.windows.aggregate import IS_CORRECTION

WINDOWS = 1_000
"""Length of a part, in windows."""
PART = "_lc_part"
"""Name of the column with the part of a row, and of the directories of parts."""

_RANK = "_lc_rank"


def check_key(schema: StructType, key: Sequence[str]) -> None:
    """Refuse key columns that do not exist, or that a changelog adds."""
    for name in {CHANGE_TYPE, CHANGE_NUMBER} & set(key):
        raise ColumnNameError(
            f'"{name}" cannot be part of the key: in a changelog it has the kind or the order of a '
            "change.\n"
            "Hint: if your column is another one, rename it first."
        )
    for name in key:
        if name not in schema.names:
            raise ColumnNotFoundError(
                f'no column "{name}" for the key; the micro-batch has {listed(schema.names)}.\n'
                "Hint: name the window and the columns it was grouped by, with upsert(..., "
                'key=["..."]).'
            )


def level_of(rows: DataFrame, table: str = "") -> str | None:
    """Return the SQL that orders rows of several waits or recalls; None if there is only one."""
    if not has_waits(rows.schema):
        return None
    return f"{table}`recall`" if is_by_recall(rows.schema) else micros_sql(rows, "wait", table)


def has_waits(schema: StructType) -> bool:
    """Return True if rows have the columns of several waits."""
    return {"wait", "is_final"} <= set(schema.names)


def is_by_recall(schema: StructType) -> bool:
    """Return True if rows that have the columns of several waits are those of several recalls."""
    # Rows of fixed waits have "is_changed"; a column "recall" is then a result of the user's.
    return "recall" in schema.names and "is_changed" not in schema.names


def has_changes(schema: StructType) -> bool:
    """Return True if rows are those of a changelog: inserts and deletes."""
    return CHANGE_TYPE in schema.names


def one_per_key(rows: DataFrame, key: Sequence[str], *then: Column) -> DataFrame:
    """Keep, for each key, the row of the highest level; of equal levels, the first by `then`.

    Null is a key like any other.
    """
    level = level_of(rows)
    longest = [F.expr(level).desc()] if level else []
    # In a changelog, an insert replaces the deleted row of its key; of several, the last one.
    comes = [F.col(CHANGE_TYPE) == DELETE] if has_changes(rows.schema) else []
    comes += [F.col(CHANGE_NUMBER).desc()] if comes and CHANGE_NUMBER in rows.columns else []
    # An answer and its correction may come in one micro-batch.
    corrects = [F.col(IS_CORRECTION).desc()] if IS_CORRECTION in rows.columns else []
    order = [*longest, *then, *comes, *corrects] or [F.lit(0)]
    ranked = Window.partitionBy(*map(quoted, key)).orderBy(*order)
    return rows.withColumn(_RANK, F.row_number().over(ranked)).where(f"{_RANK} = 1").drop(_RANK)


def part_of(schema: StructType, key: Sequence[str]) -> Column:
    """Return the part of a table that a row is kept in, so that a micro-batch touches few parts.

    A part is a stretch of time, a thousand windows long: about 17 hours with windows of a minute.
    So the size of a part does not grow over the years, whatever the window and the unit of its
    times. A key without a window has one part.

    The part depends on the key alone, not on the session's time zone, because all rows of a key
    must be in the same part. (It is computed in double precision, so that no integer is too large.)
    """
    bounds = bounds_of(schema, key)
    if bounds is None:
        return F.lit("all")
    start, end = (_number(".".join(map(quoted, path)), kind) for path, kind in bounds.items())
    part = F.floor(start / F.nullif(end - start, F.lit(0.0)) / WINDOWS)
    return F.coalesce(part.cast("string"), F.lit("none"))


def bounds_of(schema: StructType, key: Sequence[str]) -> dict[tuple[str, ...], DataType] | None:
    """Return the bounds of the window in a key, and their types; None without such a window."""
    found: dict[tuple[str, ...], DataType] = {}
    for name in key:
        kind = schema[name].dataType
        if isinstance(kind, StructType) and {"start", "end"} <= set(kind.names):
            found = {(name, edge): kind[edge].dataType for edge in ("start", "end")}
            break
    else:
        if {WINDOW_START, WINDOW_END} <= set(key):
            found = {(edge,): schema[edge].dataType for edge in (WINDOW_START, WINDOW_END)}
    numbers = (IntegralType, TimestampType, TimestampNTZType)
    return found if found and all(isinstance(kind, numbers) for kind in found.values()) else None


def _number(name: str, kind: DataType) -> Column:
    column = F.col(name)
    if isinstance(kind, IntegralType):
        return column.cast("double")
    if isinstance(kind, TimestampNTZType):
        column = F.concat(column.cast("string"), F.lit("Z")).try_cast("timestamp")
    return F.unix_micros(column).cast("double")
