"""Read the outputs of a query: packed rows become the DataFrames that users see."""

from typing import cast

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import (
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from latecomer.hosts import recall_report
from latecomer.hosts.late import LATE_FIELDS
from latecomer.hosts.spark.columns import arrow_schema, without_own
from latecomer.hosts.spark.parcels import unpack
from latecomer.operators.levels import IS_FINAL, RECALL, TARGET_FIELDS, WAIT
from latecomer.operators.windows.aggregate import IS_CHANGED
from latecomer.plan import Plan


def ready_schema(df: DataFrame, plan: Plan) -> StructType:
    """Return the columns of the ready rows."""
    operators = [operator for stage in plan.stages for operator in stage.operators]
    if plan.stages[0].join is None and all(operator.keeps_rows for operator in operators):
        recalls = len(plan.clock.recalls)
        marks = from_arrow_schema(pa.schema(TARGET_FIELDS)) if recalls > 1 else ()
        return StructType([*df.schema, *marks])
    return from_arrow_schema(plan.output_schema(arrow_schema(df)))


def with_window(schema: StructType) -> StructType:
    """Mark the first column as windows of Spark, which `window_time` and `window` take."""
    window, *others = schema.fields
    start = cast("StructType", window.dataType)["start"].dataType
    if not isinstance(start, TimestampType | TimestampNTZType):
        return schema
    marked = StructField(window.name, window.dataType, window.nullable, {"spark.timeWindow": True})
    return StructType([marked, *others])


def at_wait(rows: DataFrame, wait: int) -> DataFrame:
    """Keep the rows of one of several waits, without the columns that tell waits apart."""
    of_wait = rows.where(F.col(WAIT) == F.make_dt_interval(secs=F.lit(wait / 1_000_000)))
    return of_wait.drop(WAIT, IS_FINAL, IS_CHANGED)


def at_recall(rows: DataFrame, recall: float) -> DataFrame:
    """Keep the rows of one of several recalls, without the columns that tell recalls apart."""
    return rows.where(F.col(RECALL) == recall).drop(*(field.name for field in TARGET_FIELDS))


def ready(packed: DataFrame, schema: StructType) -> DataFrame:
    """Unpack the rows that are ready."""
    return without_own(packed.where("output = 'ready'").mapInArrow(unpack, schema))


def late(packed: DataFrame, schema: StructType, output: str = "late") -> DataFrame:
    """Unpack the rows of a stream that are late, given the schema of the rows that came in."""
    rows = packed.where(F.col("output") == output).mapInArrow(unpack, late_struct(schema))
    return without_own(rows)


def recall(packed: DataFrame) -> DataFrame:
    """Unpack what was told of the recall."""
    reports = packed.where(F.col("output") == recall_report.RECALL)
    return reports.mapInArrow(unpack, recall_struct())


def recall_struct() -> StructType:
    """Say what a report of the recall looks like."""
    return from_arrow_schema(recall_report.SCHEMA)


def late_struct(schema: StructType) -> StructType:
    """Return the columns of late rows, given those of the rows that came in."""
    return StructType([*schema.fields, *from_arrow_schema(pa.schema(LATE_FIELDS)).fields])
