"""A stream is profiled as it runs."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException

import latecomer as lc
from latecomer.profile.live import profile_batch
from latecomer.time import NEVER, TimeColumn
from tests.support.batches import random_batches
from tests.support.streaming import source

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, Row, SparkSession

SECOND = 1_000_000
TIME = TimeColumn("time")
WAITS = ("0 seconds", "3 seconds", "8 seconds")


def run(
    df: DataFrame, checkpoint: str, into: dict[int, list[Row]], fail_at: int | None = None
) -> None:
    """Run a stream of profiles to its end, and return its output by micro-batch.

    A failure comes after the micro-batch was computed and before it is committed.
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
        waits = dict(zip((0, 3 * SECOND, 8 * SECOND), WAITS, strict=True))
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


def test_a_dataframe_that_is_no_stream_is_refused_with_what_to_use_instead(
    spark: SparkSession,
) -> None:
    df = spark.sql("SELECT now() AS time")

    with pytest.raises(lc.OptionError, match=r"Hint: use latecomer.profile\(df"):
        lc.disordered(df, time="time").profile_df()


def test_a_negative_wait_of_a_profile_is_refused(spark: SparkSession) -> None:
    df = spark.readStream.format("rate").load()

    with pytest.raises(lc.DurationError, match="waits cannot be negative"):
        lc.disordered(df, time="timestamp").profile_df(waits=["-1 seconds"])
