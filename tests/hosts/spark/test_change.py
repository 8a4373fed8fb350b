"""A stopped query continues with another wait, another late policy and one more column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import latecomer as lc
from tests.support.stream_of_files import Files

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_sort_goes_on_with_a_longer_wait_and_one_more_column(
    spark: SparkSession, tmp_path: Path
) -> None:
    files = Files(spark, tmp_path)
    files.put((1_100, "a"), (1_095, "b"))
    files.put((1_120, "a"), (1_118, "c"))
    before = files.stream("time timestamp, key string")
    files.run(lc.disordered(before, time="time", key="key").sort(wait="10 seconds", buckets=2))

    # By the wait of a minute alone, 1,085 would be in time, but the watermark had reached 1,090.
    files.put((1_085, "a"), (1_086, "d"), (1_119, "b"), more="x")
    files.put((1_300, "e"), more="x")
    after = files.stream("time timestamp, more string, key string")
    ordered = lc.disordered(after, time="time", key="key").sort(wait="1 minute", buckets=2)
    files.run(ordered)

    assert files.times("late") == [1_085, 1_086]
    assert {row["more"] for row in files.out["late"]} == {"x"}
    assert files.times("ready") == [1_095, 1_100, 1_118, 1_119, 1_120]
    more = {int(row["time"].timestamp()): row.get("more") for row in files.out["ready"]}
    # This holds in each bucket, also in one that runs without rows.
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
    # The window of 1,095 was closed by the wait of ten seconds, and is not opened again.
    files.put((1_095, "d"), (1_115, "b"))
    files.put((1_300, "e"))
    files.run(counts("1 minute"), states="driver")

    found = {int(row["window"]["start"].timestamp()): row["n"] for row in files.out["ready"]}
    assert files.times("late") == [1_095]
    assert found == {1_090: 1, 1_100: 1, 1_110: 2, 1_120: 1}
