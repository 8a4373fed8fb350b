from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pyspark.sql.types import LongType, StringType, StructField, StructType

from latecomer import agg
from latecomer.clock.policy import ClockByRecall, OneClock
from latecomer.hosts.spark.outputs import (
    at_recall,
    at_wait,
    late,
    late_struct,
    ready,
    ready_schema,
    recall_struct,
)
from latecomer.hosts.spark.parcels import OUTPUT
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.sort import Sort
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from latecomer.time import TimeColumn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIME = TimeColumn("time", "us")
ROWS = StructType([StructField("time", LongType()), StructField("name", StringType())])


def plan(operator: object, clock: object = None) -> Plan:
    return Plan(Source(TIME), clock or OneClock((0,)), "divert", (Stage((), (operator,)),))  # type: ignore[arg-type]


def test_late_rows_have_three_columns_more() -> None:
    found = late_struct(ROWS)

    assert found.names == ["time", "name", "_delay", "_behind", "_reason"]
    assert found["_delay"].dataType.simpleString() == "interval day to second"
    assert not found["_reason"].nullable


def test_a_report_of_the_recall_has_columns_that_are_known_before() -> None:
    assert {"recall", "wait", "bucket"} <= set(recall_struct().names)


def test_rows_that_are_only_sorted_keep_their_types(spark: SparkSession) -> None:
    df = spark.createDataFrame([], ROWS)
    several = plan(Sort(TIME), ClockByRecall(recalls=(0.9, 0.99)))

    assert ready_schema(df, plan(Sort(TIME))) == ROWS
    assert ready_schema(df, several).names == ["time", "name", "recall", "wait", "is_final"]


def test_results_of_aggregates_have_columns_of_their_own(spark: SparkSession) -> None:
    count = Aggregation(TIME, Windows(10, 10), (0,), (Summary(("name",), (("n", agg.count()),)),))

    found = ready_schema(spark.createDataFrame([], ROWS), plan(count))

    assert found.names == ["window", "name", "n"]


def test_the_rows_of_one_wait_or_recall_are_kept_without_what_tells_them_apart(
    spark: SparkSession,
) -> None:
    rows = spark.createDataFrame(
        [("a", timedelta(seconds=1), False, True), ("b", timedelta(seconds=5), True, False)],
        "name string, wait interval day to second, is_final boolean, is_changed boolean",
    )
    recalled = rows.selectExpr("name", "0.9D AS recall", "wait", "is_final")

    assert [tuple(row) for row in at_wait(rows, 5_000_000).collect()] == [("b",)]
    assert at_recall(recalled, 0.9).columns == ["name"]


def test_each_output_has_the_columns_of_its_rows_without_our_own(spark: SparkSession) -> None:
    packed = spark.createDataFrame([], OUTPUT)
    whole = StructType([*ROWS, StructField("_lc_id", LongType())])

    assert ready(packed, whole).columns == ["time", "name"]
    assert late(packed, whole, "late_1").columns == ["time", "name", "_delay", "_behind", "_reason"]
