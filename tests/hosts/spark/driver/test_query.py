"""Aggregates whose states the driver keeps: the same results as in buckets, also after a crash."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

import latecomer as lc
from latecomer import agg
from latecomer.clock.policy import OneClock
from latecomer.clock.watermark import Clock
from latecomer.hosts.spark.driver import query as on_driver
from latecomer.hosts.spark.driver.partials import partials
from latecomer.hosts.spark.driver.query import _late
from latecomer.hosts.spark.durable import outputs as directories
from latecomer.hosts.spark.sinks import Rows
from latecomer.operators import leaves
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import LatePolicy, Plan, Source, Stage
from latecomer.time import TimeColumn
from tests.support.batches import SECOND, ids, random_batches
from tests.support.streaming import source, stream
from tests.support.windowed import OWN, on_the_local_host, random_rows, told, values

WAITS = ["0 seconds", "2 seconds", "4 seconds"]
COMPUTABLE = {
    name: aggregate
    for name, (aggregate, _) in OWN.items()
    if name.startswith(("rows", "counted", "flagged", "few", "sum_", "mean_", "min_", "max_"))
    or name in ("variance", "stddev")
    if name not in ("sum_money", "mean_money")
}


def counts(df: DataFrame, late: LatePolicy = "divert", hop: int = 5) -> lc.AggregatedStream:
    events = lc.disordered(df, time="time").hopping("5 seconds", f"{hop} seconds")
    ordered = events.wait(WAITS, late=late)
    return ordered.group_by("key").aggregate(rows=agg.count(), highest=agg.max("id"))


@pytest.mark.parametrize(("seed", "hop", "late"), [(1, 5, "divert"), (2, 2, "drop")])
def test_each_micro_batch_gives_what_the_local_host_gives_by_the_next(
    spark: SparkSession, seed: int, hop: int, late: LatePolicy
) -> None:
    batches = random_batches(seed)
    steps = on_the_local_host(batches, Windows(5 * SECOND, hop * SECOND), late)

    ready, diverted = stream(spark, batches, lambda df: counts(df, late, hop), states="driver")

    # The local host closes windows at the beginning of the next batch.
    for number, step in enumerate(steps[1:]):
        assert told(ready.get(number, [])) == told(step.ready.to_pylist()), f"batch {number}"
    for number, step in enumerate(steps):
        assert ids(diverted, number) == sorted(step.late["id"].to_pylist())
    assert any(step.ready.num_rows for step in steps)
    assert sum(step.dropped if late == "drop" else step.late.num_rows for step in steps) > 0


def test_spark_makes_the_same_states(spark: SparkSession) -> None:
    rows = random_rows(7, 900)
    end = rows.slice(0, 1).set_column(0, "time", pa.array([10**10], pa.timestamp("us", "UTC")))
    batches = [*(rows.slice(start, 300) for start in range(0, 900, 300)), end]

    def build(df: DataFrame) -> lc.AggregatedStream:
        events = lc.disordered(df, time="time").hopping("20 s", "10 s", origin="3 s")
        return events.wait("100 s").group_by("key", "other").aggregate(**COMPUTABLE)

    there, _ = stream(spark, batches, build, states="driver")
    here, _ = stream(spark, batches, build)

    got, want = (values([r for part in found.values() for r in part]) for found in (there, here))
    assert got.keys() == want.keys() != set()
    for group, results in want.items():
        for name, value in results.items():
            expected = pytest.approx(value, nan_ok=True) if isinstance(value, float) else value
            assert got[group][name] == expected, f"{name} of {group}"


def run(
    stream: lc.AggregatedStream, tmp_path: Path, sink: str | Callable[[DataFrame, int], None]
) -> StreamingQuery:
    query = stream.start(
        {"ready": sink, "late": f"{tmp_path}/late"},
        checkpoint=f"{tmp_path}/checkpoint",
        trigger={"availableNow": True},
        states="driver",
    )
    query.awaitTermination()
    return query


def test_nothing_is_lost_or_doubled_by_crashes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = random_batches(5)
    steps = on_the_local_host(batches, Windows(5 * SECOND, 5 * SECOND), "divert")
    df = source(spark, batches, f"{tmp_path}/rows")
    write = directories.write

    def crashing(rows: Rows, path: str, number: int, *others: object) -> None:
        write(rows, path, number, *others)  # type: ignore[arg-type]
        if number == 3:
            raise RuntimeError("the machine stops")

    with monkeypatch.context() as patch:
        patch.setattr(directories, "write", crashing)
        with pytest.raises(StreamingQueryException, match="the machine stops"):
            run(counts(df), tmp_path, f"{tmp_path}/ready")
    run(counts(df), tmp_path, f"{tmp_path}/ready")
    # The states of the last micro-batch are written, but Spark has not committed it.
    last = len(batches) - 1
    for path in (tmp_path / "checkpoint" / "commits").glob(f"*{last}*"):
        path.unlink()
    run(counts(df), tmp_path, f"{tmp_path}/ready")

    ready = spark.read.parquet(f"{tmp_path}/ready").drop("batch").collect()
    late = spark.read.parquet(f"{tmp_path}/late").collect()
    assert told(ready) == told([row for step in steps for row in step.ready.to_pylist()])
    assert sorted(r.id for r in late) == sorted(n for s in steps for n in s.late["id"].to_pylist())


@pytest.mark.parametrize("ahead", [None, "auto"])
def test_micro_batches_run_the_code_that_was_generated_for_the_first_ones(
    spark: SparkSession, tmp_path: Path, ahead: Literal["auto"] | None
) -> None:
    assert spark._jvm is not None
    metrics = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics
    compiled: list[int] = []
    schema = pa.schema({"id": pa.int64(), "time": pa.timestamp("us", "UTC"), "key": pa.string()})
    # Each micro-batch but the first has a late row, and closes windows.
    batches = [
        pa.table([[n, -n], [100 * n * SECOND, (100 * n - 150) * SECOND], ["a", "a"]], schema)
        for n in range(1, 8)
    ]

    def count(df: DataFrame, _number: int) -> None:
        df.collect()
        compiled.append(metrics.METRIC_COMPILATION_TIME().getCount())

    events = lc.disordered(source(spark, batches, f"{tmp_path}/rows"), time="time", ahead=ahead)
    windows = events.tumbling("5 seconds").wait(WAITS).group_by("key").aggregate(rows=agg.count())
    windows.start(
        {"ready": f"{tmp_path}/ready", "late": count},
        checkpoint=f"{tmp_path}/checkpoint",
        trigger={"availableNow": True},
        states="driver",
    ).awaitTermination()

    assert len(compiled) == 6
    assert compiled[-1] == compiled[2]


def test_a_micro_batch_that_is_run_again_sees_the_wall_clock_of_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    df = source(spark, random_batches(1)[:1], f"{tmp_path}/rows")
    stamped = df.withColumn("stamp", F.unix_micros(F.current_timestamp()))
    seen: list[tuple[object, object]] = []

    def watched(rows: DataFrame, *others: object) -> DataFrame:
        seen.append((others[-1], rows.collect()[0].stamp))
        if len(seen) == 1:
            raise RuntimeError("the machine stops")
        return partials(rows, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(on_driver, "partials", watched)
    with pytest.raises(StreamingQueryException, match="the machine stops"):
        run(counts(stamped), tmp_path, f"{tmp_path}/ready")
    run(counts(stamped), tmp_path, f"{tmp_path}/ready")

    assert len(seen) == 2
    assert {clock for clocks in seen for clock in clocks} == {seen[0][0]}


def test_the_last_two_states_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    batches = random_batches(6)
    run(counts(source(spark, batches, f"{tmp_path}/rows")), tmp_path, f"{tmp_path}/ready")

    kept = {path.name for path in (tmp_path / "checkpoint" / "latecomer" / "states").iterdir()}

    assert {name[:7] for name in kept if name.startswith("batch")} == {"batch-3", "batch-4"}
    assert len(kept) < 8


def test_all_rows_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema({"time": pa.timestamp("ms", "UTC")})
    far = 253_402_300_799
    times = [[0, 4, far, 12], [3], [16, 31], [4], [90], [91, 2, None]]
    batches = [
        pa.table([[t if t is None else t * 1_000 for t in batch]], schema) for batch in times
    ]
    df = source(spark, batches, f"{tmp_path}/rows")
    events = lc.disordered(df, time="time").tumbling("5 seconds")
    rows = events.wait(["0 s", "10 s", "40 s"]).group_by().aggregate(rows=agg.count())

    query = run(rows, tmp_path, f"{tmp_path}/ready")

    assert lc.recall(query) == {
        timedelta(0): 5 / 7,
        timedelta(seconds=10): 6 / 7,
        timedelta(seconds=40): 1,
    }
    ready = spark.read.parquet(f"{tmp_path}/ready").count()
    # The row of the year 9999 has closed no window.
    assert lc.counts(query) == {"ready": ready, "late": 3, "dropped": 0, "ahead": 1}


def test_time_begins_before_1970(spark: SparkSession) -> None:
    times = [[-100, 0], [-99]]
    batches = [
        pa.table(
            {
                "id": pa.array(part, pa.int64()),
                "time": pa.array([t * SECOND for t in part]).cast(pa.timestamp("us", "UTC")),
                "key": ["a"] * len(part),
            }
        )
        for part in times
    ]

    _, late = stream(spark, batches, counts, states="driver")

    assert ids(late, 1) == [-99]


def test_late_rows_can_end_the_query(spark: SparkSession) -> None:
    with pytest.raises(StreamingQueryException, match="behind the watermark"):
        stream(
            spark, random_batches(1, nulls=False), lambda df: counts(df, "raise"), states="driver"
        )


def test_late_rows_that_must_not_be_shown_are_refused_without_them() -> None:
    summary = Summary((), (("n", agg.count()),))
    windows = Aggregation(TimeColumn("time", "us"), Windows(10, 10), (0,), (summary,))
    asked = Source(windows.time, redact=True)
    plan = Plan(asked, OneClock((0,)), "raise", (Stage((), (windows,)),))
    for time in (3, None):
        rows = pa.table({"time": pa.array([time], pa.int64()), "text": ["secret"]})
        with pytest.raises(lc.LateRowError, match="withheld") as caught:
            [*_late(plan, Clock(20, 15), iter(rows.to_batches()))]
        assert "secret" not in str(caught.value)


def test_a_driver_that_holds_more_than_its_limit_is_stopped(spark: SparkSession) -> None:
    def limited(df: DataFrame) -> lc.AggregatedStream:
        events = lc.disordered(df, time="time", held_limit=2).tumbling("1 second")
        return events.wait("1 hour").group_by("key").aggregate(rows=agg.count())

    told = (
        r"the driver holds \d+ rows or states; held_limit allows 2.\nHint: use states=\"buckets\""
    )
    with pytest.raises(lc.HeldLimitError, match=told):
        stream(spark, random_batches(1, nulls=False)[:1], limited, states="driver")


def test_windows_that_close_within_a_micro_batch_are_not_held(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A leaf is held until its last window closes.
    monkeypatch.setattr(leaves, "LEAF_ROWS", 2)

    def limited(df: DataFrame) -> lc.AggregatedStream:
        events = lc.disordered(df, time="time", held_limit=2).tumbling("1 second")
        return events.wait("0 seconds").aggregate(rows=agg.count())

    # Ten windows are open in the middle of the micro-batch, and one is after it.
    times = pa.array([second * SECOND for second in range(10)], pa.timestamp("us", "UTC"))
    rows = pa.table({"id": range(10), "time": times, "key": ["a"] * 10})

    ready, _ = stream(spark, [rows], limited, states="driver")

    assert [len(ready[number]) for number in sorted(ready)] == [9]


def test_a_checkpoint_of_another_kind_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    df = source(spark, random_batches(3)[:1], f"{tmp_path}/rows")
    plain = df.writeStream.format("noop").option("checkpointLocation", f"{tmp_path}/checkpoint")
    plain.trigger(availableNow=True).start().awaitTermination()
    more = source(spark, random_batches(3), f"{tmp_path}/rows")

    with pytest.raises(StreamingQueryException, match="no states of micro-batch 0"):
        run(counts(more), tmp_path, f"{tmp_path}/ready")


def events(df: DataFrame) -> lc.DisorderedStream:
    return lc.disordered(df, time="time")


REFUSED: Sequence[tuple[str, Callable[[DataFrame], lc.AggregatedStream]]] = [
    (
        'Spark cannot add up the state of "ids"',
        lambda df: (
            events(df)
            .tumbling("1 s")
            .wait("1 s")
            .group_by()
            .aggregate(ids=agg.count_distinct("id"))
        ),
    ),
    (
        "windows have a time zone",
        lambda df: (
            events(df)
            .tumbling("1 day", zone="Europe/Berlin")
            .wait("1 s")
            .group_by()
            .aggregate(n=agg.count())
        ),
    ),
    (
        "rows have an end",
        lambda df: (
            lc.disordered(df.selectExpr("*", "time AS until"), time="time", end="until")
            .tumbling("1 s")
            .wait("1 s")
            .group_by()
            .aggregate(n=agg.count())
        ),
    ),
    (
        'compared with "id", which is not a timestamp',
        lambda df: (
            lc.disordered(df, time="time", arrival="id", unit="s", ahead="1 hour")
            .tumbling("1 s")
            .wait("1 s")
            .group_by()
            .aggregate(n=agg.count())
        ),
    ),
    (
        "it is not a plain aggregation over windows",
        lambda df: events(df).lifetime("1 s").wait("1 s").group_by().aggregate(n=agg.count()),
    ),
    ("moves late rows", lambda df: counts(df, "adjust")),
    (
        'time column "id" is not a timestamp',
        lambda df: (
            lc.disordered(df, time="id", unit="s")
            .tumbling("1 s")
            .wait("1 s")
            .group_by()
            .aggregate(n=agg.count())
        ),
    ),
]


@pytest.mark.parametrize(("why", "build"), REFUSED, ids=[why for why, _ in REFUSED])
def test_what_spark_cannot_add_up_is_refused(
    spark: SparkSession, why: str, build: Callable[[DataFrame], lc.AggregatedStream]
) -> None:
    with pytest.raises(lc.OptionError, match=why):
        stream(spark, random_batches(1)[:1], build, states="driver")


def test_a_sum_that_does_not_fit_is_an_error_whatever_spark_is_set_to(
    spark: SparkSession,
) -> None:
    def sums(df: DataFrame) -> lc.AggregatedStream:
        windows = events(df.selectExpr("*", "9223372036854775807 AS much")).tumbling("1 hour")
        return windows.wait("1 s").group_by().aggregate(sum=agg.sum("much"))

    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        with pytest.raises(StreamingQueryException, match='sum of column "much" does not fit'):
            stream(spark, random_batches(1)[:1], sums, states="driver")
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "true")


def test_states_are_in_buckets_or_on_the_driver(spark: SparkSession) -> None:
    with pytest.raises(lc.OptionError, match="got 'heaven'"):
        stream(spark, random_batches(1)[:1], counts, states="heaven")
