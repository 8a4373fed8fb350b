"""Disorder on Spark is the same as without Spark, in any partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import latecomer as lc
from latecomer.generate.injection import spark as engine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from latecomer.generate.injection.report import DisorderReport

ROWS = 3_000
OPTIONS = {"time": "time", "delay": "exponential:5s:100ms:2min", "seed": 11}
PATTERNS = [
    lc.Drift("20 seconds", 3),
    lc.Outage(at="10 seconds", lasts="5 seconds", by="device", share=0.3),
    lc.Override("device", "d1", delay="constant:7s", fraction=0.5),
]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "PART_ROWS", 1_000)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    random = np.random.default_rng(3)
    times = np.cumsum(random.integers(0, 20_000, ROWS))
    came = times + random.choice([0, 0, 0, 3_000_000], ROWS)
    return pa.table(
        {
            "time": pa.array(times, pa.timestamp("us", "UTC")),
            "came": pa.array(came, pa.timestamp("us", "UTC")),
            "device": [f"d{i % 10}" for i in range(ROWS)],
            "number": range(ROWS),
        }
    )


@pytest.fixture(scope="module")
def df(spark: SparkSession, table: pa.Table) -> DataFrame:
    return spark.createDataFrame(table).cache()


def test_spark_gives_what_a_table_gives(df: DataFrame, table: pa.Table) -> None:
    options = OPTIONS | {"fraction": 0.4, "arrival": "came", "patterns": PATTERNS}

    on_spark = lc.inject_disorder(df.repartition(7), **options).toArrow()

    assert on_spark.equals(lc.inject_disorder(table, **options))


def test_a_frame_without_an_arrival_column_arrived_in_order_of_time(
    df: DataFrame, table: pa.Table
) -> None:
    options = OPTIONS | {"fraction": 0.3}

    on_spark = lc.inject_disorder(df.repartition(3), **options)

    assert (
        on_spark.orderBy("number")
        .toArrow()
        .equals(lc.inject_disorder(table, **options).sort_by("number"))
    )


def test_the_report_is_the_same(df: DataFrame, table: pa.Table) -> None:
    options = OPTIONS | {"fraction": 0.4, "arrival": "came"}
    reports: list[DisorderReport] = []

    for rows in (df, table):
        lc.inject_disorder(rows, **options, report=reports.append)

    assert reports[0] == reports[1]
    assert reports[0].source_fraction > 0.1


def test_rows_without_a_time_and_rows_alike_are_kept(spark: SparkSession) -> None:
    rows = spark.sql(
        "SELECT if(id < 5, NULL, timestamp_seconds(id div 50)) AS time FROM range(900)"
    )
    reports: list[DisorderReport] = []

    result = lc.inject_disorder(
        rows, **OPTIONS | {"fraction": 0.2}, report=reports.append
    ).toArrow()

    assert (result.num_rows, result["time"].null_count) == (900, 5)
    assert result["arrival"].null_count == 0
    assert reports[0].fraction == pytest.approx(0.2, abs=0.002)
    assert reports[0].without_time == 5


def test_other_types_pass_through(spark: SparkSession) -> None:
    rows = spark.sql(
        "SELECT CAST(timestamp_seconds(id) AS timestamp_ntz) AS time, struct(id AS x) AS pair, "
        "array(id) AS list, map('k', id) AS map, CAST(id AS decimal(12, 3)) AS price, "
        "CAST(id AS string) AS text, timestamp_seconds(id) AS other FROM range(900)"
    )

    result = lc.inject_disorder(rows, **OPTIONS | {"fraction": 0.3})

    assert result.drop("arrival").schema == rows.schema
    assert result.schema["arrival"].dataType.simpleString() == "timestamp_ntz"
    assert result.select(F.sum("pair.x"), F.count("map")).first() == (404_550, 900)


def test_integers_and_dates(spark: SparkSession) -> None:
    rows = spark.sql(
        "SELECT id AS time, date_add(DATE '2020-01-01', int(id)) AS day FROM range(2000)"
    )

    by_number = lc.inject_disorder(
        rows, **OPTIONS | {"fraction": 0.3, "unit": "ms", "delay": "uniform:1ms:1s"}
    )
    by_day = lc.inject_disorder(
        rows, **OPTIONS | {"time": "day", "fraction": 0.3, "delay": "uniform:1d:9d"}
    )

    assert by_number.schema["arrival"].dataType.simpleString() == "bigint"
    assert by_day.schema["arrival"].dataType.simpleString() == "timestamp"
    assert by_number.where("arrival > time").count() > 200


def test_rows_that_change_between_two_passes_are_noticed(
    spark: SparkSession, tmp_path: Path
) -> None:
    def farther_apart_with_each_pass(
        batches: Iterator[pa.RecordBatch],
    ) -> Iterator[pa.RecordBatch]:
        step = 1_000 ** len(list(tmp_path.iterdir()))
        (tmp_path / str(step)).touch()
        for batch in batches:
            times = np.asarray(batch["id"]) * step
            yield pa.RecordBatch.from_arrays([pa.array(times)], ["time"])

    one_task = spark.range(0, 900, 1, 1)
    rows = one_task.mapInArrow(farther_apart_with_each_pass, "time long")
    options = OPTIONS | {"fraction": 0.2, "unit": "ms"}

    with pytest.warns(lc.FractionWarning, match=r"rows changed between two passes.*\n.*cache"):
        lc.inject_disorder(rows, **options, report=str)


def test_no_rows(spark: SparkSession) -> None:
    result = lc.inject_disorder(
        spark.sql("SELECT now() AS time LIMIT 0"), **OPTIONS | {"fraction": 0.3}
    )

    assert (result.columns, result.count()) == (["time", "arrival"], 0)


def test_bad_input(spark: SparkSession, df: DataFrame) -> None:
    with pytest.raises(lc.ColumnNotFoundError, match='no column "when"'):
        lc.inject_disorder(df, **OPTIONS | {"time": "when", "fraction": 0.3})
    nothing = df.limit(1).withColumn("came", F.lit(None).cast("timestamp"))
    with pytest.raises(lc.ColumnTypeError, match='1 rows have no "came"'):
        lc.inject_disorder(df.union(nothing), **OPTIONS | {"fraction": 0.3, "arrival": "came"})
    stream = spark.readStream.format("rate").load().withColumnRenamed("timestamp", "time")
    with pytest.raises(lc.OptionError, match=r"is a stream.*\n.*latecomer\.replay"):
        lc.inject_disorder(stream, **OPTIONS | {"fraction": 0.3})
    with pytest.warns(lc.FractionWarning, match="are so in the source"):
        lc.inject_disorder(df, **OPTIONS | {"fraction": 0.01, "arrival": "came"})
