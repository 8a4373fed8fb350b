"""Recalls on Spark: each bucket gives the rows of a local host of its own."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import latecomer as lc
from latecomer import agg
from latecomer.clock.policy import ClockByRecall
from latecomer.generate.micro_batches import write_micro_batches
from latecomer.kernels.hashing import hash_columns
from latecomer.operators.sort import Sort
from latecomer.plan import Plan, Source, Stage
from latecomer.time import NEVER, TimeColumn
from tests.support.adapting import Bucket, rows_of
from tests.support.batches import expected
from tests.support.streaming import PerBatch, source, stream

SECOND = 1_000_000
TIME = TimeColumn("time")
RECALLS = [0.6, 0.9]
LEVELS = ("recall", "wait", "is_final")


def batches(seed: int = 1, count: int = 5) -> list[pa.Table]:
    """Return rows with keys, whose delays grow and shrink again."""
    random = np.random.default_rng(seed)
    found = []
    for number in range(count):
        size = int(random.integers(20, 60))
        scale = 8 if number == 2 else 2
        delays = random.exponential(scale * SECOND, size)
        times = (1_000 + number * 3) * SECOND + random.integers(0, 3 * SECOND, size) - delays
        found.append(
            pa.table(
                {
                    "id": pa.array(np.arange(size) + 1_000 * number),
                    "time": pa.array(times.astype(np.int64), pa.timestamp("us", "UTC")),
                    "key": pa.array([f"key-{k}" for k in random.integers(0, 9, size)]),
                }
            )
        )
    return found


def plain(value: object) -> object:
    """Return rows in a common form; Spark's rows are tuples in the session's time zone."""
    if isinstance(value, Row):
        value = value.asDict()
    if isinstance(value, dict):
        return sorted((name, plain(each)) for name, each in value.items())
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def rows(found: PerBatch, number: int) -> Counter[str]:
    return Counter(str(plain(row)) for row in found.get(number, []))


def sorted_rows(df: DataFrame) -> lc.OrderedStream:
    return lc.disordered(df, time="time").sort(recall=RECALLS)


def counts(df: DataFrame) -> lc.AggregatedStream:
    windows = lc.disordered(df, time="time").hopping("4 seconds", "2 seconds")
    waiting = windows.wait(recall=RECALLS, within="3 seconds")
    return waiting.group_by().aggregate(n=agg.count(), ids=agg.sum("id"))


def counts_of_keys(df: DataFrame) -> lc.AggregatedStream:
    windows = lc.disordered(df, time="time").tumbling("2 seconds")
    ordered = windows.wait(recall=0.9, buckets=1)
    return ordered.group_by("key").aggregate(n=agg.count(), ids=agg.sum("id"))


def matches(df: DataFrame) -> lc.MatchedStream:
    pattern = lc.event("first", "id % 3 = 0").then("second", "id % 5 = 0")
    ordered = lc.disordered(df, time="time").sort(recall=RECALLS)
    return ordered.detect(pattern, within="1 second")


STREAMS = [sorted_rows, counts, counts_of_keys, matches]


@pytest.mark.parametrize("build", STREAMS, ids=lambda build: build.__name__)
def test_both_hosts_give_the_same_rows_batch_by_batch(
    spark: SparkSession, build: Callable[[DataFrame], lc.OrderedStream]
) -> None:
    data = batches()
    built = build(spark.createDataFrame(data[0].to_pandas()))
    # The local host gets the columns that Spark computes before the sort.
    frames = [
        build(spark.createDataFrame(batch.to_pandas())).df.toArrow().replace_schema_metadata(None)
        for batch in data
    ]
    want_ready, want_late = expected([t.cast(frames[0].schema) for t in frames], built.plan)

    ready, late = stream(spark, data, build)

    for number in range(len(data) + 1):
        assert rows(ready, number) == rows(want_ready, number), f"ready in batch {number}"
        assert sorted(r.id for r in late.get(number, [])) == sorted(
            r.id for r in want_late[number]
        ), f"late in batch {number}"
    assert any(late.values()), "the stream should have late rows"


def test_each_bucket_has_waits_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    data, number_of_buckets = batches(2), 3
    plan = Plan(
        Source(TIME, ("key",)),
        ClockByRecall(recalls=tuple(RECALLS)),
        "divert",
        (Stage(("key",), (Sort(TIME),)),),
    )
    buckets = [Bucket(plan, data[0].schema) for _ in range(number_of_buckets)]
    newest, outputs = NEVER, [[] for _ in buckets]
    for batch in data:
        hashes = hash_columns([batch.column("key")], batch.num_rows) % np.uint64(number_of_buckets)
        for number, bucket in enumerate(buckets):
            bucket.newest = newest
            outputs[number].append(bucket.step(batch.filter(pa.array(hashes == number))))
        newest = max(newest, int(TIME.micros(batch).max()))

    ordered = lc.disordered(source(spark, data, f"{tmp_path}/rows"), time="time", key="key").sort(
        recall=RECALLS, buckets=number_of_buckets
    )
    started(ordered, tmp_path)

    late = lc.read(spark, f"{tmp_path}/late").collect()
    want = [row["id"] for steps in outputs for row in rows_of(steps, "late")]
    assert sorted(row.id for row in late) == sorted(want)
    reports = lc.read(spark, f"{tmp_path}/recall").orderBy("batch", "target").collect()
    for number, steps in enumerate(outputs):
        mine = [
            (row.target, row.wait, row.produced, row.missed, row.extrapolated)
            for row in reports
            if row.bucket == number
        ]
        assert mine == [
            (row["target"], row["wait"], row["produced"], row["missed"], row["extrapolated"])
            for row in rows_of(steps, "recall")
        ]
    assert len({row.wait for row in reports if row.batch == 4}) > len(RECALLS)


def started(ordered: lc.OrderedStream, directory: Path, end: str = "keep") -> None:
    outputs = {name: f"{directory}/{name}" for name in ("ready", "late", "recall")}
    query = ordered.start(
        outputs,
        checkpoint=f"{directory}/checkpoint",
        trigger={"availableNow": True},
        end=end,  # type: ignore[arg-type]
    )
    query.awaitTermination()


def written(spark: SparkSession, directory: Path, name: str) -> list[str]:
    # A stopped run ends with a micro-batch without data, in which rows may come out sooner.
    found = lc.read(spark, f"{directory}/{name}").drop("batch").collect()
    return sorted(map(str, found))


def test_stopped_and_started_again_gives_the_same(spark: SparkSession, tmp_path: Path) -> None:
    data = batches(3)
    df = source(spark, data[:3], f"{tmp_path}/rows")
    started(sorted_rows(df), tmp_path)
    for number, batch in enumerate(data[3:], 3):
        write_micro_batches(batch, f"{tmp_path}/rows", 1, first=number)
    started(sorted_rows(df), tmp_path, end="flush")

    at_once = tmp_path / "at-once"
    started(sorted_rows(source(spark, data, f"{at_once}/rows")), at_once, end="flush")

    for name in ("ready", "late", "recall"):
        assert written(spark, tmp_path, name) == written(spark, at_once, name), name
    final = lc.read(spark, f"{at_once}/ready").where("is_final").count()
    late = lc.read(spark, f"{at_once}/late").count()
    assert final + late == sum(batch.num_rows for batch in data)


def test_in_batch_each_recall_has_all_rows(spark: SparkSession) -> None:
    table = pa.concat_tables(batches(4))
    df = spark.createDataFrame(table.to_pandas())

    whole = sorted_rows(df).to_df(recall=0.6)
    assert whole.columns == df.columns
    assert [row.id for row in whole.collect()] == [
        row.id for row in lc.disordered(df, time="time").sort(wait="0 s").to_df().collect()
    ]
    both = counts(df).to_df()
    assert [name for name in both.columns if name in LEVELS] == list(LEVELS)
    assert both.where("is_final").count() == both.where("recall = 0.6").count()


def test_a_recall_works_with_all_operators_after_the_sort(spark: SparkSession) -> None:
    df = spark.createDataFrame(pa.concat_tables(batches(5)).to_pandas())
    ordered = lc.disordered(df, time="time", key="key").sort(recall=0.99)
    streams = {
        "distinct": ordered.distinct(within="1 second"),
        "lifetimes": ordered.alter(duration="1 second").group_by("key").aggregate(n=agg.count()),
        "sessions": ordered.temporal()
        .group_by("key")
        .sessions("2 seconds")
        .aggregate(n=agg.count()),
        "snapshots": lc.disordered(df, time="time")
        .lifetime("3 seconds")
        .wait(recall=0.99)
        .group_by()
        .aggregate(n=agg.count()),
    }

    for name, built in streams.items():
        assert built.to_df().count() > 0, name
        report = built.recall_df().collect()
        assert sum(row.produced for row in report) == df.count(), name
        assert sum(row.missed for row in report) == 0, name
    assert "recall 0.99, by which each bucket chooses its wait" in ordered.temporal().explain()
