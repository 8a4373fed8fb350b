from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from latecomer.errors import ColumnTypeError
from latecomer.hosts.spark.columns import (
    arrow_schema,
    as_data,
    expression,
    map_in_arrow,
    partitions,
    reference,
    with_elements,
    without_own,
)
from latecomer.hosts.spark.declared import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(
        [(1, ["x", "y"]), (2, [])], "n int, words array<string>"
    ).withColumn("_lc_part", F.lit(1))


@pytest.fixture
def compiling(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that generates code, as Spark does by default; that of the tests does not."""
    asked = {"wholeStage": "true", "factoryMode": "CODEGEN_ONLY"}
    before = {name: spark.conf.get(f"spark.sql.codegen.{name}") for name in asked}
    for name, value in asked.items():
        spark.conf.set(f"spark.sql.codegen.{name}", value)
    yield spark
    for name, value in before.items():
        spark.conf.set(f"spark.sql.codegen.{name}", str(value))


def test_a_string_is_spark_sql_and_a_star_is_all_columns(df: DataFrame) -> None:
    column = F.col("n")

    assert df.select(expression("n + 1 AS m")).columns == ["m"]
    assert df.select(expression(" * ")).columns == df.columns
    assert expression(column) is column


def test_each_element_of_a_list_becomes_a_row_and_an_empty_list_stays_one(df: DataFrame) -> None:
    found = with_elements(df, "word", "words").select("n", "word").collect()

    assert [tuple(row) for row in found] == [(1, "x"), (1, "y"), (2, None)]


def test_only_lists_are_turned_into_rows(df: DataFrame) -> None:
    with pytest.raises(ColumnTypeError, match='select_many needs a list; "m" is of type int'):
        with_elements(df, "m", "n")


def test_a_number_that_changes_is_not_in_the_code_that_spark_generates(
    compiling: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    def code(number: int) -> str:
        changed = compiling.range(2).selectExpr(f"id + {as_data(f'{number}L', 'id')} AS m")
        assert [row.m for row in changed.collect()] == [number, 1 + number]
        changed.explain("codegen")
        return capsys.readouterr().out.partition("Generated code")[2]

    assert code(123_456_789) == code(987_654_321) != ""


def test_columns_of_our_own_are_left_out(df: DataFrame) -> None:
    assert without_own(df, df.columns).columns == ["n", "words"]


def test_times_are_in_utc_in_arrow(spark: SparkSession) -> None:
    rows = spark.createDataFrame([], "at timestamp, local timestamp_ntz")

    assert arrow_schema(rows).types == [pa.timestamp("us", "UTC"), pa.timestamp("us")]


def test_rows_are_spread_over_as_many_partitions_as_the_session_says(df: DataFrame) -> None:
    assert partitions(df) == int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 0)


def test_a_name_is_quoted_whatever_is_in_it() -> None:
    assert [quoted(name) for name in ("a", "a b", "a`b")] == ["`a`", "`a b`", "`a``b`"]


def test_rows_reach_a_worker_under_the_names_that_they_have(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1, 2, 3)], ["a.b", "tick`", "n"])

    def named(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"names": ["|".join(batch.schema.names)]})

    assert map_in_arrow(rows, named, "names string").collect()[0].names == "a.b|tick`|n"
    assert rows.select(reference("tick`"), reference("a.b")).collect()[0] == (2, 1)
