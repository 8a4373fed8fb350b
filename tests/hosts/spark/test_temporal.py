"""Temporal streams on Spark equal those of the local host in each micro-batch."""

import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import latecomer as lc
from latecomer import agg
from latecomer.api.temporal import TemporalStream
from latecomer.hosts.local import LocalHost, Step
from latecomer.hosts.spark.columns import arrow_schema
from tests.support.counted import counted, of_step
from tests.support.streaming import PerBatch, source

SECOND = 1_000_000
Query = Callable[[lc.OrderedStream, lc.OrderedStream], TemporalStream]


def lifetimes(seed: int, name: str) -> list[pa.Table]:
    """Return rows with lifetimes, some without an end or a time, some that end too early."""
    random = np.random.default_rng(seed)
    batches = []
    for number in range(4):
        size = int(random.integers(5, 25))
        starts = random.integers(-5, 15, size) + 10 * number + 20
        ends = starts + random.integers(1, 20, size) - np.where(random.random(size) < 0.05, 30, 0)
        batches.append(
            pa.table(
                {
                    "start": _times(starts, random.random(size) < 0.05),
                    "until": _times(ends, random.random(size) < 0.15),
                    "key": pa.array([f"key-{k}" for k in random.integers(0, 4, size)], pa.string()),
                    name: pa.array(random.integers(0, 5, size), pa.int64()),
                }
            )
        )
    return batches


def _times(seconds: np.ndarray, is_null: np.ndarray | None = None) -> pa.Array:
    return pa.array(seconds * SECOND, pa.timestamp("us", "UTC"), mask=is_null)


def ordered(df: DataFrame, wait: str, **options: str) -> lc.OrderedStream:
    return lc.disordered(df, time="start", end="until", **options).sort(wait=wait, buckets=None)


QUERIES: dict[str, Query] = {
    "pairs, counted over all keys": lambda a, b: (
        a.join(b, on="key", where=lambda x, y: x.v <= y.w)
        .with_columns(more=lambda row: row.w - row.v)
        .where(lambda row: row.more < 3)
        .group_by("more")
        .aggregate(n=agg.count())
        .group_by()
        .aggregate(n=agg.sum("n"), most=agg.max("more"))
    ),
    "left join of signals": lambda a, b: a.left_join(b.until_next("key"), on="key"),
    "best of each key, stitched, without partner": lambda a, b: (
        a.temporal()
        .group_by("key")
        .aggregate(best=agg.max("v"))
        .stitch()
        .anti_join(b.clip("5 seconds"), on={"key": "key"})
    ),
    "by key, then by another": lambda a, b: (
        a.clip(b, on="key")
        .group_by("key")
        .aggregate(n=agg.count())
        .group_by("n")
        .aggregate(last=agg.max("key"))
    ),
    "a union, chopped": lambda a, b: (
        a.temporal()
        .group_by("key")
        .aggregate(n=agg.count())
        .union(b.temporal().group_by("key").aggregate(n=agg.count()))
        .chop("7 seconds")
        .shift("-3 seconds")
    ),
    "a small stream everywhere": lambda a, b: (
        a.until_next("key")
        .left_join(
            b.temporal().group_by("w").aggregate(n=agg.count()), on={"v": "w"}, broadcast=True
        )
        .group_by("key")
        .aggregate(n=agg.sum("n"))
    ),
    "a query for each key": lambda a, b: (
        a.temporal()
        .group_by("key")
        .apply(lambda rows: rows.until_next().group_by("v").aggregate(n=agg.count()))
        .full_join(b.extend("-2 seconds"), on="key")
    ),
    "sessions as they go on": lambda a, b: (
        a.session("2 seconds", "key", max_duration="5 seconds")
        .group_by("key")
        .aggregate(n=agg.count())
        .clip(b.until_next("key"), on={"n": "w"})
    ),
    "closed sessions": lambda a, b: (
        a.temporal()
        .group_by("key")
        .sessions("2 seconds", max_duration="5 seconds")
        .aggregate(n=agg.count(), best=agg.max("v"))
        .left_join(b, on="key", where=lambda x, y: x.best <= y.w)
        .stitch("key", equal=lambda x, y: x.n <= y.n)
        .group_by("key", "best", "w")
        .aggregate(n=agg.sum("n"))
    ),
}


def on_the_local_host(
    stream: TemporalStream, left: Sequence[pa.Table], right: Sequence[pa.Table]
) -> list[Step]:
    plan = stream.told()
    schemas = [arrow_schema(df) for df in stream.dfs]
    host = LocalHost(plan, *schemas)
    cast = [
        [batch.cast(schema) for batch in batches]
        for batches, schema in zip((left, right), schemas, strict=True)
    ]
    # Spark runs a batch without data after the last one, because the clock has advanced.
    ends = [schema.empty_table() for schema in schemas]
    return [host.step(*batches) for batches in [*zip(*cast, strict=True), ends]]


def streamed(
    spark: SparkSession,
    query: Query,
    left: Sequence[pa.Table],
    right: Sequence[pa.Table],
    **options: str,
) -> tuple[TemporalStream, dict[str, PerBatch]]:
    found: dict[str, PerBatch] = {name: defaultdict(list) for name in ("ready", "late", "late_1")}

    def keep(name: str) -> Callable[[DataFrame, int], None]:
        def write(df: DataFrame, number: int) -> None:
            found[name][number] = df.collect()

        return write

    with tempfile.TemporaryDirectory() as directory:
        stream = query(
            ordered(source(spark, left, f"{directory}/left"), "7 seconds", **options),
            ordered(source(spark, right, f"{directory}/right"), "4 seconds", **options),
        )
        stream.start(
            {name: keep(name) for name in found},
            checkpoint=f"{directory}/checkpoint",
            trigger={"availableNow": True},
        ).awaitTermination()
    return stream, found


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("pairs, counted over all keys", {}),
        ("by key, then by another", {}),
        ("a small stream everywhere", {}),
        ("sessions as they go on", {}),
        ("closed sessions", {}),
        ("left join of signals", {"key": "key", "clock": "key"}),
    ],
    ids=str,
)
def test_streaming_gives_the_rows_of_the_local_host_batch_by_batch(
    spark: SparkSession, name: str, options: dict[str, str]
) -> None:
    left, right = lifetimes(1, "v"), lifetimes(2, "w")

    stream, found = streamed(spark, QUERIES[name], left, right, **options)

    steps = on_the_local_host(stream, left, right)
    for number, step in enumerate(steps):
        assert counted(found["ready"][number]) == of_step(step.ready), f"ready in batch {number}"
        for output, late in zip(("late", "late_1"), step.lates, strict=True):
            rows = [row["_reason"] for row in found[output][number]]
            assert sorted(rows) == sorted(late.column("_reason").to_pylist())
    assert any(step.ready.num_rows for step in steps)
    reasons = {row["_reason"] for rows in found["late"].values() for row in rows}
    # With a clock for each key, few rows are late.
    assert reasons >= ({"no time"} if options else {"late", "no time"})


@pytest.mark.parametrize("name", QUERIES)
def test_a_batch_gives_the_whole_answer(spark: SparkSession, name: str) -> None:
    left, right = (pa.concat_tables(lifetimes(seed, name)) for seed, name in ((3, "v"), (4, "w")))
    stream = QUERIES[name](
        ordered(spark.createDataFrame(left), "0 seconds"),
        ordered(spark.createDataFrame(right), "0 seconds"),
    )

    rows = stream.to_df().collect()

    schemas = [arrow_schema(df) for df in stream.dfs]
    host = LocalHost(stream.told(), *schemas)
    steps = [host.step(left.cast(schemas[0]), right.cast(schemas[1])), host.finish()]
    assert counted(rows) == of_step(pa.concat_tables([step.ready for step in steps]))
    assert rows


def test_a_query_with_lifetimes_goes_on_where_it_stopped(
    spark: SparkSession, tmp_path: Path
) -> None:
    left, right = lifetimes(5, "v"), lifetimes(6, "w")
    query = QUERIES["pairs, counted over all keys"]
    for more in (slice(0, 2), slice(2, 4)):
        stream = query(
            ordered(source(spark, left[: more.stop], f"{tmp_path}/left"), "7 seconds"),
            ordered(source(spark, right[: more.stop], f"{tmp_path}/right"), "7 seconds"),
        )
        stream.start(
            {"ready": tmp_path / "ready", **dict.fromkeys(("late", "late_1"), lambda *_: None)},
            checkpoint=str(tmp_path / "checkpoint"),
            trigger={"availableNow": True},
        ).awaitTermination()

    # The first run ends with a batch without data, which releases the rows that are due.
    host_steps = on_the_local_host(stream, left, right)
    want = of_step(pa.concat_tables([step.ready for step in host_steps]))
    rows = lc.read(spark, tmp_path / "ready").drop("batch").collect()
    assert counted(rows) == want


Events = list[tuple[int, int | None, str, int]]
"""Start and end in seconds, key and value."""


def empty(spark: SparkSession, value: str, wait: str) -> lc.OrderedStream:
    """Return a stream with columns and no rows."""
    columns = f"start timestamp, until timestamp, key string, {value} long"
    return ordered(spark.createDataFrame([], columns), wait)


def answers(stream: TemporalStream, *steps: Sequence[Events]) -> list[tuple[int, int, int]]:
    """Run a stream on the local host; each step has the rows of all its inputs."""
    schemas = [arrow_schema(df) for df in stream.dfs]
    host = LocalHost(stream.told(), *schemas)

    def table(events: Events, schema: pa.Schema) -> pa.Table:
        columns = list(zip(*events, strict=True)) or [()] * 4
        arrays = [
            *(pa.array([t * SECOND for t in times], schema.field(0).type) for times in columns[:2]),
            pa.array(columns[2], pa.string()),
            pa.array(columns[3], pa.int64()),
        ]
        return pa.table(arrays, schema=schema)

    done = [host.step(*map(table, step, schemas)) for step in steps]
    ready = pa.concat_tables([step.ready for step in [*done, host.finish()]]).to_pylist()
    return sorted((int(r["start"].timestamp()), int(r["end"].timestamp()), r["n"]) for r in ready)


def test_a_slower_stream_holds_back_all_that_is_behind_it(spark: SparkSession) -> None:
    fast, slow = empty(spark, "v", "0 s"), empty(spark, "w", "100 s")
    stream = fast.join(slow, on="key").group_by("v").aggregate(n=agg.count())
    late_but_in_time: Events = [(260, 280, "a", 2)]

    seen = answers(
        stream,
        [[(200, 300, "a", 7)], [(210, 290, "a", 1)]],
        [[(320, 321, "z", 0)], [(320, 321, "y", 0)]],
        [[], late_but_in_time],
    )

    assert seen == [(210, 260, 1), (260, 280, 2), (280, 290, 1)]


def test_a_slower_stream_holds_back_one_that_it_comes_in_to(spark: SparkSession) -> None:
    both = empty(spark, "w", "0 s").union(empty(spark, "w", "100 s"))
    alone = empty(spark, "v", "0 s").anti_join(both, on="key")
    stream = alone.group_by().aggregate(n=agg.count())

    seen = answers(
        stream,
        [[(200, 300, "a", 7)], [(0, 1, "z", 0)], [(0, 1, "z", 0)]],
        [[(320, 321, "z", 0)], [(320, 321, "z", 0)], [(320, 321, "z", 0)]],
        [[], [], [(260, 280, "a", 2)]],
    )

    assert seen == [(200, 260, 1), (280, 300, 1)]


def test_an_asof_join_inside_apply_minds_the_group(spark: SparkSession) -> None:
    orders, prices = empty(spark, "v", "0 s"), empty(spark, "w", "0 s")
    rows: list[Sequence[Events]] = [
        [
            [(5, 6, "a", 1), (5, 6, "b", 2)],
            [(1, 2, "a", 10), (2, 3, "b", 20), (0, 1, "a", 99)],
        ]
    ]
    grouped = orders.temporal().group_by("key").apply(lambda each: each.asof_join(prices))
    plain = orders.asof_join(prices, on="key")

    found = [
        answers(stream.group_by("w").aggregate(n=agg.count()), *rows) for stream in (grouped, plain)
    ]
    assert found[0] == found[1] == [(5, 5, 1), (5, 5, 1)]


def test_what_began_just_so_long_ago_is_within_the_tolerance(spark: SparkSession) -> None:
    orders, prices = empty(spark, "v", "0 s"), empty(spark, "w", "0 s")
    stream = orders.asof_join(prices, on="key", tolerance="5 seconds")

    rows: Sequence[Events] = [
        [(6, 7, "a", 1), (17, 18, "a", 2)],
        [(1, 2, "a", 10), (11, 12, "a", 9)],
    ]
    seen = answers(stream.group_by().aggregate(n=agg.count()), rows)

    assert seen == [(6, 6, 1)]


def test_a_stage_is_keyed_only_by_what_its_rows_have(spark: SparkSession) -> None:
    left, right = empty(spark, "v", "0 s"), empty(spark, "w", "0 s")
    joined = left.join(right, on="key", broadcast=True)

    assert [s.key for s in joined.group_by("key").aggregate(n=agg.count()).plan.stages] == [
        ("key",)
    ]
    assert [s.key for s in joined.group_by("w").aggregate(n=agg.count()).plan.stages] == [
        (),
        ("w",),
    ]


def test_rows_that_may_be_null_and_rows_that_may_not_unite(spark: SparkSession) -> None:
    never = spark.range(2).selectExpr("timestamp_seconds(id) AS time", "id")
    maybe = spark.range(2).selectExpr("timestamp_seconds(id) AS time", "nullif(id, 1) AS id")
    one, other = (lc.disordered(df, time="time").sort(wait="0 s") for df in (never, maybe))

    rows = one.union(other).to_df().collect()

    assert Counter(row.id for row in rows) == Counter([0, 1, 0, None])


def test_begins_and_ends_may_be_rows_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    batches = [
        [(1, None, "a"), (1, 5, "a"), (3, None, "a"), (3, 3, "a")],
        [(2, 4, "b"), (4, None, "b"), (3, 9, "a")],
        [(20, None, "c")],
        [(6, None, "a"), (30, None, "c")],
    ]
    tables = [
        pa.table(
            {
                "start": _times(np.array([start for start, _, _ in batch])),
                "until": _times(
                    np.array([until or 0 for _, until, _ in batch]),
                    np.array([until is None for _, until, _ in batch]),
                ),
                "key": [key for _, _, key in batch],
            }
        )
        for batch in batches
    ]
    stream = lc.disordered(
        source(spark, tables, f"{tmp_path}/rows"), time="start", end="until", edges=True
    ).sort(wait="5 seconds")
    seen: dict[str, list[Row]] = {"ready": [], "late": []}

    stream.temporal().start(
        {
            "ready": lambda df, _: seen["ready"].extend(df.collect()),
            "late": lambda df, _: seen["late"].extend(df.collect()),
        },
        checkpoint=str(tmp_path / "checkpoint"),
        trigger={"availableNow": True},
    ).awaitTermination()

    ended = {(r.start.timestamp(), r.end.timestamp(), r.key) for r in seen["ready"]}
    assert ended == {(1, 5, "a"), (3, 9, "a")}
    late = {(r.start.timestamp(), r.key, r["_reason"]) for r in seen["late"]}
    assert late == {(3, "a", "ends before it begins"), (2, "b", "no begin"), (6, "a", "late")}
    assert stream.to_df().columns == ["start", "until", "key"]


def test_edges_come_at_once(spark: SparkSession, tmp_path: Path) -> None:
    seen: list[Row] = []
    rows = ordered(source(spark, lifetimes(7, "v"), f"{tmp_path}/rows"), "7 seconds")
    rows.temporal().group_by("key").aggregate(n=agg.count()).start(
        {"ready": lambda df, _: seen.extend(df.collect()), "late": lambda *_: None},
        checkpoint=str(tmp_path / "checkpoint"),
        trigger={"availableNow": True},
        edges=True,
    ).awaitTermination()

    begun = Counter((r.start, r.key, r.n) for r in seen if r.edge == "start")
    ended = Counter((r.start, r.key, r.n) for r in seen if r.edge == "end")
    assert begun
    assert ended < begun
    assert all(r.end is None for r in seen if r.edge == "start")
    assert all(r.end > r.start for r in seen if r.edge == "end")


def test_a_plan_is_explained(spark: SparkSession) -> None:
    df = spark.createDataFrame(lifetimes(1, "v")[0])
    other = spark.createDataFrame(lifetimes(1, "w")[0])
    stream = QUERIES["pairs, counted over all keys"](ordered(df, "1 minute"), ordered(other, "0 s"))

    text = stream.explain()

    assert "stage 1, by key" in text
    assert "stage 2, by more (rows are shuffled again, because the key changes)" in text
    assert "stage 3, in one bucket: there is no key" in text
    assert "keep rows where a function is true" in text
    assert "inner join on key = key with the stream below: only new rows are matched" in text
    assert "aggregate n by more at each instant: whole numbers are added and subtracted" in text
    assert text.index("stream 0") < text.index("stream 1") < text.index("stage 2")


def test_what_cannot_be_asked_is_refused(spark: SparkSession) -> None:
    df = spark.createDataFrame(lifetimes(1, "v")[0])
    events = lc.disordered(df, time="start", end="until")
    stream = events.sort(wait="1 minute")
    rate = spark.readStream.format("rate").load()
    nested = lc.disordered(df.selectExpr("*", "array(v) AS many"), time="start", end="until")
    naive = df.selectExpr("CAST(start AS timestamp_ntz) AS start", "key")

    with pytest.raises(lc.OrderError, match="got a DisorderedStream"):
        stream.join(events, on="key")  # type: ignore[arg-type]
    with pytest.raises(lc.ColumnNameError, match='both sides of the join have a column "v"'):
        stream.join(stream, on="key")
    with pytest.raises(lc.ColumnTypeError, match='"key" is of type string and "v" of type int64'):
        stream.join(stream, on={"key": "v"})
    with pytest.raises(lc.ColumnNotFoundError, match='no column "nokey"'):
        stream.until_next("nokey")
    with pytest.raises(lc.OptionError, match="a streaming DataFrame, and the other is not"):
        stream.anti_join(lc.disordered(rate, time="timestamp").sort(wait="0 s"))
    with pytest.raises(lc.OrderError, match="got a DisorderedStream"):
        stream.asof_join(events)  # type: ignore[arg-type]
    with pytest.raises(lc.OptionError, match="only columns can be aggregated"):
        stream.stitch().group_by().aggregate(n=agg.max(F.col("v") * 2))
    with pytest.raises(lc.ColumnTypeError, match="plain values only"):
        nested.sort(wait="0 s").until_next("many")
    with pytest.raises(lc.ColumnTypeError, match="timestamp_ntz"):
        stream.anti_join(lc.disordered(naive, time="start").sort(wait="0 s"), on="key")
    with pytest.raises(lc.OptionError, match="must return a stream; it returned None"):
        stream.temporal().group_by("key").apply(lambda _: None)  # type: ignore[arg-type,return-value]
    with pytest.raises(lc.OptionError, match="on= needs a stream that cuts"):
        stream.clip("1 second", on="key")
    with pytest.raises(lc.OptionError, match="one wait"):
        events.sort(wait=["1 second", "1 minute"]).clip("1 second")
    with pytest.raises(lc.OptionError, match="would move the start"):
        events.sort(wait="1 second", late="adjust").clip("1 second")
    with pytest.raises(lc.OptionError, match="must be longer than 0"):
        stream.alter(duration="0 seconds")
    with pytest.raises(lc.ColumnNameError, match='cannot be named "end"'):
        stream.temporal().group_by("key").aggregate(end=agg.count())
    with pytest.raises(lc.ColumnNameError, match='cannot be named "key"'):
        stream.temporal().group_by("key").aggregate(key=agg.count())
    with pytest.raises(lc.ColumnNameError, match='cannot be named "end"'):
        lc.disordered(df.withColumnRenamed("until", "end"), time="start").sort(wait="1 s").stitch()
    with pytest.raises(lc.OptionError, match="there is no stream 1"):
        stream.clip("1 second").late_df(1)
    with pytest.raises(lc.ColumnTypeError, match="same columns on both sides"):
        stream.union(stream.temporal().group_by("key").aggregate(n=agg.count()))
