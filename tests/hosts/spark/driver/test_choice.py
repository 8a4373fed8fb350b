"""The place of states is chosen once and recorded; a limit applies unless the user has chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import StreamingQueryException

import latecomer as lc
from latecomer.errors import HeldLimitError
from latecomer.hosts.spark.driver import choice
from latecomer.hosts.spark.durable import record
from tests.support.stream_of_files import Files

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def windows(
    files: Files, wait: str | list[str] = "5 seconds", buckets: int | None = None
) -> lc.AggregatedStream:
    rows = lc.disordered(files.stream("time timestamp, key string"), time="time")
    grouped = rows.tumbling("10 seconds").wait(wait, buckets=buckets).group_by("key")
    return grouped.aggregate(n=lc.agg.count())


def chosen(stream: lc.AggregatedStream, checkpoint: str) -> str:
    return choice.chosen(stream.df, stream.plan, stream.buckets, checkpoint)


def test_the_driver_keeps_what_spark_can_add_up(spark: SparkSession, tmp_path: Path) -> None:
    files = Files(spark, tmp_path)
    checkpoint = files.at("checkpoint")
    stream = windows(files)
    listed = lc.disordered(stream.df, time="time").tumbling("10 seconds").wait("5 seconds")

    assert chosen(stream, checkpoint) == "driver"
    assert chosen(windows(files, buckets=2), checkpoint) == "buckets"
    assert chosen(listed.aggregate(all=lc.agg.collect("key")), checkpoint) == "buckets"


def test_short_windows_of_keys_go_to_buckets(spark: SparkSession, tmp_path: Path) -> None:
    files = Files(spark, tmp_path)
    checkpoint = files.at("checkpoint")
    # A window of ten seconds, and those that begin in the wait.
    at_most = f"{10 * choice.MANY - 10} seconds"

    assert chosen(windows(files, at_most), checkpoint) == "driver"
    assert chosen(windows(files, ["5 seconds", f"{10 * choice.MANY} seconds"]), checkpoint) == (
        "buckets"
    )
    rows = lc.disordered(windows(files).df, time="time").tumbling("10 seconds").wait("1 day")
    assert chosen(rows.aggregate(n=lc.agg.count()), checkpoint) == "driver"


def test_a_checkpoint_stays_with_its_choice(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files(spark, tmp_path)
    files.put((1, "a"), (2, "b"))
    files.run(windows(files), "chosen")
    files.run(windows(files), "asked", states="buckets")

    assert record.states(spark, files.at("chosen")) == "driver"
    assert record.states(spark, files.at("asked")) == "buckets"
    assert chosen(windows(files), files.at("asked")) == "buckets"
    assert chosen(windows(files, buckets=2), files.at("chosen")) == "driver"

    # Reaching the limit stops the query. It continues once the user passes `states`.
    monkeypatch.setattr(choice, "MOST", 3)
    files.put((11, "a"), (12, "b"), (13, "c"))
    with pytest.raises(StreamingQueryException, match=r"holds 5 states.*nothing is lost"):
        files.run(windows(files), "chosen")
    assert not files.out["ready"]
    files.run(windows(files), "chosen", states="driver")
    files.put((30, "a"))
    files.run(windows(files), "chosen", states="driver")
    assert sorted((row["key"], row["n"]) for row in files.out["ready"]) == [
        *(("a", 1), ("a", 1), ("b", 1), ("b", 1), ("c", 1)),
    ]


@pytest.mark.parametrize(
    ("wait", "hint"),
    [
        ("5 seconds", 'finish this micro-batch, then move the states to buckets with migrate("at"'),
        (["5 seconds", "1 minute"], "begin anew with another checkpoint"),
    ],
)
def test_the_error_of_the_limit_says_how_to_continue(
    spark: SparkSession, tmp_path: Path, wait: str | list[str], hint: str
) -> None:
    plan = windows(Files(spark, tmp_path), wait).plan

    choice.check_few(choice.MOST, plan, "at")
    with pytest.raises(HeldLimitError) as caught:
        choice.check_few(choice.MOST + 1, plan, "at")
    assert hint in str(caught.value)
