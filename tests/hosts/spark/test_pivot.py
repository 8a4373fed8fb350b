"""`pivot` gives a column for each value, and elements of lists become rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

import latecomer as lc
from latecomer import agg
from tests.support.batches import random_batches
from tests.support.streaming import stream
from tests.support.windowed import random_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession


def grouped(df: DataFrame, *keys: str) -> lc.GroupedStream:
    events = lc.disordered(df, time="time").tumbling("20 seconds")
    return events.wait("1 hour").group_by(*keys)


def test_results_equal_sparks_own_pivot(spark: SparkSession) -> None:
    df = spark.createDataFrame(random_rows(8, 800)).withColumn("is small", F.expr("small > 0"))
    values = ["k0", "k3", None]

    ours = (
        grouped(df, "flag")
        .pivot("key", values)
        .aggregate(n=agg.count(where="is small"), total=agg.sum("large"))
        .to_df()
    )
    own = (
        df.groupBy(F.window("time", "20 seconds"), "flag")
        .pivot("key", values)
        .agg(F.expr("count_if(small > 0)").alias("n"), F.sum("large").alias("total"))
    )

    assert ours.columns == own.columns
    assert [*ours.columns[2:]] == ["k0_n", "k0_total", "k3_n", "k3_total", "null_n", "null_total"]

    def told(rows: DataFrame) -> list[tuple[Any, ...]]:
        filled = rows.fillna(0, [name for name in rows.columns if name.endswith("_n")])
        return sorted((tuple(row) for row in filled.collect()), key=repr)

    assert told(ours) == told(own)


def test_one_result_is_named_by_the_value_alone(spark: SparkSession) -> None:
    df = spark.createDataFrame(random_rows(9, 100))

    assert grouped(df).pivot("flag", [True, False]).aggregate(n=agg.count()).to_df().columns == [
        "window",
        "true",
        "false",
    ]
    rows = grouped(df).pivot("small", [1, 2.0]).aggregate(n=agg.count()).to_df()
    assert rows.columns == ["window", "1", "2.0"]


def test_a_stream_is_pivoted_as_it_is_grouped(spark: SparkSession) -> None:
    batches = random_batches(3, nulls=False)

    def of(df: DataFrame, *keys: str) -> lc.GroupedStream:
        events = lc.disordered(df, time="time").tumbling("5 seconds")
        return events.wait("4 seconds", late="drop").group_by(*keys)

    wide, _ = stream(
        spark, batches, lambda df: of(df).pivot("key", ["key-1", "key-2"]).aggregate(n=agg.count())
    )
    long, _ = stream(spark, batches, lambda df: of(df, "key").aggregate(n=agg.count()))

    found = {
        (number, row.window.start, key): row[key]
        for number, rows in wide.items()
        for row in rows
        for key in ("key-1", "key-2")
        if row[key]
    }
    assert len(found) > 5
    assert found == {
        (number, row.window.start, row.key): row.n
        for number, rows in long.items()
        for row in rows
        if row.key in ("key-1", "key-2")
    }


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda s: s.pivot("word"), lc.OptionError, 'needs the list of values of "word".*got None'),
        (
            lambda s: s.pivot("word", []),
            lc.OptionError,
            r'needs the list of values of "word".*got \[\]',
        ),
        (lambda s: s.pivot("word", "UA"), lc.OptionError, "got 'UA'"),
        (lambda s: s.pivot("wrod", ["a"]), lc.ColumnNotFoundError, 'no column "wrod"'),
        (
            lambda s: s.pivot("small", ["a"]),
            lc.ColumnTypeError,
            "column \"small\" is of type smallint, and the value 'a' of type string",
        ),
        (lambda s: s.pivot("word", ["a", "a"]), lc.OptionError, 'the value "a" of "word" twice'),
        (lambda s: s.pivot("word", ["a"]).aggregate(), lc.OptionError, "nothing to compute"),
        (
            lambda s: s.pivot("word", ["window"]).aggregate(n=agg.count()),
            lc.ColumnNameError,
            'named "window"',
        ),
        (
            lambda s: s.aggregate(n=agg.count()).group_by().pivot("n", [1]),
            lc.OptionError,
            "pivot works on rows",
        ),
    ],
)
def test_a_pivot_that_cannot_be_made_is_refused(
    spark: SparkSession,
    build: Callable[[lc.GroupedStream], object],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        build(grouped(spark.createDataFrame(random_rows(1, 3))))


def test_elements_of_lists_become_rows_and_none_is_lost(spark: SparkSession) -> None:
    df = spark.sql("""
        SELECT timestamp_seconds(time) AS time, items FROM VALUES
          (3, array('a', 'b')), (1, array('c')), (2, array()), (0, NULL), (NULL, array('d', 'e'))
        AS t(time, items)
    """)
    stream = lc.disordered(df, time="time").select_many(item="items").sort(wait="1 minute")

    rows = [(row.time.second, row.item) for row in stream.to_df().collect()]

    assert rows == [(0, None), (1, "c"), (2, None), (3, "a"), (3, "b")]
    assert sorted(row.item for row in stream.late_df().collect()) == ["d", "e"]
    own = lc.disordered(df, time="time").select_many(items=F.transform("items", F.upper))
    assert own.sort(wait="1 minute").to_df().collect()[-1].items == "B"


@pytest.mark.parametrize(
    ("items", "error", "message"),
    [
        ({"item": "time"}, lc.ColumnTypeError, '"item" is of type timestamp.\nHint: give an array'),
        ({"item": "map('a', 1)"}, lc.ColumnTypeError, "is of type map"),
        ({}, lc.OptionError, "one list at a time; got 0"),
        ({"a": "array(1)", "b": "array(2)"}, lc.OptionError, "one list at a time; got 2"),
        ({"_lc_now": "array(1)"}, lc.ColumnNameError, 'a column "_lc_now"'),
    ],
)
def test_what_is_not_a_list_is_refused(
    spark: SparkSession, items: dict[str, str], error: type[Exception], message: str
) -> None:
    df = spark.sql("SELECT timestamp_seconds(1) AS time")

    with pytest.raises(error, match=message):
        lc.disordered(df, time="time").select_many(**items)
