"""The rows and states of a query move to a new checkpoint, to other buckets or to the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import latecomer as lc
from latecomer.errors import OptionError, StateFormatError
from tests.support.stream_of_files import Files

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_windows_move_to_the_driver_and_back_to_other_buckets(
    spark: SparkSession, tmp_path: Path
) -> None:
    files = Files(spark, tmp_path)
    df = files.stream("time timestamp, key string")

    def counts(buckets: int) -> Any:  # noqa: ANN401
        windows = lc.disordered(df, time="time").hopping("20 seconds", "10 seconds")
        waiting = windows.wait("20 seconds", buckets=buckets)
        return waiting.group_by("key").aggregate(n=lc.agg.count())

    files.put((1_100, "a"), (1_095, "b"), (1_101, "c"))
    files.put((1_125, "a"), (1_118, "c"))
    files.run(counts(2), "first")

    with pytest.raises(StateFormatError, match=r"buckets were 2, are now 3.*\n.*migrate"):
        files.run(counts(3), "first")
    counts(2).migrate(files.at("first"), files.at("second"), states="driver")
    files.put((1_060, "b"), (1_112, "a"), (1_131, "b"))
    files.run(counts(2), "second", states="driver")

    counts(3).migrate(files.at("second"), files.at("third"))
    files.put((1_070, "b"), (1_119, "c"), (1_160, "a"))
    files.put((1_300, "e"))
    files.run(counts(3), "third", end="flush")

    # By brute force: a row is late if all its windows were closed before its micro-batch.
    assert files.times("late") == [1_060, 1_070]
    expected: dict[tuple[int, str], int] = {}
    in_time = "1100a 1095b 1101c 1125a 1118c 1112a 1131b 1119c 1160a 1300e"
    for time, key in ((int(row[:4]), row[4]) for row in in_time.split()):
        for start in (time - time % 10 - 10, time - time % 10):
            expected[start, key] = expected.get((start, key), 0) + 1
    found = [
        ((int(row["window"]["start"].timestamp()), row["key"]), row["n"])
        for row in files.out["ready"]
    ]
    assert len(found) == len(expected)
    assert dict(found) == expected


def test_rows_that_are_sorted_move_to_other_buckets(spark: SparkSession, tmp_path: Path) -> None:
    files = Files(spark, tmp_path)
    df = files.stream("time timestamp, key string")

    def ordered(buckets: int, wait: str = "30 seconds") -> Any:  # noqa: ANN401
        return lc.disordered(df, time="time", key="key").sort(wait=wait, buckets=buckets)

    files.put((1_100, "a"), (1_095, "b"), (1_101, "c"), (1_140, "d"))
    files.put((1_139, "b"), (1_120, "c"), (1_141, "e"))
    files.run(ordered(2), "first")
    before = files.times("ready")

    with pytest.raises(StateFormatError, match=r"not the one that last ran on the checkpoint"):
        ordered(3, "40 seconds").migrate(files.at("first"), files.at("second"))
    ordered(3).migrate(files.at("first"), files.at("second"))
    with pytest.raises(OptionError, match="already exists, complete or in parts"):
        ordered(3).migrate(files.at("first"), files.at("second"))
    files.put((1_090, "b"), (1_130, "a"))
    files.run(ordered(3), "second", end="flush")

    assert before == [1_095, 1_100, 1_101]
    assert files.times("late") == [1_090]
    assert files.times("ready") == [*before, 1_120, 1_130, 1_139, 1_140, 1_141]


def test_what_cannot_be_spread_anew_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    df = Files(spark, tmp_path).stream("time timestamp, key string")
    windows = lc.disordered(df, time="time").tumbling("20 seconds").wait(["1 second", "1 minute"])
    for stream in (
        windows.group_by("key").aggregate(n=lc.agg.count()),
        lc.disordered(df, time="time", key="key").sort(recall=0.9),
        lc.disordered(df, time="time", key="key", clock="key").sort(wait="1 minute"),
        lc.disordered(df, time="time").sort(wait="1 minute").alter(duration="1 minute"),
    ):
        with pytest.raises(OptionError, match=r'cannot be spread .*\nHint: .*end="flush"'):
            stream.migrate(f"{tmp_path}/old", f"{tmp_path}/new")
    with pytest.raises(StateFormatError, match="has no record of a query"):
        lc.disordered(df, time="time").sort(wait="1 minute").migrate(
            f"{tmp_path}/old", f"{tmp_path}/new"
        )
