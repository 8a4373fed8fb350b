"""Tasks read the clock of their micro-batch, and each bucket checks that it is the right one."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql import functions as F

import latecomer as lc
from latecomer.errors import ClockError
from latecomer.hosts.spark.batch_clock import BatchClock, check, readable
from latecomer.hosts.spark.spark_clock import SparkClock
from tests.support.stream_of_files import Files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def in_batch_7(monkeypatch: pytest.MonkeyPatch) -> None:
    task = SimpleNamespace(getLocalProperty={"streaming.sql.batchId": "7"}.get)
    monkeypatch.setattr(TaskContext, "get", lambda: task)


def test_the_clock_is_in_the_offset_log(tmp_path: Path, in_batch_7: None) -> None:
    clock = BatchClock(str(tmp_path), SparkClock())
    assert clock.shown() is None

    (tmp_path / "7").write_text("v1\n" + json.dumps({"batchWatermarkMs": 1_500}) + '\n{"at": 3}')
    assert clock.shown() == 1_500

    for damaged in ("", "v1", "v1\n{", "v1\n{}"):
        (tmp_path / "7").write_text(damaged)
        assert clock.shown() is None


def test_outside_a_stream_there_is_no_clock(tmp_path: Path) -> None:
    assert BatchClock(str(tmp_path), SparkClock()).shown() is None


def test_another_clock_is_refused() -> None:
    check(5, 5)
    with pytest.raises(ClockError, match=r"packed by Spark's watermark 4.* runs by 5"):
        check(4, 5)


def test_a_task_reads_the_clock_that_spark_runs_by(spark: SparkSession, tmp_path: Path) -> None:
    files = Files(spark, tmp_path)
    for seconds in (10, 30, 20, 40):
        files.put((seconds, "a"))
    df = files.stream("time timestamp, key string")
    grouped = lc.disordered(df, time="time").tumbling("10 seconds").wait("0 seconds")
    plan = grouped.group_by("key").aggregate(n=lc.agg.count()).plan
    clock = readable(spark, plan, files.at("checkpoint"), SparkClock())
    assert clock is not None

    def seen(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"shown": [clock.shown()]})

    found: list[int] = []

    def keep(rows: DataFrame, _number: int) -> None:
        found.extend(row.shown for row in rows.collect())

    # Spark keeps a watermark only if there is a stateful step.
    timed = df.withWatermark("time", "0 seconds").dropDuplicatesWithinWatermark(["key", "time"])
    timed.select(F.col("key")).mapInArrow(seen, "shown long").writeStream.foreachBatch(keep).option(
        "checkpointLocation", files.at("checkpoint")
    ).trigger(availableNow=True).start().awaitTermination()

    assert found == [0, 10_000, 30_000, 30_000]


def test_only_clocks_that_depend_on_nothing_else_are_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    df = Files(spark, tmp_path).stream("time timestamp, key string")

    def of(late: str = "divert", **options: str) -> BatchClock | None:
        windows = lc.disordered(df, time="time", **options).tumbling("10 seconds")  # type: ignore[arg-type]
        plan = windows.wait("0 seconds", late=late).aggregate(n=lc.agg.count()).plan  # type: ignore[arg-type]
        return readable(spark, plan, f"{tmp_path}/checkpoint", SparkClock())

    assert of() == BatchClock(f"{tmp_path}/checkpoint/offsets", SparkClock())
    assert of("drop") is None
    assert of(sources="key") is None
