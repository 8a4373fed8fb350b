"""A profile made by Spark equals that made in this process."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import latecomer as lc
from latecomer.api.profile import source_of
from latecomer.hosts.spark.profile import frame as on_spark
from latecomer.profile.tally import Counted, Limits
from latecomer.report.rows import measure_rows
from latecomer.time import TimeColumn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 1_000_000
TIME = TimeColumn("time")


def disordered_rows(seed: int, count: int = 200) -> pa.Table:
    """Return rows in random order, some without a time or an arrival, some of equal arrival."""
    draw = np.random.default_rng(seed)
    times = np.arange(count) * SECOND
    arrivals = times + draw.integers(0, 60, count) * SECOND
    kind = pa.timestamp("us", "UTC")
    rows = pa.table(
        {
            "time": pa.array(times, kind, mask=draw.random(count) < 0.05),
            "arrival": pa.array(arrivals, kind, mask=draw.random(count) < 0.05),
            "who is": pa.array([f"d{n}" for n in draw.integers(0, 9, count)]),
        }
    )
    return rows.take(pa.array(draw.permutation(count)))


def told(counted: Counted) -> list[Any]:
    """Return all measures, in lists that can be compared."""
    found = counted.findings
    delays = found.delays
    grids = [
        (grid.wide, grid.high, grid.columns.tolist(), grid.heights.tolist(), grid.rows.tolist())
        for grid in (found.by_time, found.by_level)
    ]
    return [
        (counted.rows, counted.without_time, counted.without_arrival),
        (delays.delays.tolist(), delays.rows.tolist(), delays.largest, delays.is_exact),
        (found.first, found.oldest, found.newest, found.runs, found.measures),
        *grids,
        found.keys.to_pylist() if found.keys is not None else None,
    ]


def test_a_dataframe_is_profiled_like_the_table_of_its_rows(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_spark, "PART_ROWS", 80)
    rows = disordered_rows(1)
    columns = source_of("time", "arrival", ["who is"], None)

    seen = on_spark.measure_frame(spark.createDataFrame(rows), columns)

    assert told(seen) == told(measure_rows([rows], columns))


def test_without_an_arrival_column_rows_are_taken_as_spark_reads_them(spark: SparkSession) -> None:
    rows = disordered_rows(2)
    df = spark.createDataFrame(rows.slice(0, 70)).union(spark.createDataFrame(rows.slice(70)))

    seen = lc.profile(df, time="time")

    assert told(seen.counted) == told(lc.profile(rows, time="time").counted)
    assert "Order of arrival: the order in which Spark reads the rows." in str(seen)


@pytest.mark.parametrize("is_fetched_at_once", [True, False])
def test_beyond_the_limits_both_profiles_round_alike(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, *, is_fetched_at_once: bool
) -> None:
    if not is_fetched_at_once:
        monkeypatch.setattr(on_spark, "COLUMNS", 1)
        monkeypatch.setattr(on_spark, "ROWS", 1)
        monkeypatch.setattr(on_spark, "LEVELS", 1)
    rows = disordered_rows(3)
    limits = Limits(distinct=5, measured=100)
    columns = source_of("time", None, None, None)

    seen = on_spark.measure_frame(spark.createDataFrame(rows), columns, limits)

    alike = measure_rows([rows], columns, limits)
    assert told(seen)[:3] == told(alike)[:3]
    assert not seen.findings.delays.is_exact
    assert seen.findings.measures is None


def test_an_empty_dataframe_and_one_without_times_are_profiled(spark: SparkSession) -> None:
    no_time = spark.sql("SELECT CAST(NULL AS TIMESTAMP) AS time, id AS k FROM range(3)")

    seen = lc.profile(no_time, time="time", arrival="time", key="k")

    assert (seen.rows, seen.without_time, seen.keys) == (3, 3, None)
    assert lc.profile(no_time.where("k > 5"), time="time", key="k").rows == 0


def test_integers_and_dates_are_profiled_on_spark(spark: SparkSession) -> None:
    df = spark.sql(
        "SELECT -id AS n, date_add(DATE '2024-01-05', CAST(-id AS INT)) AS d FROM range(3)"
    )
    df = df.coalesce(1)

    assert lc.profile(df, time="n", unit="s").largest == timedelta(seconds=2)
    assert lc.profile(df, time="d").largest == timedelta(days=2)


def test_a_stream_is_refused_with_what_to_use_instead(spark: SparkSession) -> None:
    df = spark.readStream.format("rate").load()

    with pytest.raises(lc.OptionError, match=r"profile_df\(\) profiles each micro-batch"):
        lc.profile(df, time="timestamp")


def test_a_column_that_is_not_there_is_named(spark: SparkSession) -> None:
    with pytest.raises(lc.ColumnNotFoundError, match='no column "when"; the rows have "id"'):
        lc.profile(spark.range(1), time="when")
