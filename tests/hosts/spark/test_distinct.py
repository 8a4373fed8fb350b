"""`distinct` on Spark equals that on the local host, and refuses what it cannot compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import latecomer as lc
from latecomer import agg
from latecomer.clock.policy import OneClock
from latecomer.operators.distinct import Distinct
from latecomer.operators.sort import Sort
from latecomer.plan import Plan, Source, Stage
from tests.support.batches import SECOND, TIME, expected, random_batches
from tests.support.streaming import stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def test_streaming_gives_the_rows_of_the_local_host_batch_by_batch(spark: SparkSession) -> None:
    batches = random_batches(6)
    spec = Distinct(TIME, ("key",), 8 * SECOND, ("key",))
    plan = Plan(
        Source(TIME, ("key",)),
        OneClock((3 * SECOND,)),
        "divert",
        (Stage(("key",), (Sort(TIME), spec)),),
    )
    ready, late = expected(batches, plan)

    def build(df: DataFrame) -> lc.OrderedStream:
        ordered = lc.disordered(df, time="time", key="key").sort(wait="3 seconds", buckets=3)
        return ordered.distinct(within="8 seconds")

    got, got_late = stream(spark, batches, build)

    assert sum(map(len, ready.values())) > 20
    for number in ready:
        assert sorted(r.id for r in got.get(number, [])) == sorted(r.id for r in ready[number])
        assert sorted(r.id for r in got_late.get(number, [])) == sorted(r.id for r in late[number])


def test_in_batch_rows_are_compared_by_key_and_columns(spark: SparkSession) -> None:
    df = spark.sql("""
        SELECT timestamp_seconds(time) AS time, key, page, id FROM VALUES
          (0, 'a', 'x', 1), (3, 'a', 'y', 2), (4, 'a', 'x', 3), (10, 'a', 'x', 4), (4, 'b', 'x', 5)
        AS t(time, key, page, id)
    """)
    ordered = lc.disordered(df, time="time", key="key").sort(wait="1 minute")

    by_page = ordered.distinct("page", within="10 seconds").to_df()
    by_key = ordered.distinct(within="10 seconds").to_df()

    assert by_page.schema == df.schema
    assert sorted(row.id for row in by_page.collect()) == [1, 2, 4, 5]
    assert sorted(row.id for row in by_key.collect()) == [1, 4, 5]
    in_order = df.coalesce(1).sortWithinPartitions("time")
    presorted = lc.disordered(in_order, time="time", key="key").sort(presorted=True)
    again = presorted.distinct(within="10 seconds").distinct("page", within="20 seconds").to_df()
    assert sorted(row.id for row in again.collect()) == [1, 5]


def test_of_equal_times_the_row_that_arrived_first_is_kept(spark: SparkSession) -> None:
    df = spark.range(40, numPartitions=4).selectExpr(
        "timestamp_seconds(0) AS time", "timestamp_seconds(100 - id) AS came", "id % 2 AS odd", "id"
    )
    ordered = lc.disordered(df, time="time", arrival="came").sort(wait="1 hour")

    kept = ordered.distinct("odd", within="1 second").to_df().collect()

    assert sorted(row.id for row in kept) == [38, 39]


def test_lifetimes_come_from_the_rows_that_are_kept_in_their_bucket(spark: SparkSession) -> None:
    df = spark.range(60).selectExpr(
        "timestamp_seconds(id % 3) AS time", "id % 20 AS key", "id % 2 AS shop"
    )
    ordered = lc.disordered(df, time="time", key="key").sort(wait="1 hour", buckets=4)
    kept = ordered.distinct(within="1 minute")

    counts = kept.alter(duration="1 hour").group_by("shop").aggregate(n=agg.count())

    assert len(kept.to_df().collect()) == 20
    assert max(row.n for row in counts.to_df().collect()) == 10
    assert "distinct by key within 1 minute" in counts.explain()


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda s: s.sort(wait="1 s").distinct(within="1 s"), lc.OptionError, "has no key"),
        (
            lambda s: s.sort(wait="1 s").distinct("pgae", within="1 s"),
            lc.ColumnNotFoundError,
            'no column "pgae"; the stream has "time", "page"',
        ),
        (
            lambda s: s.sort(wait="1 s").distinct("list", within="1 s"),
            lc.ColumnTypeError,
            'column "list" is of type list',
        ),
        (
            lambda s: s.sort(wait="1 s").distinct("page", within="0 s"),
            lc.OptionError,
            "within must be longer than 0",
        ),
        (
            lambda s: s.sort(wait="1 s").distinct("page", within="soon"),
            lc.DurationError,
            "within",
        ),
        (
            lambda s: s.sort(wait=["1 s", "2 s"]).distinct("page", within="1 s"),
            lc.OptionError,
            "several waits",
        ),
        (
            lambda s: s.tumbling("1 s").wait("1 s").distinct("page", within="1 s"),
            lc.StepError,
            "WindowedStream has no distinct",
        ),
    ],
)
def test_columns_that_cannot_be_compared_are_refused(
    spark: SparkSession,
    build: object,
    error: type[Exception],
    message: str,
) -> None:
    df = spark.sql("SELECT timestamp_seconds(1) AS time, 'a' AS page, array(1) AS list")

    with pytest.raises(error, match=message):
        build(lc.disordered(df, time="time"))  # type: ignore[operator]


def test_a_pattern_behind_it_sees_rows_of_all_keys_in_order(spark: SparkSession) -> None:
    df = spark.range(60).selectExpr(
        "timestamp_seconds(id) AS time", "id", "id % 7 AS key", "'one' AS all"
    )
    ordered = lc.disordered(df.repartition(3), time="time", key="key").sort(wait="1 s", buckets=3)

    pattern = lc.event("x").then("y")
    pairs = ordered.distinct(within="2 s").detect(
        pattern, within="1 s", by="all", contiguity="strict"
    )

    got = sorted((row.x.id, row.y.id) for row in pairs.to_df().collect())
    assert got == [(number, number + 1) for number in range(59)]
