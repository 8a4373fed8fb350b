"""A query that is stopped goes on with another wait, another late policy and one more column."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import latecomer as lc

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SECOND = 1_000_000


class Files:
    """A stream of files, one a micro-batch, and what comes out of its queries."""

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self._spark = spark
        self._directory = directory
        (directory / "rows").mkdir()
        self._number = 0
        self.out: dict[str, list[dict[str, Any]]] = {"ready": [], "late": []}

    def put(self, *rows: tuple[int, str], **more: str) -> None:
        """Write a file of rows with a time in seconds and a key."""
        times = pa.array([time * SECOND for time, _ in rows], pa.timestamp("us", "UTC"))
        columns = {"time": times, "key": [key for _, key in rows]}
        columns |= {name: [value] * len(rows) for name, value in more.items()}
        path = self._directory / "rows" / f"{self._number}.parquet"
        pq.write_table(pa.table(columns), path)
        # Spark reads files in order of their times of last change, which may be equal.
        os.utime(path, (self._number + 1, self._number + 1))
        self._number += 1

    def stream(self, columns: str) -> DataFrame:
        """Read the files as a stream."""
        reader = self._spark.readStream.schema(columns).option("maxFilesPerTrigger", 1)
        return reader.parquet(f"{self._directory}/rows")

    def run(self, stream: Any, **options: Any) -> None:  # noqa: ANN401
        """Run a query over all files that there are."""

        def keep(output: str) -> Any:  # noqa: ANN401
            def sink(rows: DataFrame, _number: int) -> None:
                self.out[output] += [row.asDict(recursive=True) for row in rows.collect()]

            return sink

        query = stream.start(
            {"ready": keep("ready"), "late": keep("late")},
            checkpoint=f"{self._directory}/checkpoint",
            trigger={"availableNow": True},
            **options,
        )
        query.awaitTermination()

    def times(self, output: str) -> list[int]:
        """List the times of all rows that came out, in seconds, sorted."""
        return sorted(int(row["time"].timestamp()) for row in self.out[output])


def test_a_sort_goes_on_with_a_longer_wait_and_one_more_column(
    spark: SparkSession, tmp_path: Path
) -> None:
    files = Files(spark, tmp_path)
    files.put((1_100, "a"), (1_095, "b"))
    files.put((1_120, "a"), (1_118, "c"))
    before = files.stream("time timestamp, key string")
    files.run(lc.disordered(before, time="time", key="key").sort(wait="10 seconds", buckets=2))

    # By the wait of a minute alone, 1,085 would be in time; the watermark was at 1,090 at least.
    files.put((1_085, "a"), (1_086, "d"), (1_119, "b"), more="x")
    files.put((1_300, "e"), more="x")
    after = files.stream("time timestamp, more string, key string")
    ordered = lc.disordered(after, time="time", key="key").sort(wait="1 minute", buckets=2)
    files.run(ordered)

    assert files.times("late") == [1_085, 1_086]
    assert {row["more"] for row in files.out["late"]} == {"x"}
    assert files.times("ready") == [1_095, 1_100, 1_118, 1_119, 1_120]
    more = {int(row["time"].timestamp()): row.get("more") for row in files.out["ready"]}
    # Bucket by bucket, also one that wakes without rows.
    assert more == {1_095: None, 1_100: None, 1_118: None, 1_119: "x", 1_120: None}

    files.run(ordered, end="flush")
    assert files.times("ready")[-1] == 1_300


def test_states_on_the_driver_go_on_with_a_longer_wait(spark: SparkSession, tmp_path: Path) -> None:
    files = Files(spark, tmp_path)
    files.put((1_100, "a"), (1_095, "b"))
    files.put((1_120, "a"), (1_118, "c"))
    df = files.stream("time timestamp, key string")

    def counts(wait: str) -> Any:  # noqa: ANN401
        windows = lc.disordered(df, time="time").tumbling("10 seconds").wait(wait)
        return windows.group_by().aggregate(n=lc.agg.count())

    files.run(counts("10 seconds"), states="driver")
    # The window of 1,095 was answered by the wait of ten seconds, and is not opened again.
    files.put((1_095, "d"), (1_115, "b"))
    files.put((1_300, "e"))
    files.run(counts("1 minute"), states="driver")

    found = {int(row["window"]["start"].timestamp()): row["n"] for row in files.out["ready"]}
    assert files.times("late") == [1_095]
    assert found == {1_090: 1, 1_100: 1, 1_110: 2, 1_120: 1}
