"""Aggregates on Spark: what the local host gives, and what Spark's own aggregation gives."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import latecomer as lc
from latecomer import agg
from latecomer.clock.policy import OneClock
from latecomer.hosts.local import LocalHost, Step
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import LatePolicy, Plan, Source, Stage
from tests.hosts.spark.test_query import SECOND, TIME, ids, random_batches
from tests.support.streaming import source, stream

WAITS = ["0 seconds", "2 seconds", "4 seconds"]
COUNTS = Summary(("key",), (("rows", agg.count()), ("highest", agg.max("id"))))


def on_the_local_host(
    batches: Sequence[pa.Table], windows: Windows, late: LatePolicy
) -> list[Step]:
    waits = (0, 2 * SECOND, 4 * SECOND)
    spec = Aggregation(TIME, windows, waits, (COUNTS,))
    host = LocalHost(
        Plan(Source(TIME), OneClock(waits), late, (Stage(("key",), (spec,)),)), batches[0].schema
    )
    # Spark runs one batch without data after the last one, because the clock has moved.
    return [host.step(batch) for batch in [*batches, batches[0].slice(0, 0)]]


def told(rows: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Write answers in one order, as plain values."""
    return sorted(
        (
            row["wait"],
            row["window"]["start"].timestamp(),
            row["key"],
            row["rows"],
            row["highest"],
            row["is_final"],
            row["is_changed"],
        )
        for row in rows
    )


@pytest.mark.parametrize(
    ("seed", "hop", "late"),
    [(1, 5, "divert"), (2, 2, "divert"), (3, 5, "drop"), (4, 2, "adjust")],
)
def test_streaming_gives_the_answers_of_the_local_host_batch_by_batch(
    spark: SparkSession, seed: int, hop: int, late: LatePolicy
) -> None:
    batches = random_batches(seed)
    expected = on_the_local_host(batches, Windows(5 * SECOND, hop * SECOND), late)

    def build(df: DataFrame) -> lc.AggregatedStream:
        events = lc.disordered(df, time="time").hopping("5 seconds", f"{hop} seconds")
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


def random_rows(seed: int, count: int = 3_000) -> pa.Table:
    """Columns of every type that is aggregated, with nulls."""
    random = np.random.default_rng(seed)

    def some(values: Sequence[Any] | np.ndarray, kind: pa.DataType, nulls: float = 0.1) -> pa.Array:
        return pa.array(values, kind, mask=random.random(count) < nulls)

    floats = random.choice([-1.5, 0.0, -0.0, 2.25, float("nan"), 7.5], count)
    words = [f"word {n}" for n in random.integers(0, 40, count)]
    cents = [Decimal(int(n)).scaleb(-2) for n in random.integers(-9_999, 9_999, count)]
    return pa.table(
        {
            "time": pa.array(random.integers(0, 10**8, count), pa.timestamp("us", "UTC")),
            "key": some([f"k{n}" for n in random.integers(0, 5, count)], pa.string(), 0.05),
            "other": some(random.choice([0.0, -0.0, float("nan"), 3.5], count), pa.float64()),
            "small": some(random.integers(-100, 100, count), pa.int16()),
            "large": some(random.integers(-(10**12), 10**12, count), pa.int64()),
            "real": some(random.normal(size=count), pa.float64()),
            "single": some(random.integers(-50, 50, count) / 4, pa.float32()),
            "odd": some(floats, pa.float64()),
            "money": some(cents, pa.decimal128(10, 2)),
            "word": some(words, pa.string()),
            "flag": some(random.random(count) < 0.3, pa.bool_()),
            "day": some(random.integers(0, 9_000, count).astype(np.int32), pa.date32()),
            "nothing": pa.nulls(count, pa.int64()),
        }
    )


OWN: dict[str, tuple[Any, str]] = {
    "rows": (agg.count(), "count(*)"),
    "counted": (agg.count("small"), "count(small)"),
    "flagged": (agg.count(where="flag"), "count_if(flag)"),
    "few": (agg.count(where="large > 0 AND small < 5"), "count_if(large > 0 AND small < 5)"),
    "words": (agg.count_distinct("word"), "count(DISTINCT word)"),
    "odds": (agg.count_distinct("odd"), "count(DISTINCT odd)"),
    "moneys": (agg.count_distinct("money"), "count(DISTINCT money)"),
    "sum_small": (agg.sum("small"), "sum(small)"),
    "sum_large": (agg.sum("large", where="flag"), "sum(large) FILTER (WHERE flag)"),
    "sum_real": (agg.sum("real"), "sum(real)"),
    "sum_single": (agg.sum("single"), "sum(single)"),
    "sum_money": (agg.sum("money"), "sum(money)"),
    "sum_nothing": (agg.sum("nothing"), "sum(nothing)"),
    "sum_computed": (agg.sum("small * large"), "sum(small * large)"),
    "mean_small": (agg.mean("small"), "avg(small)"),
    "mean_money": (agg.mean("money"), "avg(money)"),
    "mean_nothing": (agg.mean("nothing"), "avg(nothing)"),
    "min_odd": (agg.min("odd"), "min(odd)"),
    "max_odd": (agg.max("odd"), "max(odd)"),
    "min_word": (agg.min("word"), "min(word)"),
    "max_word": (agg.max("word", where="small > 0"), "max(word) FILTER (WHERE small > 0)"),
    "max_money": (agg.max("money"), "max(money)"),
    "max_flag": (agg.max("flag"), "max(flag)"),
    "min_day": (agg.min("day"), "min(day)"),
    "first_word": (agg.first("word"), "min_by(struct(word), time).word"),
    "last_real": (agg.last("real"), "max_by(struct(real), time).real"),
    "variance": (agg.variance("real"), "var_samp(real)"),
    "stddev": (agg.stddev("small"), "stddev_samp(small)"),
    "quantile": (agg.quantile("real", 0.9), "percentile(real, 0.9)"),
    "median": (agg.quantile("small", 0.5), "percentile(small, 0.5)"),
    "quantiles": (agg.quantile("real", [0.5, 0.9]), "percentile(real, array(0.5D, 0.9D))"),
    "top_ties": (
        agg.top_k("small", 3, ties=True),
        (
            "filter(sort_array(collect_list(small), false), each -> each >= "
            "element_at(slice(sort_array(collect_list(small), false), 1, 3), -1))"
        ),
    ),
    "top": (agg.top_k("large", 3), "slice(sort_array(collect_list(large), false), 1, 3)"),
    "all_small": (
        agg.collect("small"),
        (
            "transform(array_sort(collect_list(struct(time, small)) "
            "FILTER (WHERE small IS NOT NULL)), pair -> pair.small)"
        ),
    ),
}


def values(rows: Sequence[Row]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The results of each window and group."""
    found = {}
    for row in rows:
        fields = row.asDict()
        window, *keys = (fields.pop(name) for name in ("window", "key", "other"))
        key = tuple("NaN" if k != k else k for k in keys)  # noqa: PLR0124 - NaN is like itself here
        found[window.start, window.end, *key] = fields
    return found


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
        answers = [r for rs in ready.values() for r in rs if r.wait == timedelta(seconds=wait)]
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


def test_recall_is_told_for_each_wait(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema({"time": pa.timestamp("ms", "UTC")})
    # Of the first window's four rows, two come in time for the first wait, three for the second.
    times = [[0, 4, 12], [3], [16, 31], [4], [90], [91]]
    batches = [pa.table([[t * 1_000 for t in batch]], schema) for batch in times]
    df = source(spark, batches, f"{tmp_path}/rows")
    events = lc.disordered(df, time="time").tumbling("5 seconds")
    counts = events.wait(["0 s", "10 s", "40 s"]).group_by().aggregate(rows=agg.count())

    query = counts.start(
        {"ready": f"{tmp_path}/ready"},
        checkpoint=f"{tmp_path}/checkpoint",
        trigger={"availableNow": True},
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

    # At the start of each stretch, by definition: a join of every row with all that count then.
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
