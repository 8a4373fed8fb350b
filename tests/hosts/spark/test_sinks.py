from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import LongType, StructField, StructType

from latecomer.errors import ColumnNameError, OptionError
from latecomer.hosts.spark.sinks import check, write

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

ROWS = StructType([StructField("id", LongType())])
BATCH = StructType([StructField("Batch", LongType())])
SCHEMAS = {"ready": ROWS, "late": ROWS}


@pytest.fixture(scope="module")
def stream(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").load()


def test_what_can_be_started_is_let_through(stream: DataFrame) -> None:
    check(stream, SCHEMAS, {"ready": "out"})
    # A function gets a DataFrame, and names no directories.
    check(stream, {"ready": BATCH}, {"ready": lambda _rows, _number: None})


def test_a_table_is_not_started(spark: SparkSession) -> None:
    with pytest.raises(OptionError, match="this DataFrame is not streaming"):
        check(spark.range(1), SCHEMAS, {"ready": "out"})


@pytest.mark.parametrize(("outputs", "got"), [({}, "none"), ({"redy": "out"}, "redy")])
def test_outputs_that_are_not_there_are_refused(
    stream: DataFrame, outputs: dict[str, str], got: str
) -> None:
    with pytest.raises(OptionError, match=f"outputs are named ready and late; got {got}"):
        check(stream, SCHEMAS, outputs)


def test_a_column_named_like_the_directories_is_refused(stream: DataFrame) -> None:
    with pytest.raises(ColumnNameError, match='Hint: rename it first, for example to "batch_id"'):
        check(stream, {"ready": BATCH}, {"ready": "out"})


def test_a_micro_batch_that_is_run_again_replaces_what_it_wrote(
    spark: SparkSession, tmp_path: Path
) -> None:
    for number, rows in ((0, 3), (1, 5), (1, 2)):
        write(spark.range(rows), str(tmp_path / "out"), number)

    found = spark.read.parquet(str(tmp_path / "out")).groupBy("batch").count().collect()
    assert {row.batch: row["count"] for row in found} == {0: 3, 1: 2}


def test_a_function_is_given_the_rows_and_the_number_of_the_micro_batch(
    spark: SparkSession,
) -> None:
    seen = []
    rows = spark.range(1)

    write(rows, lambda given, number: seen.append((given, number)), 7)

    assert seen == [(rows, 7)]
