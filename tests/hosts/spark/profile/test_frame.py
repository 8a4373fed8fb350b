"""A profile taken on Spark is the one taken in this process; a stream is profiled as it runs."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException

import latecomer as lc
from latecomer.api.profile import source_of
from latecomer.hosts.spark.profile import frame as on_spark
from latecomer.profile.live import profile_batch
from latecomer.profile.tally import Counted, Limits
from latecomer.report.rows import measure_rows
from latecomer.time import NEVER, TimeColumn
from tests.support.batches import random_batches
from tests.support.streaming import source

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, Row, SparkSession

SECOND = 1_000_000
TIME = TimeColumn("time")


def disordered_rows(seed: int, count: int = 200) -> pa.Table:
    """Rows in no order, some without a time or an arrival, some of equal arrival."""
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
    """All that was found, in lists that can be compared."""
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
def test_beyond_the_limits_both_round_alike(
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


def test_a_stream_is_refused_and_told_what_to_use(spark: SparkSession) -> None:
    df = spark.readStream.format("rate").load()

    with pytest.raises(lc.OptionError, match=r"profile_df\(\) profiles each micro-batch"):
        lc.profile(df, time="timestamp")


def test_a_column_that_is_not_there_is_named(spark: SparkSession) -> None:
    with pytest.raises(lc.ColumnNotFoundError, match='no column "when"; the rows have "id"'):
        lc.profile(spark.range(1), time="when")


WAITS = ("0 seconds", "3 seconds", "8 seconds")


def run(
    df: DataFrame, checkpoint: str, into: dict[int, list[Row]], fail_at: int | None = None
) -> None:
    """Run a stream of profiles until nothing is left; what it puts out goes by micro-batch.

    Where it is to fail, it does after the micro-batch was computed and before it is committed.
    """

    def write(batch: DataFrame, number: int) -> None:
        into[number] = batch.collect()
        if number == fail_at:
            into.pop(number)
            raise ConnectionError

    query = (
        df.writeStream.foreachBatch(write)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def expected(batches: list[pa.Table]) -> list[dict[str, Any]]:
    """Profile the micro-batches in this process."""
    newest, rows = NEVER, []
    for number, batch in enumerate(filter(len, batches), 1):
        times = TIME.micros(batch)[~TIME.is_null(batch)]
        waits = [0, 3 * SECOND, 8 * SECOND]
        seen = profile_batch(times, newest, waits, batch.schema.field("time").type).to_pylist()[0]
        newest = max([newest, *times.tolist()])
        without = batch.num_rows - len(times)
        head = {"micro_batch": number, "rows": batch.num_rows, "without_time": without, "ahead": 0}
        rows.append({**head, **seen, "newest": seen["newest"].replace(tzinfo=None)})
    return rows


@pytest.fixture
def batches() -> list[pa.Table]:
    return random_batches(7)[:3]


def test_a_stream_is_profiled_like_its_batches_and_goes_on_after_a_failure(
    spark: SparkSession, tmp_path: Path, batches: list[pa.Table]
) -> None:
    found: dict[int, list[Row]] = {}
    checkpoint = str(tmp_path / "checkpoint")
    df = source(spark, batches, str(tmp_path / "rows"))
    profiles = lc.disordered(df, time="time", key="key").profile_df(waits=WAITS)
    with pytest.raises(StreamingQueryException):
        run(profiles, checkpoint, found, fail_at=1)
    assert sorted(found) == [0]
    run(profiles, checkpoint, found)

    seen = [row.asDict(recursive=True) for number in sorted(found) for row in found[number]]
    assert seen == expected(batches)
    assert len(seen) == 3


def test_arrivals_decide_what_is_out_of_order_and_bad_clocks_are_set_aside(
    spark: SparkSession, tmp_path: Path
) -> None:
    kind = pa.timestamp("us", "UTC")
    order = random.Random(3).sample(range(50), 50)
    times = [n * SECOND for n in order]
    rows = pa.table(
        {
            "time": pa.array([*times, 10**6 * SECOND], kind),
            "arrival": pa.array([*times, 5 * SECOND], kind),
        }
    )
    found: dict[int, list[Row]] = {}
    df = source(spark, [rows], str(tmp_path / "rows"))
    made = lc.disordered(df, time="time", arrival="arrival", ahead="1 hour").profile_df()

    run(made, f"{tmp_path}/c", found)

    (row,) = found[0]
    assert (row.rows, row.ahead, row.out_of_order) == (51, 1, 0)
    assert row.newest.second == 49


def test_what_is_no_stream_is_refused_and_told_what_to_use(spark: SparkSession) -> None:
    df = spark.sql("SELECT now() AS time")

    with pytest.raises(lc.OptionError, match=r"Hint: use latecomer.profile\(df"):
        lc.disordered(df, time="time").profile_df()


def test_a_wait_that_is_none_is_refused(spark: SparkSession) -> None:
    df = spark.readStream.format("rate").load()

    with pytest.raises(lc.DurationError, match="waits cannot be negative"):
        lc.disordered(df, time="timestamp").profile_df(waits=["-1 seconds"])
