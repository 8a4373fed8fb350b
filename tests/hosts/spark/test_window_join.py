"""Window joins on Spark give the rows of the local host, and those of a plain join."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import latecomer as lc
from latecomer.hosts.local import LocalHost, Step
from latecomer.hosts.spark.columns import arrow_schema
from tests.support.counted import counted, of_step
from tests.support.streaming import PerBatch, source

SECOND = 1_000_000
WITHIN = {"a": "1 second", "b": "0.5 seconds", "c": "2 seconds"}


def rows(seed: int, count: int = 240, steps: int = 4) -> list[pa.Table]:
    """Return the micro-batches of a stream: some rows late, some without a time or a key."""
    random = np.random.default_rng(seed)
    times = np.sort(random.integers(0, 30 * SECOND, count))
    came = times + random.choice([0, 0, 0, SECOND // 2, 3 * SECOND], count)
    order = np.argsort(came, kind="stable")
    keys = random.integers(0, 4, count)
    table = pa.table(
        {
            "t": pa.array(times, mask=random.random(count) < 0.01).cast(pa.timestamp("us", "UTC")),
            "k": pa.array(keys, mask=random.random(count) < 0.05),
            "v": random.random(count),
            "came": pa.array(came).cast(pa.timestamp("us", "UTC")),
        }
    ).take(pa.array(order))
    cuts = np.linspace(0, count, steps + 1).astype(int)
    return [table.slice(a, b - a) for a, b in pairwise(cuts)]


STREAMS = {name: rows(seed) for seed, name in enumerate("abc")}

Build = Callable[[Mapping[str, lc.DisorderedStream]], lc.JoinedStream]


def by_key(streams: Mapping[str, lc.DisorderedStream], **options: Any) -> lc.JoinedStream:  # noqa: ANN401 - whatever window_join takes
    return lc.window_join(streams, within=WITHIN, on="k", **options)


def by_condition(streams: Mapping[str, lc.DisorderedStream], **options: Any) -> lc.JoinedStream:  # noqa: ANN401 - whatever window_join takes
    return lc.window_join(
        streams, within=WITHIN, where=lambda a, b, c: a.v + b.v + c.v < 0.4, **options
    )


def disordered(df: DataFrame) -> lc.DisorderedStream:
    return lc.disordered(df, time="t", arrival="came")


def reading(
    spark: SparkSession, path: Path, batches: Mapping[str, Sequence[pa.Table]] = STREAMS
) -> dict[str, lc.DisorderedStream]:
    return {
        name: disordered(source(spark, some, f"{path}/{name}")) for name, some in batches.items()
    }


def started(joined: lc.JoinedStream, path: Path, **options: Any) -> dict[str, PerBatch]:  # noqa: ANN401 - whatever start takes
    outputs = ("ready", "late", "late_1", "late_2", "recall")
    found: dict[str, PerBatch] = {name: defaultdict(list) for name in outputs}

    def keep(name: str) -> Callable[[DataFrame, int], None]:
        def write(df: DataFrame, number: int) -> None:
            found[name][number] = df.collect()

        return write

    query = joined.start(
        {name: keep(name) for name in found},
        checkpoint=f"{path}/checkpoint",
        trigger={"availableNow": True},
        **options,
    )
    query.awaitTermination()
    return found


def on_the_local_host(joined: lc.JoinedStream, *, ends: bool = True) -> list[Step]:
    schemas = [arrow_schema(df) for df in joined.dfs]
    host = LocalHost(joined.plan, *schemas)
    steps = zip(*STREAMS.values(), strict=True)
    # Spark runs a batch without data after the last one, because the clock has advanced.
    nothing = [[schema.empty_table() for schema in schemas]] if ends else []
    return [
        host.step(*(table.cast(schema) for table, schema in zip(step, schemas, strict=True)))
        for step in [*steps, *nothing]
    ]


def everything(spark: SparkSession) -> dict[str, DataFrame]:
    return {name: spark.createDataFrame(pa.concat_tables(some)) for name, some in STREAMS.items()}


def ids(rows: Sequence[Any]) -> Counter[tuple[Any, ...]]:
    return Counter((row["time"], row["a_v"], row["b_v"], row["c_v"]) for row in rows)


@pytest.mark.parametrize("wait", [{"recall": 0.9}, {"wait": "0.7 seconds"}])
def test_streaming_gives_the_rows_of_the_local_host_batch_by_batch(
    spark: SparkSession, tmp_path: Path, wait: dict[str, Any]
) -> None:
    joined = by_key(reading(spark, tmp_path), buckets=1, period="5 seconds", **wait)

    found = started(joined, tmp_path)

    steps = on_the_local_host(joined)
    for number, step in enumerate(steps):
        assert counted(found["ready"][number]) == of_step(step.ready), f"ready in batch {number}"
        for output, late in zip(("late", "late_1", "late_2"), step.lates, strict=True):
            assert counted(found[output][number]) == of_step(late)
        assert counted(found["recall"][number]) == of_step(step.recall)
    assert sum(step.ready.num_rows for step in steps)
    assert any(row["missed"] for rows in found["recall"].values() for row in rows)


@pytest.mark.parametrize("build", [by_key, by_condition])
def test_a_wait_for_all_rows_finds_the_results_of_a_plain_join(
    spark: SparkSession, tmp_path: Path, build: Build
) -> None:
    joined = build(reading(spark, tmp_path), wait="10 seconds", buckets=3)  # type: ignore[call-arg]

    found = started(joined, tmp_path, end="flush")

    a, b, c = (
        df.selectExpr(*(f"{column} AS {name}_{column}" for column in df.columns))
        for name, df in everything(spark).items()
    )
    together = (
        a.join(b, F.col("a_k") == F.col("b_k")).join(c, F.col("a_k") == F.col("c_k"))
        if build is by_key
        else a.crossJoin(b).crossJoin(c).where("a_v + b_v + c_v < 0.4")
    )
    latest = together.withColumn("time", F.greatest("a_t", "b_t", "c_t"))
    near = latest.where(
        "a_t >= time - interval 1 second and b_t >= time - interval 500 milliseconds "
        "and c_t >= time - interval 2 seconds"
    )
    got = [row for rows in found["ready"].values() for row in rows]
    assert ids(got) == ids(near.collect())
    assert got
    # Rows without a time come out once, although some streams are in all buckets.
    for output, name in zip(("late", "late_1", "late_2"), STREAMS, strict=True):
        without = sum(table["t"].null_count for table in STREAMS[name])
        lates = [row["_reason"] for rows in found[output].values() for row in rows]
        assert lates == ["no time"] * without
    batch = build({name: disordered(df) for name, df in everything(spark).items()})
    assert ids(batch.to_df().collect()) == ids(got)
    told = batch.recall_df().collect()
    assert sum(row["produced"] for row in told) == len(got)
    assert {row["recall"] for row in told} == {1.0}


def test_a_join_continues_where_it_stopped(spark: SparkSession, tmp_path: Path) -> None:
    found: dict[str, list[Any]] = defaultdict(list)
    for upto in (2, 4):
        some = {name: tables[:upto] for name, tables in STREAMS.items()}
        joined = by_key(reading(spark, tmp_path, some), buckets=1, recall=0.9, period="5 seconds")
        for name, per_batch in started(joined, tmp_path).items():
            found[name] += [row for rows in per_batch.values() for row in rows]

    # The first run ends with a batch without data.
    schemas = [arrow_schema(df) for df in joined.dfs]
    host = LocalHost(joined.plan, *schemas)
    nothing = [schema.empty_table() for schema in schemas]
    steps = []
    for number, step in enumerate(zip(*STREAMS.values(), strict=True)):
        steps.append(
            host.step(*(table.cast(schema) for table, schema in zip(step, schemas, strict=True)))
        )
        if number % 2:
            steps.append(host.step(*nothing))
    assert counted(found["ready"]) == of_step(pa.concat_tables([step.ready for step in steps]))
    assert counted(found["recall"]) == of_step(pa.concat_tables([step.recall for step in steps]))


def test_the_progress_of_a_query_reports_its_recall(spark: SparkSession, tmp_path: Path) -> None:
    joined = by_key(reading(spark, tmp_path), recall=0.9, buckets=2, period="5 seconds")
    found: list[Any] = []

    query = joined.start(
        {
            "recall": lambda df, _: found.extend(df.collect()),
            **dict.fromkeys(("late", "late_1", "late_2"), lambda *_: None),
        },
        checkpoint=f"{tmp_path}/checkpoint",
        trigger={"availableNow": True},
    )
    query.awaitTermination()

    achieved = lc.recall(query)[0.9]
    assert achieved.produced == sum(row["produced"] for row in found)
    assert achieved.missed == sum(row["missed"] for row in found)
    assert {row["bucket"] for row in found} == {0, 1}
    assert lc.counts(query)["late"] >= 0
