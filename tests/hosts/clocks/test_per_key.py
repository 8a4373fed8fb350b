"""A clock for each key: every key gets the results of a stream of its own."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

import latecomer as lc
from latecomer import agg
from latecomer.clock.policy import ClockPerKey, OneClock
from latecomer.clock.watermark import Clock
from latecomer.hosts.local import LocalHost, MemoryChunks, Step
from latecomer.hosts.stage import RunningStage
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.base import Operator
from latecomer.operators.distinct import Distinct
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.alter import Alter
from latecomer.operators.temporal.binary import Binary, On
from latecomer.operators.temporal.clip import ClipBy
from latecomer.operators.temporal.join import Join
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.operators.temporal.whole import Whole
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import LatePolicy, Plan, Source, Stage, placement
from latecomer.time import NEVER
from tests.support.batches import SECOND, ids, random_batches
from tests.support.keyed_rows import SCHEMA, TIME, batch
from tests.support.streaming import stream

KEY = ("key",)
COUNTS = Aggregation(
    TIME, Windows(5 * SECOND, 5 * SECOND), (2 * SECOND,), (Summary(KEY, (("n", agg.count()),)),)
)
OPERATORS: dict[str, tuple[Operator, ...]] = {
    "sort": (Sort(TIME),),
    "windows": (COUNTS,),
    "distinct": (Sort(TIME), Distinct(TIME, KEY, SECOND, KEY)),
    "operators for each key": (Sort(TIME), Sort(TIME)),
}


def plan(
    *operators: Operator,
    clock: tuple[str, ...] = KEY,
    idle: int | None = None,
    late: LatePolicy = "divert",
) -> Plan:
    waits = (2 * SECOND,)
    policy = ClockPerKey(waits, idle, clock) if clock else OneClock(waits, idle)
    return Plan(Source(TIME, KEY), policy, late, (Stage(KEY, operators),))


def seen(steps: Sequence[Step], key: str | None) -> tuple[list[Any], list[Any]]:
    """Return the ready and the late rows of a key."""
    ready = [row for step in steps for row in step.ready.to_pylist() if row["key"] == key]
    late = [row["id"] for step in steps for row in step.late.to_pylist() if row["key"] == key]
    return ready, late


rows = st.tuples(
    st.integers(0, 1_000), st.integers(-20, 40) | st.none(), st.sampled_from(["a", "b", None])
)
batches = st.lists(st.lists(rows, max_size=5), max_size=6)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("idle", [None, 3 * SECOND])
@given(parts=batches, pause=st.integers(0, 2))
def test_a_key_gets_the_results_of_a_stream_of_its_own(
    name: str, idle: int | None, parts: list[list[tuple[int, int | None, str | None]]], pause: int
) -> None:
    def steps(host: LocalHost, of: tuple[str | None, ...]) -> list[Step]:
        """Run the rows of some keys, with ticks without rows after each micro-batch."""
        found = []
        for at, part in enumerate(parts):
            for tick in range(1 + 3 * pause):
                rows = [] if tick else [row for row in part if row[2] in of]
                now = (at * (1 + 3 * pause) + tick) * SECOND
                found.append(host.step(batch(*rows), now=now))
        return [*found, host.finish()]

    keys = ("a", "b", None)
    together = steps(LocalHost(plan(*OPERATORS[name], idle=idle), SCHEMA), keys)

    for key in keys:
        # Without `idle`, a stream with one key needs no clock for each key.
        own = plan(*OPERATORS[name], clock=() if idle is None else KEY, idle=idle)
        assert seen(together, key) == seen(steps(LocalHost(own, SCHEMA), (key,)), key)


JOINS: dict[str, Binary] = {
    "pairs": Join(On(KEY, KEY), "full"),
    "cut": ClipBy(On(KEY, KEY)),
}


def met(name: str, clock: tuple[str, ...] = KEY, idle: int | None = None) -> Plan:
    """Return a join of two streams with the same rows; the second has a longer wait."""
    theirs = theirs_of([]).schema
    right = plan(Sort(TIME), Lifetimes(TIME), Alter(4 * SECOND), clock=clock, idle=idle)
    policy = replace(right.clock, waits=(5 * SECOND,))
    right = replace(right, clock=policy, source=replace(right.source, rows=theirs))
    left = plan(Sort(TIME), Lifetimes(TIME), Alter(9 * SECOND), clock=clock, idle=idle)
    joined = placement.meet(left, JOINS[name], right, theirs)
    joined = placement.then(joined, Whole(pa.timestamp("us", "UTC")))
    return replace(joined, source=replace(joined.source, rows=SCHEMA))


def theirs_of(rows: list[tuple[int, int | None, str | None]]) -> pa.Table:
    return batch(*rows).rename_columns(["theirs", "time", "key"])


@pytest.mark.parametrize("name", JOINS)
@given(parts=st.lists(st.tuples(*[st.lists(rows, max_size=4)] * 2), max_size=5))
def test_keys_of_joined_streams_get_the_results_of_streams_of_their_own(
    name: str, parts: list[tuple[list[Any], list[Any]]]
) -> None:
    def steps(host: LocalHost, of: tuple[str | None, ...]) -> list[Step]:
        found = []
        for one, other in parts:
            mine, theirs = ([row for row in some if row[2] in of] for some in (one, other))
            found.append(host.step(batch(*mine), theirs_of(theirs)))
        return [*found, host.finish()]

    def told(found: list[Step], key: str | None) -> list[Any]:
        ready, late = seen(found, key)
        behind = [r["theirs"] for s in found for r in s.lates[1].to_pylist() if r["key"] == key]
        return [sorted(map(repr, ready)), sorted(late), sorted(behind)]

    def host(clock: tuple[str, ...]) -> LocalHost:
        spec = met(name, clock)
        return LocalHost(spec, SCHEMA, theirs_of([]).schema)

    # A null key joins no row.
    keys = ("a", "b")
    together = steps(host(KEY), keys)
    for key in keys:
        assert told(together, key) == told(steps(host(()), (key,)), key)


@pytest.mark.parametrize("idle", [None, 3 * SECOND])
@given(parts=st.lists(st.tuples(*[st.lists(rows, max_size=4)] * 2), max_size=5))
def test_a_restart_changes_nothing_for_joined_streams(
    idle: int | None, parts: list[tuple[list[Any], list[Any]]]
) -> None:
    spec = met("pairs", idle=idle)

    def run(*, restarts: bool) -> list[Any]:
        chunks = defaultdict[int, MemoryChunks](MemoryChunks).__getitem__
        stage, out, elapsed = RunningStage(spec, 0, SCHEMA, chunks), [], 0
        for part in parts:
            mine, theirs = ([row for row in some if row[1] is not None] for some in part)
            clock = Clock.at(NEVER, spec.clock.wait, elapsed)
            given_rows = [[batch(*mine)], [theirs_of(theirs)]]
            out.append([(o.name, o.batch) for o in stage.step(clock, given_rows)])
            elapsed += 2 * SECOND
            if restarts:
                stage = RunningStage(spec, 0, None, chunks, stage.save())
        return out

    assert run(restarts=True) == run(restarts=False)


def test_the_clock_of_a_key_is_that_of_the_slower_stream_and_goes_on_without_it() -> None:
    host = LocalHost(met("pairs", idle=3 * SECOND), SCHEMA, theirs_of([]).schema)

    first = host.step(batch((1, 10, "a"), (2, 40, "a")), theirs_of([(3, 11, "b")]), now=0)
    assert first.ready.num_rows == 0
    second = host.step(batch(), theirs_of([(4, 12, "a"), (5, 40, "a")]), now=SECOND)
    assert {(row["id"], row["theirs"]) for row in second.ready.to_pylist()} >= {(1, None), (1, 4)}
    # The first stream has never had a row of "b".
    later = [host.step(batch(), theirs_of([]), now=now * SECOND) for now in range(2, 30)]
    assert (None, 3) in {(r["id"], r["theirs"]) for s in later for r in s.ready.to_pylist()}


@pytest.mark.parametrize("name", OPERATORS)
@given(parts=batches, pauses=st.lists(st.integers(0, 60), min_size=6, max_size=6))
def test_a_backlog_after_an_outage_is_late_only_for_windows_that_were_answered(
    name: str, parts: list[list[tuple[int, int | None, str | None]]], pauses: list[int]
) -> None:
    host, now = LocalHost(plan(*OPERATORS[name], idle=3 * SECOND), SCHEMA), 0
    # All rows come in order of time, so only a silence can make one late.
    given_rows = [(row[1], row[2]) for part in parts for row in part if row[1] is not None]
    in_order = sorted(given_rows, key=itemgetter(0))
    rows = [(number, time, key) for number, (time, key) in enumerate(in_order)]
    answered: dict[str | None, int] = {}
    for part, pause in zip(parts, pauses, strict=False):
        some, rows = rows[: len(part)], rows[len(part) :]
        late = set(host.step(batch(*some), now=now).late["id"].to_pylist())
        # No window here is longer than five seconds.
        assert all(time < answered[key] for number, time, key in some if number in late)
        answered |= {key: time + 5 for _, time, key in some}
        for _ in range(pause):
            now += SECOND
            host.step(batch(), now=now)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("idle", [None, 3 * SECOND])
@given(parts=batches)
def test_a_restart_changes_nothing(
    name: str, idle: int | None, parts: list[list[tuple[int, int | None, str | None]]]
) -> None:
    spec = plan(*OPERATORS[name], idle=idle)

    def run(*, restarts: bool) -> list[Any]:
        chunks = defaultdict[int, MemoryChunks](MemoryChunks).__getitem__
        stage, out, elapsed = RunningStage(spec, 0, SCHEMA, chunks), [], 0
        for part in parts:
            given_rows = batch(*(row for row in part if row[1] is not None))
            clock = Clock.at(NEVER, spec.clock.wait, elapsed)
            out.append([(o.name, o.batch) for o in stage.step(clock, [[given_rows]])])
            elapsed += 2 * SECOND
            if restarts:
                stage = RunningStage(spec, 0, None, chunks, stage.save())
        return out

    assert run(restarts=True) == run(restarts=False)


def test_due_rows_come_out_at_once_and_a_fast_clock_makes_no_other_key_late() -> None:
    host = LocalHost(plan(Sort(TIME)), SCHEMA)

    first = host.step(batch((1, 10, "a"), (2, 10**6, "fast"), (3, 20, "a")))
    second = host.step(batch((4, 19, "a"), (5, 11, "a"), (6, 0, "b"), (7, 5, "fast")))

    assert first.ready["id"].to_pylist() == [1]
    assert second.ready["id"].to_pylist() == []
    assert sorted(second.late["id"].to_pylist()) == [5, 7]
    assert sorted(host.finish().ready["id"].to_pylist()) == [2, 3, 4, 6]


def test_held_rows_of_keys_that_were_not_loaded_are_counted_too() -> None:
    chunks: dict[int, MemoryChunks] = defaultdict(MemoryChunks)
    asked = plan(*OPERATORS["operators for each key"])
    stage = RunningStage(asked, 0, SCHEMA, chunks.__getitem__)
    list(stage.step(Clock(0, NEVER), [[batch((1, 10, "a"), (2, 10, "b"))]]))
    again = RunningStage(asked, 0, SCHEMA, chunks.__getitem__, stage.save())
    list(again.step(Clock(0, NEVER), [[batch((3, 10, "a"))]]))

    assert stage.held == 2
    assert again.held == 3


@pytest.mark.parametrize("name", OPERATORS)
def test_nan_is_one_key(name: str) -> None:
    schema = SCHEMA.set(2, pa.field("key", pa.float64()))
    chunks = defaultdict[int, MemoryChunks](MemoryChunks).__getitem__
    stage = RunningStage(plan(*OPERATORS[name]), 0, schema, chunks)
    late = []

    for part in (batch((1, 10, None)), batch((2, 20, None)), batch((3, 9, None))):
        nan = pa.array([float("nan")])
        outputs = [*stage.step(Clock(NEVER, NEVER), [[part.set_column(2, schema.field(2), nan)]])]
        late += [id_ for o in outputs if o.name == "late" for id_ in o.batch["id"].to_pylist()]
        stage = RunningStage(plan(*OPERATORS[name]), 0, None, chunks, stage.save())

    assert late == [3]


def test_the_windows_of_a_silent_key_close_and_a_fast_key_makes_no_other_late() -> None:
    host = LocalHost(plan(COUNTS, idle=10 * SECOND), SCHEMA)
    host.step(batch((1, 1, "silent"), (2, 10**6, "fast"), (3, 1, "loud")), now=0)
    ticks = [
        host.step(batch((10 + at, 1 + at, "loud")), now=at * SECOND).ready for at in range(1, 12)
    ]
    after = host.step(batch((6, 2, "silent"), (7, 5, "silent"), (8, 12, "loud")), now=12 * SECOND)

    # Counted in windows of five seconds; silent for ten seconds at the tick of 10.
    told = [[(row["key"], row["n"]) for row in each.to_pylist()] for each in ticks]
    assert [at for at, each in enumerate(told, 1) if ("silent", 1) in each] == [10]
    assert ("fast", 1) in told[9]
    assert after.late["id"].to_pylist() == [6]
    rest = host.finish().ready.to_pylist()
    assert [row["n"] for row in rest if row["key"] == "silent"] == [1]


def test_a_key_that_was_silent_for_long_is_forgotten() -> None:
    spec = plan(Sort(TIME), idle=10 * SECOND)
    kept: dict[int, MemoryChunks] = defaultdict(MemoryChunks)
    stage = RunningStage(spec, 0, SCHEMA, kept.__getitem__)

    def step(elapsed: int, rows: pa.Table) -> list[list[int]]:
        outputs = stage.step(Clock(NEVER, NEVER, elapsed * SECOND), [[rows]])
        return [output.batch["id"].to_pylist() for output in outputs if output.batch]

    def keys() -> list[str]:
        """The keys whose clocks are written, behind the chunks of the only operator."""
        stage.save()
        return [key for rows in kept[1].batches.values() for key in rows["key"].to_pylist()]

    step(0, batch((1, 1, "silent"), (2, 100, "loud"), (9, 1, "still")))
    assert step(50, batch((3, 101, "loud"))) == [[1, 9]]
    assert step(99, batch((4, 0, "silent"))) == [[4], [2, 3]]
    assert sorted(keys()) == ["loud", "silent", "still"]
    assert step(101, batch((5, 150, "loud"))) == []
    step(200, batch())
    assert keys() == ["loud"]


@pytest.mark.parametrize(("seed", "idle"), [(1, None), (2, "1 hour")])
def test_spark_gives_the_same_rows_in_each_micro_batch(
    spark: SparkSession, seed: int, idle: str | None
) -> None:
    batches = random_batches(seed)
    host = LocalHost(plan(COUNTS), SCHEMA)
    expected = [host.step(each) for each in [*batches, batches[0].slice(0, 0)]]

    def build(df: DataFrame) -> lc.AggregatedStream:
        events = lc.disordered(df, time="time", key="key", clock="key", idle=idle)
        windows = events.tumbling("5 seconds").wait("2 seconds", buckets=3)
        return windows.group_by("key").aggregate(n=agg.count())

    ready, late = stream(spark, batches, build)

    for number, step in enumerate(expected):
        got = sorted((r.key, r.window.start.timestamp(), r.n) for r in ready.get(number, []))
        want = [
            (r["key"], r["window"]["start"].timestamp(), r["n"]) for r in step.ready.to_pylist()
        ]
        assert got == sorted(want), f"batch {number}"
        assert ids(late, number) == sorted(step.late["id"].to_pylist())
    assert sum(step.ready.num_rows for step in expected) > 10


def test_rows_with_lifetimes_have_clocks_of_their_own_too(spark: SparkSession) -> None:
    first = batch((1, 0, "a"), (2, 0, "b"), (3, 50, "a"))
    second = batch((4, 2, "b"), (5, 60, "a"), (6, 40, "b"))

    def build(df: DataFrame) -> lc.TemporalStream:
        ordered = lc.disordered(df, time="time", clock=["key"]).sort(wait="1 second")
        return ordered.alter(duration="5 seconds").group_by("key").aggregate(n=agg.count())

    ready, late = stream(spark, [first, second], build)

    told = (row for rows in ready.values() for row in rows)
    got = sorted((r.key, r.start.timestamp(), r.end.timestamp(), r.n) for r in told)
    of_a, of_b = (
        [("a", 0, 5, 1), ("a", 50, 55, 1)],
        [("b", 0, 2, 1), ("b", 2, 5, 2), ("b", 5, 7, 1)],
    )
    assert got == [*of_a, *of_b]
    assert late == {}


def test_bad_input(spark: SparkSession) -> None:
    df = spark.createDataFrame(batch((1, 1, "a"))).selectExpr("*", "1.5D AS real")
    clocked = lc.disordered(df, time="time", key="key", clock="key")

    with pytest.raises(lc.OptionError, match="the stream has none"):
        lc.disordered(df, time="time", clock="key")
    with pytest.raises(lc.ColumnTypeError, match='clock column "real" is of type double'):
        lc.disordered(df, time="time", clock="real")
    with pytest.raises(lc.ColumnNotFoundError, match='no column "device"'):
        lc.disordered(df, time="time", clock="device")
    with pytest.raises(lc.OptionError, match='cannot be grouped by "id"'):
        clocked.tumbling("1 s").wait("1 s").group_by("id").aggregate(n=agg.count())
    ordered = clocked.sort(wait="1 s").temporal()
    with pytest.raises(lc.OptionError, match="different clocks cannot be combined"):
        ordered.union(lc.disordered(df, time="time").sort(wait="1 s").temporal())
    with pytest.raises(lc.OptionError, match="cannot be combined with a wait, a recall"):
        clocked.sort(presorted=True)
    with pytest.raises(lc.OptionError, match="cannot be grouped by nothing"):
        clocked.sort(wait="1 s").alter(duration="1 s").group_by().aggregate(n=agg.count())


def test_patterns_and_sessions_use_the_clock_of_their_key(spark: SparkSession) -> None:
    rows = batch((1, 0, "a"), (2, 100, "b"), (3, 5, "a"), (4, 101, "b"), (5, 20, "a"))
    df = spark.createDataFrame(rows)
    clocked = lc.disordered(df, time="time", key="key", clock="key").sort(wait="1 s")

    matches = clocked.detect(lc.event("x").then("y"), within="10 s", contiguity="strict").to_df()
    sessions = clocked.temporal().group_by("key").sessions("10 s").aggregate(n=agg.count()).to_df()

    assert sorted((r.key, r.x.id, r.y.id) for r in matches.collect()) == [("a", 1, 3), ("b", 2, 4)]
    assert sorted((r.key, r.n) for r in sessions.collect()) == [("a", 1), ("a", 2), ("b", 2)]
    with pytest.raises(lc.OptionError, match=r"because each .* has a clock of its own"):
        clocked.detect(lc.event("x").then("y"), within="10 s", by="id")
