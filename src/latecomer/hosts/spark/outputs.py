"""Read the outputs of a query: packed rows become the DataFrames that users see.

Columns that Latecomer gives are of types that every sink takes: measured durations (`_delay`,
`_behind`, and the `wait` that a recall chose) are milliseconds, and a `wait` that the user gave is
the user's text. `Format` selects other types.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    DayTimeIntervalType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from latecomer.errors import ColumnNameError, OptionError
from latecomer.hosts import recall_report
from latecomer.hosts.late import LATE_FIELDS
from latecomer.hosts.spark.arrow_schema import in_arrow
from latecomer.hosts.spark.columns import arrow_schema, is_own, without_own
from latecomer.hosts.spark.declared import DeclaredFrame, is_declared, quoted
from latecomer.hosts.spark.parcels import unpack, unpack_lists
from latecomer.operators.levels import IS_FINAL, RECALL, TARGET_FIELDS, WAIT
from latecomer.operators.windows.aggregate import IS_CHANGED
from latecomer.operators.windows.bounds import WINDOW
from latecomer.plan import Plan
from latecomer.time import UNIT_MICROS

Durations = Literal["plain", "interval"]
Windows = Literal["struct", "columns"]
WINDOW_START, WINDOW_END = "window_start", "window_end"


@dataclass(frozen=True, slots=True)
class Format:
    """The types of the columns that Latecomer adds; see `Readable.formatted`."""

    durations: Durations = "plain"
    windows: Windows = "struct"

    def check(self, ready: Sequence[str]) -> None:
        """Refuse a format that does not exist, or that the ready rows cannot have.

        Raises:
            OptionError: There is no such format, or the rows have no windows.
            ColumnNameError: Another column has the name of a bound of the windows.
        """
        given = (("durations", self.durations, Durations), ("windows", self.windows, Windows))
        for name, value, kind in given:
            if value not in get_args(kind):
                known = " or ".join(f'"{each}"' for each in get_args(kind))
                raise OptionError(f"{name} must be {known}; got {value!r}.")
        if self.windows == "struct":
            return
        if WINDOW not in ready:
            raise OptionError(
                f'there is no column "{WINDOW}" to split into two; the rows have '
                f"{', '.join(ready)}.\n"
                "Hint: leave out windows=."
            )
        if taken := {WINDOW_START, WINDOW_END} & {name.lower() for name in ready}:
            raise ColumnNameError(
                f'the rows have a column "{min(taken)}", which is also a bound of the windows.\n'
                "Hint: rename it first."
            )

    @property
    def changes_nothing(self) -> bool:
        """Whether rows are in this format already."""
        return self == Format()

    def ready(self, rows: DataFrame, plan: Plan, *, is_one: bool = False) -> DataFrame:
        """Return ready rows in this format; rows of one wait or recall have no column `wait`."""
        rows = self._timed(rows, (WAIT,) if plan.clock.answers > 1 and not is_one else ())
        if self.windows == "struct":
            return rows
        bounds = [F.col(WINDOW).start.alias(WINDOW_START), F.col(WINDOW).end.alias(WINDOW_END)]
        others = [[F.col(quoted(name))] if name != WINDOW else bounds for name in rows.columns]
        return rows.select(*(column for columns in others for column in columns))

    def late(self, rows: DataFrame) -> DataFrame:
        """Return late rows in this format."""
        return self._timed(rows, ("_delay", "_behind"))

    def recall(self, rows: DataFrame) -> DataFrame:
        """Return reports of the recall in this format."""
        return self._timed(rows, (WAIT,))

    def _timed(self, rows: DataFrame, names: Sequence[str]) -> DataFrame:
        if self.durations == "plain":
            return rows
        seconds = {name: F.expr(f"({micros_sql(rows, name)}) / 1000000BD") for name in names}
        return rows.withColumns(
            {name: F.make_dt_interval(secs=value) for name, value in seconds.items()}
        )


def micros_sql(rows: DataFrame, name: str, table: str = "") -> str:
    """Return SQL for the microseconds of a column of durations: text, milliseconds or intervals."""
    column = f"{table}{quoted(name)}"
    kind = rows.schema[name].dataType
    if isinstance(kind, DayTimeIntervalType):
        return column
    if not isinstance(kind, StringType):
        return f"{column} * 1000"
    units = ", ".join(f"'{word}', {micros}D" for word, micros in UNIT_MICROS.items())
    part = "double(regexp_extract(part, '[0-9.]+', 0))"
    unit = f"map({units})[regexp_extract(part, '[a-z]+', 0)]"
    parts = f"regexp_extract_all(lower({column}), '[0-9.]+ *[a-z]+', 0)"
    return f"bigint(round(aggregate({parts}, 0D, (sum, part) -> sum + {part} * {unit})))"


def ready_schema(df: DataFrame, plan: Plan) -> StructType:
    """Return the columns of the ready rows."""
    operators = [operator for stage in plan.stages for operator in stage.operators]
    if plan.stages[0].join is None and all(operator.keeps_rows for operator in operators):
        recalls = len(plan.clock.recalls)
        marks = from_arrow_schema(pa.schema(TARGET_FIELDS)) if recalls > 1 else ()
        return StructType([*df.schema, *marks])
    return from_arrow_schema(plan.output_schema(arrow_schema(df)))


def with_window(schema: StructType) -> StructType:
    """Mark the first column as Spark's windows, so that `window_time` and `window` accept it."""
    window, *others = schema.fields
    start = cast("StructType", window.dataType)["start"].dataType
    if not isinstance(start, TimestampType | TimestampNTZType):
        return schema
    marked = StructField(window.name, window.dataType, window.nullable, {"spark.timeWindow": True})
    return StructType([marked, *others])


def at_wait(rows: DataFrame, wait: str) -> DataFrame:
    """Keep the rows of one of several waits, without the columns that describe the wait."""
    return rows.where(F.col(WAIT) == wait).drop(WAIT, IS_FINAL, IS_CHANGED)


def at_recall(rows: DataFrame, recall: float) -> DataFrame:
    """Keep the rows of one of several recalls, without the columns that describe the recall."""
    return rows.where(F.col(RECALL) == recall).drop(*(field.name for field in TARGET_FIELDS))


def ready(packed: DataFrame, schema: StructType) -> DataFrame:
    """Unpack the rows that are ready."""
    return _unpacked(packed, "ready", schema)


def late(packed: DataFrame, schema: StructType, output: str = "late") -> DataFrame:
    """Unpack the rows of a stream that are late, given the schema of the rows that came in."""
    return _unpacked(packed, output, late_struct(schema))


def recall(packed: DataFrame) -> DataFrame:
    """Unpack the reports of the recall."""
    return _unpacked(packed, recall_report.RECALL, recall_struct())


def _unpacked(packed: DataFrame, output: str, schema: StructType) -> DataFrame:
    blobs = packed.where(F.col("output") == output)
    if is_declared(packed):
        rows = cast("DeclaredFrame", blobs).plain.select(F.inline(_lists_of(schema)(F.col("blob"))))
        # Unlike `drop`, which Spark Connect resolves at once.
        shown = (field for field in schema if not is_own(field.name))
        return rows.select(
            *(F.col(quoted(each.name)).alias(each.name, metadata=each.metadata) for each in shown)
        )
    return without_own(blobs.mapInArrow(unpack, schema), schema.names)


def _lists_of(schema: StructType) -> Callable[[Column], Column]:
    """Return the Spark function that unpacks a blob to a list of rows.

    Unlike `mapInArrow` it is an expression, which Spark does not resolve before it has to: in a
    pipeline, the table that the blobs are read from need not exist yet.
    """
    # Spark compares the metadata of the returned columns, too, which Arrow carries in some versions
    # of Spark and not in others: so there is none.
    plain = StructType([StructField(each.name, each.dataType, each.nullable) for each in schema])
    arrow = in_arrow(plain)

    def unpacked(blobs: pa.Array) -> pa.Array:
        return unpack_lists(blobs, arrow)

    # PySpark's stubs know only functions whose annotations are not Any, as those of pyarrow are.
    udf = F.arrow_udf(unpacked, ArrayType(plain))  # type: ignore[call-overload]
    return cast("Callable[[Column], Column]", udf)


def recall_struct() -> StructType:
    """Return the schema of a report of the recall."""
    return from_arrow_schema(recall_report.SCHEMA)


def late_struct(schema: StructType) -> StructType:
    """Return the columns of late rows, given those of the rows that came in."""
    return StructType([*schema.fields, *from_arrow_schema(pa.schema(LATE_FIELDS)).fields])
