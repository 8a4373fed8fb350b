from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import Row
from pyspark.sql.types import LongType, StringType, StructField, StructType

from latecomer import agg
from latecomer.clock.policy import ClockByRecall, OneClock
from latecomer.errors import ColumnNameError, OptionError
from latecomer.hosts.spark.outputs import (
    Format,
    at_recall,
    at_wait,
    late,
    late_struct,
    micros_sql,
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
from latecomer.time import TimeColumn, parse_duration

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIME = TimeColumn("time", "us")
ROWS = StructType([StructField("time", LongType()), StructField("name", StringType())])


def plan(operator: object, clock: object = None) -> Plan:
    return Plan(Source(TIME), clock or OneClock((0,)), "divert", (Stage((), (operator,)),))  # type: ignore[arg-type]


def test_late_rows_have_three_columns_more() -> None:
    found = late_struct(ROWS)

    assert found.names == ["time", "name", "_delay", "_behind", "_reason"]
    assert found["_delay"].dataType.simpleString() == "bigint"
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
        [("a", "1 s", False, True), ("b", "5 s", True, False)],
        "name string, wait string, is_final boolean, is_changed boolean",
    )
    recalled = rows.selectExpr("name", "0.9D AS recall", "wait", "is_final")

    assert [tuple(row) for row in at_wait(rows, "5 s").collect()] == [("b",)]
    assert at_recall(recalled, 0.9).columns == ["name"]


TEXTS = ["0 seconds", "5 s", "100 ms", "0.1 s", "1 Hour 30 min", "7 days", "3 us", "2w"]


def test_columns_are_written_as_they_are_asked_for(spark: SparkSession) -> None:
    rows = spark.createDataFrame(
        [(Row(start=at, end=at + 10), text) for at, text in enumerate(TEXTS)],
        "window struct<start: bigint, end: bigint>, wait string",
    )
    waits = plan(Sort(TIME), OneClock((0, 1)))
    late_rows = spark.createDataFrame([(1_500, 500)], "_delay bigint, _behind bigint")

    assert rows.where(f"{micros_sql(rows, 'wait')} IS NULL").count() == 0
    found = Format("interval", "columns").ready(rows, waits)
    assert found.columns == ["window_start", "window_end", "wait"]
    assert [row.wait // timedelta(microseconds=1) for row in found.collect()] == [
        parse_duration(text, "wait") for text in TEXTS
    ]
    assert Format().ready(rows, waits).columns == ["window", "wait"]
    assert Format("interval").late(late_rows).first() == Row(
        _delay=timedelta(seconds=1.5), _behind=timedelta(seconds=0.5)
    )


def test_a_format_that_cannot_be_is_refused() -> None:
    with pytest.raises(OptionError, match=r'durations must be "plain" or "interval"; got'):
        Format("text").check(["n"])  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r'no column "window" to split into two.*\nHint'):
        Format(windows="columns").check(["n"])
    with pytest.raises(ColumnNameError, match='a column "window_end", which is also a bound'):
        Format(windows="columns").check(["window", "Window_End"])


def test_each_output_has_the_columns_of_its_rows_without_our_own(spark: SparkSession) -> None:
    packed = spark.createDataFrame([], OUTPUT)
    whole = StructType([*ROWS, StructField("_lc_id", LongType())])

    assert ready(packed, whole).columns == ["time", "name"]
    assert late(packed, whole, "late_1").columns == ["time", "name", "_delay", "_behind", "_reason"]
