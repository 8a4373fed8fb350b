"""Aggregates over lifetimes, compared with their definition."""

import itertools
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latecomer import agg
from latecomer.clock.policy import ClockByRecall, ClockPerKey, ClockPolicy, OneClock
from latecomer.clock.watermark import Clock
from latecomer.errors import ColumnTypeError
from latecomer.hosts.local import LocalHost, MemoryChunks, run
from latecomer.hosts.stage import RunningStage
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.windows.sliding import sliding
from latecomer.plan import LatePolicy, Plan, Source, Stage
from latecomer.time import FOREVER, NEVER, TimeColumn, Unit, duration_text

TIME = TimeColumn("time", "ms")
MS = 1_000
SCHEMA = pa.schema({"time": pa.int64(), "key": pa.string(), "value": pa.int64()})
RESULTS = Summary(
    ("key",), (("rows", agg.count()), ("high", agg.max("value")), ("all", agg.collect("value")))
)
COUNTS = Summary(("key",), (("rows", agg.count()),))
DURATION = 10
waits_of_a_stream = st.lists(st.sampled_from([0, 1, 4, 15]), min_size=1, unique=True).map(sorted)

Row = tuple[int, str, int]
Stretch = tuple[int, int, str, int, int, list[int]]


def table(rows: Sequence[Row]) -> pa.Table:
    return pa.table([list(column) for column in zip(*rows, strict=True)] or [[], [], []], SCHEMA)


@st.composite
def streams(draw: st.DrawFn, waits: Sequence[int] = (0, 2)) -> list[list[Row]]:
    """Draw micro-batches of rows, many of which begin or end exactly at a watermark."""
    newest, batches = 0, []
    for _ in range(draw(st.integers(1, 7))):
        apart = st.tuples(st.sampled_from(waits), st.sampled_from([0, 0, 0, -1, 1, 2, 8, 10]))
        row = st.tuples(
            apart.map(lambda found, at=newest: at - found[0] + found[1]),
            st.sampled_from("ab"),
            st.integers(-5, 5),
        )
        any_row = st.tuples(st.integers(-20, 60), st.sampled_from("ab"), st.integers(-5, 5))
        batches.append(draw(st.lists(row | row | row | any_row, max_size=4)))
        newest = max([newest, *(time for time, _, _ in batches[-1])])
    return batches


def over(
    clock: ClockPolicy,
    *,
    time: TimeColumn = TIME,
    duration: int = DURATION * MS,
    summary: Summary = RESULTS,
    schema: pa.Schema = SCHEMA,
    late: LatePolicy = "divert",
) -> Plan:
    operators = sliding(time, clock.waits or (0,), duration, summary, schema)
    return Plan(Source(time), clock, late, (Stage(summary.keys, operators),))


def waiting(*waits: int) -> OneClock:
    return OneClock(tuple(wait * MS for wait in waits))


def twin(rows: Sequence[Row], duration: int = DURATION) -> list[Stretch]:
    """Cut time at every begin and end of each key, and aggregate all rows of each stretch."""
    keys: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        keys[row[1]].append(row)
    found = []
    for key, mine in keys.items():
        cuts = sorted({time + more for time, _, _ in mine for more in (0, duration)})
        for start, end in itertools.pairwise(cuts):
            alive = sorted(
                (row for row in mine if row[0] <= start < row[0] + duration), key=lambda r: r[0]
            )
            values = [value for _, _, value in alive]
            if values:
                found.append((start, end, key, len(values), max(values), values))
    return sorted(found)


def stretches(ready: pa.Table) -> list[Stretch]:
    return sorted(
        (r["window"]["start"], r["window"]["end"], r["key"], r["rows"], r["high"], r["all"])
        for r in ready.to_pylist()
    )


def as_rows(late: pa.Table) -> list[Row]:
    return [(row["time"], row["key"], row["value"]) for row in late.to_pylist()]


@given(data=st.data(), wait=st.sampled_from([0, 1, 5, 12]))
def test_a_stretch_is_told_once_in_the_step_in_which_its_end_is_reached(
    data: st.DataObject, wait: int
) -> None:
    batches = data.draw(streams([wait]))
    host = LocalHost(over(waiting(wait)), SCHEMA)

    told: list[Stretch] = []
    in_time: list[Row] = []
    for batch in [*batches, None]:
        step = host.finish() if batch is None else host.step(table(batch))
        kept = list(batch or [])
        for row in as_rows(step.late):
            kept.remove(row)
        in_time += kept
        told = sorted([*told, *stretches(step.ready)])
        # Later rows are not before the watermark, so stretches that end by then do not change.
        ended = [each for each in twin(in_time) if each[1] * MS <= step.watermark]
        assert told == ended

    assert told == twin(in_time)


def test_a_row_exactly_at_the_watermark_ends_a_stretch() -> None:
    host = LocalHost(over(waiting(0)), SCHEMA)
    batches: list[list[Row]] = [
        [(1, "y", 1), (2, "z", 2)],
        [(2, "z", 3)],
        [(2, "y", 4)],
        [(2, "y", 5)],
    ]

    steps = [*(host.step(table(batch)) for batch in batches), host.finish()]

    assert [stretches(step.ready) for step in steps] == [
        [],
        [],
        [(1, 2, "y", 1, 1, [1])],
        [],
        [
            (2, 11, "y", 3, 5, [1, 4, 5]),
            (2, 12, "z", 2, 3, [2, 3]),
            (11, 12, "y", 2, 5, [4, 5]),
        ],
    ]
    assert sum(step.late.num_rows for step in steps) == 0


@settings(max_examples=40)
@given(data=st.data(), waits=waits_of_a_stream)
def test_each_of_several_waits_has_the_answers_it_would_have_alone(
    data: st.DataObject, waits: list[int]
) -> None:
    waits = [*waits, 30]
    batches = data.draw(streams(waits))

    def answers(waits: Sequence[int]) -> list[tuple[pa.Table, pa.Table]]:
        host = LocalHost(over(waiting(*waits)), SCHEMA)
        steps = [*(host.step(table(batch)) for batch in batches), host.finish()]
        return [(step.ready, step.late) for step in steps]

    def said(wait: int) -> str:
        return duration_text(timedelta(milliseconds=wait))

    together = answers(waits)

    for wait in waits:
        alone = answers([wait])
        for (several, late), (ready, own_late) in zip(together, alone, strict=True):
            mine = pa.compute.equal(several["wait"], said(wait))
            assert stretches(several.filter(mine)) == stretches(ready)
            assert wait != waits[-1] or late == own_late
    finals = {(r["wait"], r["is_final"]) for ready, _ in together for r in ready.to_pylist()}
    assert not any(batches) or finals == {(said(wait), wait == waits[-1]) for wait in waits}


@settings(max_examples=50)
@given(data=st.data(), waits=waits_of_a_stream, restarts=st.sets(st.integers(0, 7)))
def test_it_goes_on_where_it_was_saved_and_wakes_when_it_must(
    data: st.DataObject, waits: list[int], restarts: set[int]
) -> None:
    batches, spec = data.draw(streams(waits)), over(waiting(*waits))

    def play(restarts: set[int]) -> list[list[tuple[str, pa.Table]]]:
        kept: dict[int, MemoryChunks] = defaultdict(MemoryChunks)
        stage = RunningStage(spec, 0, SCHEMA, kept.__getitem__)
        newest, seen = NEVER, []
        for number, batch in enumerate([*batches, None]):
            due, new = stage.due(), table(batch or [])
            clock = Clock(newest, FOREVER) if batch is None else Clock.at(newest, spec.clock.wait)
            outputs = list(stage.step(clock, [[new]]))
            is_due = batch is None or (due is not None and due <= newest)
            assert new.num_rows or is_due or not outputs
            seen.append([(output.name, output.batch) for output in outputs])
            newest = max([newest, *TIME.micros(new).tolist()])
            if number in restarts:
                stage = RunningStage(spec, 0, None, kept.__getitem__, stage.save())
        stage.save()
        assert stage.held == 0
        assert all(chunks.batches == {} for chunks in kept.values())
        return seen

    assert play(restarts) == play(set())


@given(data=st.data(), wait=st.sampled_from([0, 1, 5]))
def test_late_rows_that_are_moved_count_from_the_watermark_on(
    data: st.DataObject, wait: int
) -> None:
    batches = data.draw(streams([wait]))
    host = LocalHost(over(waiting(wait), late="adjust"), SCHEMA)
    moved: list[Row] = []
    told: list[Stretch] = []
    for batch in batches:
        step = host.step(table(batch))
        watermark = step.watermark // MS
        # Late rows are moved to the watermark, after the other rows of the batch.
        moved += [row for row in batch if row[0] >= watermark]
        moved += [(watermark, *row[1:]) for row in batch if row[0] < watermark]
        told += stretches(step.ready)
    told += stretches(host.finish().ready)

    def counted(found: list[Stretch]) -> list[tuple[Any, ...]]:
        return sorted((*each[:5], sorted(each[5])) for each in found)

    assert counted(told) == counted(twin(moved))


@settings(max_examples=40)
@given(batches=streams())
def test_keys_with_clocks_of_their_own_get_the_results_of_streams_of_their_own(
    batches: list[list[Row]],
) -> None:
    clocked = over(ClockPerKey((2 * MS,), columns=("key",)))
    together = run(clocked, map(table, batches), SCHEMA)

    for key in "ab":
        own = [table([row for row in batch if row[1] == key]) for batch in batches]
        alone = run(over(waiting(2)), own, SCHEMA)
        assert [s for s in stretches(together.ready) if s[2] == key] == stretches(alone.ready)
        assert sorted(r for r in as_rows(together.late) if r[1] == key) == sorted(
            as_rows(alone.late)
        )


@settings(max_examples=40)
@given(batches=streams())
def test_with_recalls_the_last_one_answers_for_all_rows_that_are_not_late(
    batches: list[list[Row]],
) -> None:
    seen = run(over(ClockByRecall(recalls=(0.5, 0.9))), map(table, batches), SCHEMA)

    backwards = [row for batch in batches[::-1] for row in batch[::-1]]
    for row in as_rows(seen.late):
        # If some of several equal rows are late, they are those that came last.
        backwards.remove(row)
    assert stretches(seen.ready.filter(seen.ready["is_final"])) == twin(backwards[::-1])
    assert seen.ready.column_names[-3:] == ["recall", "wait", "is_final"]


@pytest.mark.parametrize(
    ("kind", "unit", "times", "bounds"),
    [
        (pa.int64(), "s", [3], (3, 90_003)),
        (pa.int32(), "s", [3], (3, 90_003)),
        (pa.int64(), "ms", [3], (3, 90_000_003)),
        (pa.int64(), "ns", [3_000], (3_000, 90_000_000_003_000)),
        (
            pa.timestamp("ms"),
            None,
            [datetime(2024, 5, 1)],  # noqa: DTZ001 - as the column has it
            (datetime(2024, 5, 1), datetime(2024, 5, 2, 1)),  # noqa: DTZ001 - as the column has it
        ),
        (
            pa.timestamp("us", "Europe/Oslo"),
            None,
            [datetime(2024, 5, 1, tzinfo=UTC)],
            (datetime(2024, 5, 1, tzinfo=UTC), datetime(2024, 5, 2, 1, tzinfo=UTC)),
        ),
        (
            pa.date32(),
            None,
            [date(2024, 5, 1)],
            (datetime(2024, 5, 1, tzinfo=UTC), datetime(2024, 5, 2, 1, tzinfo=UTC)),
        ),
    ],
    ids=str,
)
def test_bounds_are_of_the_type_of_the_time_or_timestamps_if_it_is_a_date(
    kind: pa.DataType, unit: Unit | None, times: list[Any], bounds: tuple[Any, Any]
) -> None:
    time = TimeColumn("time", unit)
    rows = pa.table({"time": pa.array(times, kind), "key": ["a"]})
    day_and_hour = 25 * 3_600 * 1_000_000
    asked = over(waiting(0), time=time, duration=day_and_hour, summary=COUNTS, schema=rows.schema)

    ready = run(asked, [rows], rows.schema).ready

    instant = pa.timestamp("us", "UTC") if pa.types.is_date(kind) else kind
    instant = pa.int64() if pa.types.is_integer(kind) else instant
    window = pa.struct([pa.field("start", instant), pa.field("end", instant)])
    assert ready.schema == pa.schema(
        [
            pa.field("window", window, nullable=False),
            pa.field("key", pa.string()),
            pa.field("rows", pa.int64()),
        ]
    )
    (row,) = ready.to_pylist()
    assert row == {
        "window": dict(zip(("start", "end"), bounds, strict=True)),
        "key": "a",
        "rows": 1,
    }


def test_the_time_is_a_column_like_any_other() -> None:
    summary = Summary(("time",), (("last", agg.max("time")), ("rows", agg.count())))
    rows = [(3, "a", 1), (3, "b", 2), (4, "a", 3)]

    ready = run(over(waiting(0), summary=summary), [table(rows)], SCHEMA).ready

    assert sorted((r["time"], r["last"], r["rows"]) for r in ready.to_pylist()) == [
        (3, 3, 2),
        (4, 4, 1),
    ]


def test_rows_need_no_columns_but_their_time() -> None:
    summary = Summary((), (("rows", agg.count()),))
    rows = table([(3, "a", 1), (5, "b", 2)]).select(["time"])

    asked = over(waiting(0), summary=summary, schema=rows.schema)
    ready = run(asked, [rows], rows.schema).ready

    assert sorted((r["window"]["start"], r["rows"]) for r in ready.to_pylist()) == [
        (3, 1),
        (5, 2),
        (13, 1),
    ]


def test_a_time_too_far_out_is_refused() -> None:
    asked, far = over(waiting(0), time=TimeColumn("time", "us")), table([(2**62, "a", 1)])

    with pytest.raises(
        ColumnTypeError, match=r"a row has a time \d\d\d?,\d{3} years (before|after) 1970"
    ):
        run(asked, [far], SCHEMA)
