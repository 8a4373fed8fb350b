"""If a stream falls silent, held rows come out although no more rows arrive."""

import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import latecomer as lc
from latecomer import agg
from latecomer.clock.policy import OneClock
from latecomer.generate.micro_batches import write_micro_batches
from latecomer.hosts.local import LocalHost
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from tests.support.batches import SECOND
from tests.support.keyed_rows import SCHEMA, TIME, batch
from tests.support.streaming import source

SECONDS_OF_PATIENCE = 600
"""Seconds until a test fails. It usually takes seconds; a busy machine may need minutes."""


def test_on_the_local_host_the_last_windows_close_after_a_silence() -> None:
    windows = Windows(5 * SECOND, 5 * SECOND)
    spec = Aggregation(TIME, windows, (SECOND,), (Summary((), (("n", agg.count()),)),))
    plan = Plan(
        Source(TIME), OneClock((SECOND,), idle=10 * SECOND), "divert", (Stage((), (spec,)),)
    )
    host = LocalHost(plan, SCHEMA)
    nothing = batch()

    host.step(batch((1, 2, "a"), (2, 4, "a")), now=0)
    told = [host.step(nothing, now=at * SECOND).ready["n"].to_pylist() for at in range(2, 44, 2)]
    late = host.step(batch((3, 3, "a"), (4, 60, "a")), now=45 * SECOND).late

    assert [n for answers in told for n in answers] == [2]
    assert late["id"].to_pylist() == [3]


def by_key(df: DataFrame) -> lc.TemporalStream:
    """Return a stream with two stages, whose clocks must both advance in the silence."""
    events = lc.disordered(df, time="time", key="key", idle="3 seconds").sort(wait="1 second")
    each = events.alter(duration="2 seconds").group_by("key").aggregate(n=agg.count())
    return each.group_by().aggregate(most=agg.max("n"))


def with_clocks(df: DataFrame) -> lc.AggregatedStream:
    events = lc.disordered(df, time="time", key="key", clock="key", idle="3 seconds")
    windows = events.tumbling("2 seconds").wait("1 second")
    return windows.group_by("key").aggregate(n=agg.count())


@pytest.mark.parametrize(("build", "expected"), [(by_key, [1, 1, 2]), (with_clocks, [1, 2])])
def test_on_spark_what_is_held_comes_out_after_a_silence(
    spark: SparkSession,
    tmp_path: Path,
    build: Callable[[DataFrame], lc.AggregatedStream | lc.TemporalStream],
    expected: list[int],
) -> None:
    rows = batch((1, 100, "a"), (2, 101, "a"), (3, 100, "b"))
    found: list[Row] = []
    query = build(source(spark, [rows], f"{tmp_path}/rows")).start(
        {"ready": lambda df, _: found.extend(df.collect()), "late": lambda *_: None},
        checkpoint=f"{tmp_path}/checkpoint",
        trigger={"processingTime": "1 second"},
    )
    try:
        patience = time.monotonic() + SECONDS_OF_PATIENCE
        while len(found) < len(expected) and query.isActive and time.monotonic() < patience:
            time.sleep(0.2)
    finally:
        query.stop()

    if error := query.exception():
        raise error
    counts = sorted(next(value for value in row if isinstance(value, int)) for row in found)
    assert counts == expected


def test_a_query_with_available_now_ends_despite_ticks(spark: SparkSession, tmp_path: Path) -> None:
    df = source(spark, [batch((1, 100, "a")), batch((2, 200, "b"))], f"{tmp_path}/rows")

    query = with_clocks(df).start(
        {"ready": f"{tmp_path}/ready", "late": lambda *_: None},
        checkpoint=f"{tmp_path}/checkpoint",
        trigger={"availableNow": True},
        end="flush",
    )

    assert not query.isActive
    assert lc.read(spark, f"{tmp_path}/ready").count() == 2


def test_buckets_that_look_for_late_rows_run_at_every_tick(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = [batch((1, 100, "a")), batch((2, 100, "a")), batch((3, 100, "a"))]
    df = source(spark, rows[:1], f"{tmp_path}/rows")
    events = lc.disordered(df, time="time", idle="1 second").tumbling("2 s").wait("1 s")
    found: dict[str, list[Row]] = {"ready": [], "late": []}
    query = (
        events.group_by()
        .aggregate(n=agg.count())
        .start(
            {
                name: lambda df, _, into=into: into.extend(df.collect())
                for name, into in found.items()
            },
            checkpoint=f"{tmp_path}/checkpoint",
        )
    )
    try:
        patience = time.monotonic() + SECONDS_OF_PATIENCE
        while not found["ready"] and time.monotonic() < patience:
            time.sleep(0.2)
        for number, more in enumerate(rows[1:], 1):
            write_micro_batches(more, f"{tmp_path}/rows", 1, first=number)
        while len(found["late"]) < 2 and query.isActive and time.monotonic() < patience:
            time.sleep(0.2)
    finally:
        query.stop()

    # The silence had closed the window before, so the rows are late in any bucket.
    assert [row.n for row in found["ready"]] == [1]
    assert sorted(row.id for row in found["late"]) == [2, 3]


def test_silence_is_not_for_states_on_the_driver(spark: SparkSession, tmp_path: Path) -> None:
    df = source(spark, [pa.table(batch((1, 100, "a")))], f"{tmp_path}/rows")
    events = lc.disordered(df, time="time", idle="3 seconds").tumbling("1 s").wait("1 s")
    stream = events.group_by().aggregate(n=agg.count())

    with pytest.raises(lc.OptionError, match="does not support this query: silence counts"):
        stream.start({"ready": "nowhere"}, checkpoint=f"{tmp_path}/c", states="driver")
