"""Spark's watermark as our clock."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import latecomer as lc
from latecomer.clock.watermark import TICK
from latecomer.errors import ClockError, StateFormatError
from latecomer.hosts.spark.durable.record import check_query
from latecomer.hosts.spark.spark_clock import SHIFT, SparkClock
from latecomer.time import NEVER
from tests.support.batches import SECOND
from tests.support.streaming import source

YEAR = 365 * 86_400 * SECOND
START = 1_700_000_000
"""A second of the year 2023."""


@pytest.mark.parametrize("shift", [0, SHIFT])
@pytest.mark.parametrize("newest", [1, 5, 60 * YEAR // TICK])
def test_what_spark_shows_is_the_newest_time(shift: int, newest: int) -> None:
    clock = SparkClock(shift)

    assert clock.newest(newest + shift // TICK) == newest * TICK
    assert clock.newest(0) == NEVER
    assert clock.timer(newest * TICK - 1, 0) == newest + shift // TICK


def test_a_timer_is_after_what_is_shown() -> None:
    assert SparkClock().timer(5 * TICK, 5) == 6
    assert SparkClock().timer(-5 * TICK, 0) == 1


def parcel(branch: int, newest: int) -> dict[str, int]:
    return {"branch": branch, "newest": newest}


@pytest.mark.parametrize("shift", [0, SHIFT])
def test_only_rows_that_move_the_clock_count_as_brought(shift: int) -> None:
    clock = SparkClock(shift, streams=2)

    assert clock.brought([parcel(0, NEVER), parcel(1, TICK - 1 - shift)]) == 0
    assert clock.brought([parcel(1, TICK - shift), parcel(1, NEVER)]) == 0b10


def test_a_stream_that_has_brought_nothing_may_be_the_reason() -> None:
    clock = SparkClock(streams=2)
    clock.check(0b01)
    clock.check(0b10)

    with pytest.raises(ClockError, match="another watermark"):
        clock.check(0b11)
    SparkClock(streams=0).check(0b11)


def seconds(*times: int) -> pa.Table:
    kind = pa.timestamp("us", "UTC")
    values = pa.array([(START + t) * SECOND for t in times], kind)
    return pa.table({"time": values, "key": pa.array(["a"] * len(times), pa.string())})


def run(df: DataFrame, directory: Path) -> tuple[list[Row], list[str]]:
    """Return the rows of a stream, and what Spark showed as its watermark in each micro-batch."""
    query = (
        df.writeStream.format("parquet")
        .option("checkpointLocation", f"{directory}/checkpoint")
        .trigger(availableNow=True)
        .start(f"{directory}/out")
    )
    query.awaitTermination()
    found = df.sparkSession.read.schema(df.schema).parquet(f"{directory}/out").collect()
    return found, [each.eventTime["watermark"] for each in query.recentProgress]


def shown(second: int) -> str:
    at = datetime.fromtimestamp(START + second, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.000Z"


def test_spark_shows_the_newest_time_and_a_slower_stream_beside_ours_sets_the_pace(
    spark: SparkSession, tmp_path: Path
) -> None:
    ours = source(spark, [seconds(1, 9), seconds(50), seconds(60), seconds(90)], f"{tmp_path}/a")
    slow = source(spark, [seconds(), seconds(22), seconds(80), seconds(81)], f"{tmp_path}/b")
    ready = lc.disordered(ours, time="time").sort(wait="10 seconds").to_df(alone=False)

    found, watermarks = run(ready.unionByName(slow.withWatermark("time", "2 seconds")), tmp_path)

    # The slow stream at 20 releases 1 and 9 of ours; at 78 or 79 it releases 50 and 60.
    times = sorted(int(row.time.timestamp()) - START for row in found)
    assert times == [1, 9, 22, 50, 60, 80, 81]
    plan = lc.disordered(ours, time="time").sort(wait="10 seconds").plan
    with pytest.raises(StateFormatError, match="no record of its query"):
        check_query(spark, f"{tmp_path}/checkpoint", plan, {}, lambda: 0)
    beginning = "1970-01-01T00:00:00.000Z"
    assert watermarks == [beginning, beginning, shown(20), shown(60), shown(79)]


def test_a_stream_with_a_watermark_can_be_joined(spark: SparkSession, tmp_path: Path) -> None:
    ours = source(spark, [seconds(1, 9), seconds(50), seconds(60), seconds(90)], f"{tmp_path}/a")
    other = source(spark, [seconds(2), seconds(51), seconds(60), seconds(95)], f"{tmp_path}/b")
    ready = lc.disordered(ours, time="time").sort(wait="10 seconds").to_df()
    right = other.withColumnRenamed("time", "until").withWatermark("until", "2 seconds")

    condition = "l.key = r.key AND until BETWEEN time AND time + INTERVAL 5 SECONDS"
    joined = ready.alias("l").join(right.alias("r"), F.expr(condition)).select("time", "until")

    found, _ = run(joined, tmp_path)

    pairs = sorted((row.time.timestamp() - START, row.until.timestamp() - START) for row in found)
    assert pairs == [(1, 2), (50, 51), (60, 60)]


def test_a_watermark_behind_ours_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    ours = source(spark, [seconds(1, 9), seconds(50)], f"{tmp_path}/a")
    ready = lc.disordered(ours, time="time").sort(wait="10 seconds").to_df()
    minutes = ready.withWatermark("time", "1 second").groupBy(F.window("time", "1 minute")).count()

    with pytest.raises(StreamingQueryException, match="the clock does not move"):
        run(minutes, tmp_path)


def test_undeclared_times_before_1970_end_the_query(spark: SparkSession, tmp_path: Path) -> None:
    early = source(spark, [seconds(1, -START - 1)], f"{tmp_path}/a")
    ready = lc.disordered(early, time="time").sort(wait="10 seconds").to_df()

    with pytest.raises(StreamingQueryException, match=r'(?s)"time" holds 1969.*before_1970=True'):
        run(ready, tmp_path)
