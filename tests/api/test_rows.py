from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import latecomer as lc
from latecomer.errors import ColumnNameError, ColumnTypeError, ConditionError, OptionError
from latecomer.hosts.local import run
from latecomer.hosts.spark.columns import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = """
    SELECT timestamp_seconds(at) AS time, key, x
    FROM VALUES (3, 'a', 1), (1, 'b', 5), (2, 'a', 7), (9, 'b', NULL), (4, 'a', 2)
    AS rows(at, key, x)
"""


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.sql(ROWS)


@pytest.fixture(scope="module")
def rows(df: DataFrame) -> lc.OrderedStream:
    return lc.disordered(df, time="time", key="key").sort(wait="5 s")


def operators(stream: lc.OrderedStream | lc.TemporalStream) -> list[str]:
    return [type(each).__name__ for stage in stream.plan.stages for each in stage.operators]


def test_both_hosts_keep_and_compute_the_same(rows: lc.OrderedStream) -> None:
    kept = rows.with_columns(y="x * 10").where("y > 10").where(lambda row: row.x < 7)
    found = kept.with_columns(z=lambda row: row.x + row.y, is_b=F.col("key") == "b")

    given = spark_rows(found.df)
    local = run(found.plan, [given], given.schema).ready.to_pylist()
    names = ["key", "x", "y", "is_b", "z"]
    assert [[row[name] for name in names] for row in local] == [
        ["b", 5, 50, True, 55],
        ["a", 2, 20, False, 22],
    ]
    on_spark = found.to_df()
    assert on_spark.columns == ["time", *names]
    assert [list(row)[1:] for row in on_spark.orderBy("time").collect()] == [
        [row[name] for name in names] for row in local
    ]


def spark_rows(df: DataFrame) -> pa.Table:
    """Return rows with all columns that Spark computes for the plan."""
    return df.toArrow().cast(arrow_schema(df))


def test_rows_with_lifetimes_are_kept_before_they_meet(rows: lc.OrderedStream) -> None:
    ours = rows.where("x > 1").alter(duration="5 s").where("x < 7").with_columns(y="x * 10")
    theirs = rows.where("x = 7").alter(duration="3 s").with_columns(z=lambda row: row.x)

    assert ours.schema().names == ["key", "x", "y"]
    pairs = ours.join(theirs.group_by("key", "z").aggregate(n=lc.agg.count()), on="key")
    (pair,) = pairs.where(lambda row: row.y > row.z).to_df().collect()
    assert (pair.key, pair.x, pair.y, pair.z, pair.n) == ("a", 2, 20, 7, 1)
    assert (pair.start.second, pair.end.second) == (4, 5)


def test_what_is_computed_here_may_be_grouped_by_after_another_shuffle(
    rows: lc.OrderedStream,
) -> None:
    made = rows.temporal().with_columns(big=lambda row: row.x > 4)

    counted = made.group_by("big").aggregate(n=lc.agg.count(), total=lc.agg.sum("x"))
    assert [stage.key for stage in counted.plan.stages] == [("key",), ("big",)]
    joined = rows.alter(duration="1 s").with_columns(own=lambda row: row.x > 4)
    assert joined.anti_join(made, on={"own": "big"}).plan.stages[-1].rights[0].stages[-1].key == (
        "big",
    )


def test_sql_is_refused_where_rows_are_no_longer_those_of_spark(
    rows: lc.OrderedStream, df: DataFrame
) -> None:
    counted = rows.temporal().group_by("key").aggregate(n=lc.agg.count())
    edges = lc.disordered(
        df.selectExpr("*", "time AS until"), time="time", end="until", edges=True
    ).sort(wait="1 s")

    for stream in (counted, rows.stitch(), edges, edges.temporal(), rows.join(counted, on="key")):
        with pytest.raises(
            OptionError, match=r"Spark SQL cannot be used after.*\n.*where\(lambda row"
        ):
            stream.where("n > 1")
        with pytest.raises(
            OptionError, match=r"Spark SQL cannot be used after.*\n.*with_columns\(total"
        ):
            stream.with_columns(more="n + 1")
    assert operators(counted.where(lambda row: row.n > 1))[-1] == "Keep"


def test_columns_that_are_there_are_not_replaced(rows: lc.OrderedStream) -> None:
    for name in ("x", "TIME", "key"):
        with pytest.raises(ColumnNameError, match=f'the column "{name}"'):
            rows.with_columns(**{name: "1"})
    with pytest.raises(ColumnNameError, match='a column "_lc_x"'):
        rows.with_columns(_lc_x="1")
    with pytest.raises(ColumnNameError, match='two columns named "y"'):
        rows.with_columns(y="1", Y="2")
    with pytest.raises(ColumnNameError, match='cannot be named "start"'):
        rows.temporal().with_columns(start=lambda row: row.x)


def test_a_condition_is_true_or_false_and_a_function_takes_a_row(rows: lc.OrderedStream) -> None:
    def of_two(row: Any, other: Any) -> bool:  # noqa: ANN401
        return bool(row.x > other.x)

    with pytest.raises(ColumnTypeError, match="the condition of where is of type int"):
        rows.where("x")
    with pytest.raises(ConditionError, match="one row of each of row"):
        rows.where(of_two)  # type: ignore[arg-type]
    with pytest.raises(ConditionError, match=r"cannot be compiled.*(\n.*)+row\.x"):
        rows.with_columns(upper=lambda row: row.key.upper())


def test_a_changed_condition_is_another_query(rows: lc.OrderedStream) -> None:
    labels = {rows.where(text).plan.stages[0].operators[-1].label for text in ("x > 1", "x > 2")}

    assert labels == {'Keep(where="x > 1")', 'Keep(where="x > 2")'}
