"""Aggregates on Spark equal those of the local host, and those of Spark's own aggregation."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import latecomer as lc
from latecomer import agg
from latecomer.operators.windows.grid import Windows
from latecomer.plan import LatePolicy
from tests.support.batches import SECOND, ids, random_batches
from tests.support.streaming import source, stream
from tests.support.windowed import OWN, WAITS, on_the_local_host, random_rows, told, values


@pytest.mark.parametrize(
    ("seed", "hop", "late"),
    [(2, 2, "divert"), (3, 5, "drop"), (4, 2, "adjust"), (5, None, "divert")],
)
def test_streaming_gives_the_answers_of_the_local_host_batch_by_batch(
    spark: SparkSession, seed: int, hop: int | None, late: LatePolicy
) -> None:
    batches = random_batches(seed)
    windows = None if hop is None else Windows(5 * SECOND, hop * SECOND)
    expected = on_the_local_host(batches, windows, late)

    def build(df: DataFrame) -> lc.AggregatedStream:
        rows = lc.disordered(df, time="time")
        events = rows.lifetime("5 seconds")
        if hop is not None:
            events = rows.hopping("5 seconds", f"{hop} seconds")
        ordered = events.wait(WAITS, late=late, buckets=3)
        return ordered.group_by("key").aggregate(rows=agg.count(), highest=agg.max("id"))

    ready, diverted = stream(spark, batches, build)

    for number, step in enumerate(expected):
        assert told(ready.get(number, [])) == told(step.ready.to_pylist()), f"batch {number}"
        if late != "drop":
            assert ids(diverted, number) == sorted(step.late["id"].to_pylist())
    assert any(step.ready.num_rows for step in expected)
    if late == "divert":
        reasons = {row._reason for rows in diverted.values() for row in rows}
        assert reasons == {"late", "no time"}
    if late == "drop":
        assert sum(step.dropped for step in expected) > 0


def types(df: DataFrame) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in df.schema]


def test_results_equal_sparks_own_aggregation(spark: SparkSession) -> None:
    df = spark.createDataFrame(random_rows(1)).repartition(3)
    assert df.select("time").distinct().count() == df.count(), "first and last need one order"

    ours = (
        lc.disordered(df, time="time")
        .hopping("20 seconds", "10 seconds", origin="3 seconds")
        .wait("1 hour")
        .group_by("key", "other")
        .aggregate(**{name: aggregate for name, (aggregate, _) in OWN.items()})
        .to_df()
    )
    window = F.window("time", "20 seconds", "10 seconds", "3 seconds")
    own_results: list[Column] = [F.expr(sql).alias(name) for name, (_, sql) in OWN.items()]
    own = df.groupBy(window, "key", "other").agg(*own_results)

    assert types(ours) == types(own)
    got, want = values(ours.collect()), values(own.collect())
    assert got.keys() == want.keys()
    for group, results in want.items():
        for name, value in results.items():
            expected = pytest.approx(value, nan_ok=True) if isinstance(value, float) else value
            assert got[group][name] == expected, f"{name} of {group}"


def test_approximate_results_are_near_sparks_exact_ones(spark: SparkSession) -> None:
    df = spark.range(50_000).selectExpr(
        "timestamp_seconds(id % 100) AS time", "id % 20000 AS visitor", "exp(id % 997 / 200.0) AS x"
    )
    row = (
        lc.disordered(df, time="time")
        .tumbling("1 hour")
        .wait("1 hour")
        .group_by()
        .aggregate(
            visitors=agg.count_distinct("visitor", how="approximate", error=0.02),
            x=agg.quantile("x", 0.75, how="sketch", error=0.01),
        )
        .to_df()
        .collect()[0]
    )

    exact = df.agg(F.expr("percentile(x, 0.75)").alias("x")).collect()[0].x
    assert row.visitors == pytest.approx(20_000, rel=5 * 0.02)
    assert row.x == pytest.approx(exact, rel=0.02)


def test_a_stream_that_waits_long_enough_gives_sparks_own_answers(spark: SparkSession) -> None:
    rows = random_rows(2, 600)
    end = rows.slice(0, 1).set_column(0, "time", pa.array([10**10], pa.timestamp("us", "UTC")))
    batches = [*(rows.slice(start, 100) for start in range(0, 600, 100)), end]

    def build(df: DataFrame) -> lc.AggregatedStream:
        events = lc.disordered(df, time="time").tumbling("7 seconds")
        grouped = events.wait(["100 seconds", "200 seconds"]).group_by("key")
        return grouped.aggregate(n=agg.count(), top=agg.top_k("word", 2), all=agg.collect("small"))

    ready, late = stream(spark, batches, build)

    own = (
        spark.createDataFrame(rows)
        .groupBy(F.window("time", "7 seconds"), "key")
        .agg(F.count("*").alias("n"))
        .collect()
    )
    expected = sorted((r.window.start, r.key or "", r.n) for r in own)
    assert late == {}
    for wait in (100, 200):
        answers = [r for rs in ready.values() for r in rs if r.wait == f"{wait} seconds"]
        assert sorted((r.window.start, r.key or "", r.n) for r in answers) == expected


def test_one_wait_of_several_can_be_read_alone(spark: SparkSession) -> None:
    df = spark.createDataFrame(random_rows(3, 200))
    stream = lc.disordered(df, time="time").tumbling("10 seconds").wait(["1 s", "2 s"])
    counts = stream.group_by("key").aggregate(n=agg.count())

    both, one = counts.to_df(), counts.to_df(wait="2 s")

    assert both.columns == ["window", "key", "n", "wait", "is_final", "is_changed"]
    assert one.columns == ["window", "key", "n"]
    assert 2 * one.count() == both.count() > 0
    with pytest.raises(lc.OptionError, match="it has 1 second, 2 seconds"):
        counts.to_df(wait="3 s")


def test_recall_is_reported_for_each_wait(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema({"time": pa.timestamp("ms", "UTC")})
    # Two of the first window's four rows come in time for the first wait, three for the second.
    times = [[0, 4, 12], [3], [16, 31], [4], [90], [91]]
    batches = [pa.table([[t * 1_000 for t in batch]], schema) for batch in times]
    df = source(spark, batches, f"{tmp_path}/rows")
    events = lc.disordered(df, time="time").tumbling("5 seconds")
    counts = events.wait(["0 s", "10 s", "40 s"]).group_by().aggregate(rows=agg.count())

    query = counts.start(
        {"ready": f"{tmp_path}/ready", "late": lambda *_: None},
        checkpoint=f"{tmp_path}/checkpoint",
        trigger={"availableNow": True},
        states="buckets",
    )
    query.awaitTermination()

    assert lc.recall(query) == {
        timedelta(0): 5 / 7,
        timedelta(seconds=10): 6 / 7,
        timedelta(seconds=40): 1,
    }


def test_a_query_of_ones_own_in_two_parts(spark: SparkSession) -> None:
    df = spark.createDataFrame(random_rows(4, 500)).repartition(4)
    ordered = lc.disordered(df, time="time").tumbling("30 seconds").wait("1 minute")

    best = ordered.apply(
        partial=lambda rows: rows.group_by("key", "word").aggregate(n=agg.count()),
        merge=lambda parts: (
            parts.group_by("key", "word")
            .aggregate(n=agg.sum("n"))
            .group_by("key")
            .aggregate(best=agg.top_k("word", 2, by="n"))
        ),
    )

    counted = df.groupBy(F.window("time", "30 seconds"), "key", "word").agg(F.count("*").alias("n"))
    pairs: dict[Any, list[tuple[int, str]]] = {}
    for row in counted.where("word IS NOT NULL").collect():
        pairs.setdefault((row.window, row.key), []).append((-row.n, row.word))
    expected = {
        group: [(word, -n) for n, word in sorted(found)[:2]] for group, found in pairs.items()
    }
    got = {
        (row.window, row.key): [tuple(each) for each in row.best] for row in best.to_df().collect()
    }
    assert got == expected


def test_a_window_can_slide_with_time(spark: SparkSession) -> None:
    df = spark.createDataFrame(random_rows(5, 300)).select("time", "key", "small")
    events = lc.disordered(df, time="time").lifetime("10 seconds")
    answers = (
        events.wait("1 minute").group_by("key").aggregate(rows=agg.count(), high=agg.max("small"))
    )

    # By definition, at the start of each stretch: a join of each row with all rows that count then.
    df.createOrReplaceTempView("rows_that_slide")
    own = spark.sql("""
        WITH cuts AS (
            SELECT key, time AS start FROM rows_that_slide
            UNION SELECT key, time + INTERVAL 10 SECONDS FROM rows_that_slide
        )
        SELECT c.start, c.key, count(*) AS rows, max(r.small) AS high
        FROM cuts c JOIN rows_that_slide r
          ON c.key <=> r.key AND r.time <= c.start AND c.start < r.time + INTERVAL 10 SECONDS
        GROUP BY c.start, c.key
    """)
    got = {(r.window.start, r.key): (r.rows, r.high) for r in answers.to_df().collect()}
    assert got == {(r.start, r.key): (r.rows, r.high) for r in own.collect()}
    with pytest.raises(lc.OptionError, match="cannot be aggregated again"):
        answers.group_by().aggregate(n=agg.count())


def test_of_equal_times_the_row_that_arrived_first_is_the_first(spark: SparkSession) -> None:
    df = spark.range(40, numPartitions=4).selectExpr(
        "timestamp_seconds(0) AS time", "timestamp_seconds(100 - id) AS came", "id"
    )
    stream = lc.disordered(df, time="time", arrival="came").tumbling("1 hour").wait("1 hour")

    (row,) = (
        stream.group_by()
        .aggregate(first=agg.first("id"), last=agg.last("id"), all=agg.collect("id"))
        .to_df()
        .collect()
    )

    assert (row.first, row.last, row.all) == (39, 0, list(range(39, -1, -1)))
