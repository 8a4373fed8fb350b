"""The end of a stream: held rows come out, or are kept for the next run."""

from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

import latecomer as lc
from latecomer import agg
from latecomer.generate.micro_batches import write_micro_batches
from latecomer.hosts.spark import flush, held
from latecomer.hosts.spark.flush import _has_unread
from tests.support.batches import random_batches
from tests.support.streaming import source

Stream = lc.OrderedStream | lc.AggregatedStream | lc.TemporalStream


def ordered(df: DataFrame) -> lc.OrderedStream:
    return lc.disordered(df, time="time", key="key").sort(wait="7 seconds", buckets=3)


def counted(df: DataFrame) -> lc.AggregatedStream:
    windows = lc.disordered(df, time="time").tumbling("5 seconds")
    return windows.wait(["1 s", "7 s"]).group_by("key").aggregate(n=agg.count())


def two_stages(df: DataFrame) -> lc.TemporalStream:
    by_key = ordered(df).alter(duration="5 seconds").group_by("key").aggregate(n=agg.count())
    return by_key.group_by().aggregate(most=agg.max("n"))


def clocked(df: DataFrame) -> lc.OrderedStream:
    return lc.disordered(df, time="time", key="key", clock="key").sort(wait="7 seconds")


def joined(df: DataFrame) -> lc.TemporalStream:
    left = ordered(df).alter(duration="3 seconds")
    right = ordered(df.selectExpr("time", "key", "id AS other")).alter(duration="2 seconds")
    return left.join(right, on="key")


def run(stream: Stream, path: Path, **options: Any) -> None:  # noqa: ANN401 - whatever start takes
    late = [each.source.late for each in stream.plan.inputs]
    query = stream.start(
        {name: f"{path}/{name}" for name in ("ready", *late)},
        checkpoint=f"{path}/checkpoint",
        trigger={"availableNow": True},
        **options,
    )
    query.awaitTermination()


def written(spark: SparkSession, path: Path, output: str = "ready") -> list[str]:
    rows = lc.read(spark, f"{path}/{output}").drop("batch", "wait").collect()
    return sorted(map(str, rows))


STREAMS: dict[str, tuple[Callable[[DataFrame], Stream], dict[str, str]]] = {
    "rows": (ordered, {}),
    "windows": (counted, {}),
    "windows, on the driver": (counted, {"states": "driver"}),
    "two stages": (two_stages, {}),
    "clocks": (clocked, {}),
    "a join": (joined, {}),
}


@pytest.mark.parametrize("name", STREAMS)
def test_what_is_held_at_the_end_comes_out(spark: SparkSession, tmp_path: Path, name: str) -> None:
    build, options = STREAMS[name]
    # Nothing can be late in a single micro-batch, so the batch DataFrame gives the same rows.
    rows = pa.concat_tables(random_batches(2, nulls=False))
    run(build(source(spark, [rows], f"{tmp_path}/rows")), tmp_path, end="flush", **options)

    whole = build(spark.createDataFrame(rows)).to_df().drop("wait")

    assert written(spark, tmp_path) == sorted(map(str, whole.collect()))


def test_a_run_continues_with_the_rows_that_the_previous_one_held(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = random_batches(4)
    df = source(spark, batches[:2], f"{tmp_path}/rows")
    run(counted(df), tmp_path, end="keep")
    kept = written(spark, tmp_path)
    for number, batch in enumerate(batches[2:], 2):
        write_micro_batches(batch, f"{tmp_path}/rows", 1, first=number)
    run(counted(df), tmp_path, end="flush")

    at_once = tmp_path / "at-once"
    run(counted(source(spark, batches, f"{at_once}/rows")), at_once, end="flush")

    assert written(spark, tmp_path) == written(spark, at_once)
    assert written(spark, tmp_path, "late") == written(spark, at_once, "late")
    assert len(kept) < len(written(spark, tmp_path))


@pytest.mark.parametrize("states", ["buckets", "driver"])
def test_a_stream_ends_once(spark: SparkSession, tmp_path: Path, states: str) -> None:
    df = source(spark, random_batches(1)[:1], f"{tmp_path}/rows")
    run(counted(df), tmp_path, end="flush", states=states)

    for end in ("keep", "flush"):
        with pytest.raises(lc.OptionError, match="has ended"):
            run(counted(df), tmp_path, end=end, states=states)


def test_after_a_crash_at_the_end_the_query_must_be_ended_the_same_way(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = random_batches(1, nulls=False)[0]
    df = source(spark, [rows], f"{tmp_path}/rows")
    seen: list[int] = []

    def crashing(rows: DataFrame, number: int) -> None:
        seen.append(rows.count())
        if len(seen) == 1:
            message = "the machine stops"
            raise RuntimeError(message)

    def end(how: str) -> None:
        ordered(df).start(
            {"ready": crashing, "late": crashing},
            checkpoint=f"{tmp_path}/checkpoint",
            trigger={"availableNow": True},
            end=how,  # type: ignore[arg-type]
        ).awaitTermination()

    ordered(df).start(
        {"ready": lambda *_: None, "late": lambda *_: None},
        checkpoint=f"{tmp_path}/checkpoint",
        trigger={"availableNow": True},
    ).awaitTermination()
    with pytest.raises(RuntimeError, match="the machine stops"):
        end("flush")
    with pytest.raises(lc.OptionError, match="was about to end"):
        end("keep")
    end("flush")

    # The rows came twice under one number. There are no late rows, and no call for them.
    assert len(seen) == 2
    assert seen[0] == seen[1] > 0


@pytest.mark.parametrize("states", ["buckets", "driver"])
def test_a_query_that_is_stopped_is_not_ended(
    spark: SparkSession, tmp_path: Path, states: str
) -> None:
    batches = random_batches(6)
    df = source(spark, batches, f"{tmp_path}/rows")
    found: dict[tuple[str, int], list[str]] = {}
    stopping: list[Thread] = []

    def keep(output: str) -> Callable[[DataFrame, int], None]:
        def write(rows: DataFrame, number: int) -> None:
            found[output, number] = sorted(map(str, rows.collect()))
            if number >= 2 and not stopping:
                (query,) = spark.streams.active
                stopping.append(Thread(target=query.stop))
                stopping[0].start()

        return write

    def end() -> None:
        counted(df).start(
            {"ready": keep("ready"), "late": keep("late")},
            checkpoint=f"{tmp_path}/checkpoint",
            trigger={"availableNow": True},
            end="flush",
            states=states,  # type: ignore[arg-type]
        )

    with pytest.raises(lc.UnreadRowsError, match=r"was not ended.*\nHint: nothing is lost"):
        end()
    stopping[0].join()
    assert max(number for _, number in found) < len(batches)
    end()

    at_once = tmp_path / "at-once"
    run(counted(source(spark, batches, f"{at_once}/rows")), at_once, end="flush", states=states)
    for output in ("ready", "late"):
        rows = lc.read(spark, f"{at_once}/{output}").drop("batch").collect()
        seen = [row for (name, _), part in found.items() if name == output for row in part]
        assert sorted(seen) == sorted(map(str, rows))


@pytest.mark.parametrize("states", ["buckets", "driver"])
def test_a_stream_of_which_nothing_has_come_can_end(
    spark: SparkSession, tmp_path: Path, states: str
) -> None:
    nothing = random_batches(1)[0].slice(0, 0)
    (tmp_path / "rows").mkdir()
    schema = spark.createDataFrame(nothing).schema
    df = spark.readStream.schema(schema).parquet(f"{tmp_path}/rows")

    run(counted(df), tmp_path, end="flush", states=states)

    assert written(spark, tmp_path) == written(spark, tmp_path, "late") == []


def test_a_checkpoint_that_reads_like_a_pattern_cannot_be_ended(
    spark: SparkSession, tmp_path: Path
) -> None:
    df = source(spark, random_batches(1)[:1], f"{tmp_path}/rows")

    with pytest.raises(lc.OptionError, match="does not support the checkpoint path"):
        run(ordered(df), tmp_path / "a[b]", end="flush")


def test_where_states_cannot_be_read_end_flush_is_refused_at_the_start(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    df = source(spark, random_batches(1)[:1], f"{tmp_path}/rows")

    def refuse(_spark: SparkSession, _checkpoint: str) -> bool:
        raise AnalysisException("[NOT_SUPPORTED_WITH_SERVERLESS] state-metadata\nmore")

    monkeypatch.setattr(flush, "has_states", refuse)
    # This module binds the function by name, and would keep `refuse` if it were imported now.
    monkeypatch.setattr(held, "has_states", refuse)

    with pytest.raises(lc.OptionError, match=r'SERVERLESS\] state-metadata\nHint: use end="keep"'):
        run(ordered(df), tmp_path, end="flush")

    assert not (tmp_path / "checkpoint").exists()
    run(counted(df), tmp_path / "driver", end="flush", states="driver")


def test_a_stream_that_never_ends_cannot_be_flushed(spark: SparkSession, tmp_path: Path) -> None:
    df = source(spark, random_batches(1)[:1], f"{tmp_path}/rows")
    stream = ordered(df)

    with pytest.raises(lc.OptionError, match="which never happens"):
        stream.start(
            {"ready": f"{tmp_path}/ready", "late": lambda *_: None},
            checkpoint=f"{tmp_path}/c",
            end="flush",
        )
    with pytest.raises(lc.OptionError, match="got 'sometimes'"):
        stream.start(
            {"ready": f"{tmp_path}/ready", "late": lambda *_: None},
            checkpoint=f"{tmp_path}/c",
            end="sometimes",  # type: ignore[arg-type]
        )


@pytest.mark.parametrize(("last", "is_unread"), [(7, True), (6, False)])
def test_rows_that_were_not_read_are_told_from_ticks_that_never_end(
    spark: SparkSession,
    tmp_path: Path,
    last: int,
    is_unread: bool,  # noqa: FBT001
) -> None:
    for log in ("offsets", "commits"):
        (tmp_path / log).mkdir()
    for number, files in ((0, 6), (1, last)):
        tick = f'{{"offset":{number},"timestamp":{number}000}}'
        lines = f'v1\n{{"batchWatermarkMs":0}}\n{{"logOffset":{files}}}\n{tick}'
        (tmp_path / "offsets" / str(number)).write_text(lines)
    (tmp_path / "commits" / "0").write_text('v1\n{"nextBatchWatermarkMs":0}')

    assert _has_unread(spark, str(tmp_path)) == is_unread
