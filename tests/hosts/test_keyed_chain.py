"""One operator for all keys gives the rows of one operator for each key."""

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer import agg
from latecomer.clock.policy import ClockPerKey, OneClock
from latecomer.clock.watermark import Clock
from latecomer.errors import LateRowError, StateFormatError
from latecomer.hosts import stage
from latecomer.hosts.local import MemoryChunks
from latecomer.hosts.output import Output
from latecomer.hosts.stage import RunningStage
from latecomer.operators import leaves
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.base import Operator
from latecomer.operators.distinct import Distinct
from latecomer.operators.levels import Levels
from latecomer.operators.patterns.automaton import compiled
from latecomer.operators.patterns.detect import Detect
from latecomer.operators.patterns.shapes import Event, Some, Then
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.aggregate import SnapshotAggregate
from latecomer.operators.temporal.alter import Alter, Quantize, Shift
from latecomer.operators.temporal.chop import Chop, Chopper
from latecomer.operators.temporal.clip import Clip, UntilNext
from latecomer.operators.temporal.conditions import Computed, Condition
from latecomer.operators.temporal.extend import Extend
from latecomer.operators.temporal.lifetimes import Lasting, Lifetimes
from latecomer.operators.temporal.rowwise import Compute, Keep
from latecomer.operators.temporal.session import Closing, Session
from latecomer.operators.temporal.session_aggregate import SessionAggregate
from latecomer.operators.temporal.stitch import Stitch
from latecomer.operators.temporal.whole import AsEdges, AsWindows, Whole
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.bounds import window_field
from latecomer.operators.windows.grid import Windows
from latecomer.plan import LATE_POLICIES, LatePolicy, Plan, Source, Stage
from latecomer.time import FOREVER, NEVER, TimeColumn

SECOND = 1_000_000
TIME = TimeColumn("time")
KEY = ("key",)
SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "time": pa.timestamp("us", "UTC"),
        "key": pa.string(),
        "part": pa.int64(),
    }
)

Row = tuple[int, str | None, int]
"""Time in half seconds, key, part."""


def windows(size: int, hop: int, *waits: int, only_changes: bool = False) -> Aggregation:
    counts = Summary(
        ("key", "part"), (("n", agg.count()), ("first", agg.first("id")), ("last", agg.last("id")))
    )
    parts = Summary(KEY, (("parts", agg.count()), ("most", agg.max("n"))))
    return Aggregation(
        TIME,
        Windows(size * SECOND, hop * SECOND),
        tuple(wait * SECOND for wait in waits),
        (counts, parts) if only_changes else (counts,),
        only_changes=only_changes,
    )


OPERATORS = {
    "sort": Sort(TIME),
    "sort, two waits": Levels(TIME, (0, 2 * SECOND)),
    "sort, three waits": Levels(TIME, (SECOND, 2 * SECOND, 5 * SECOND)),
    "tumbling": windows(5, 5, 2),
    "hopping": windows(5, 2, 2),
    "waits": windows(4, 2, 0, 2, 6),
    "changes": windows(3, 3, 0, 4, only_changes=True),
}


FOLLOWERS: dict[str, tuple[Operator, ...]] = {
    "": (),
    ", filtered": (Keep(Condition(lambda row: row.part == 0)),),
    ", with a column": (
        Keep(Condition(lambda row: row.id != 3)),
        Compute((("twice", Computed(lambda row: 2 * row.id, pa.int64())),)),
    ),
    ", distinct": (Distinct(TIME, KEY, 3 * SECOND, KEY),),
    ", filtered and distinct twice": (
        Distinct(TIME, ("part", *KEY), 2 * SECOND, KEY),
        Keep(Condition(lambda row: row.id != 3)),
        Distinct(TIME, KEY, 5 * SECOND, KEY),
        Compute((("twice", Computed(lambda row: 2 * row.id, pa.int64())),)),
    ),
}
"""Operators that process rows one by one, or compare only rows of one key."""
LIVES = (Lifetimes(TIME), Alter(4 * SECOND))
UTC = pa.timestamp("us", "UTC")
WHOLE, EDGES = Whole(UTC), AsEdges(UTC)
OF_PARTS = Summary(
    ("key", "part"), (("n", agg.count()), ("last", agg.max("id")), ("first", agg.first("id")))
)
COUNTS = Summary(KEY, (("n", agg.count()), ("most", agg.max("id"))))
FOREVER_LONG = (Lifetimes(TIME), Alter(None))
SESSIONS = SessionAggregate(OF_PARTS, Closing(2 * SECOND), UTC)
TEMPORAL: dict[str, tuple[Operator, ...]] = {
    ", until next": (*FOREVER_LONG, UntilNext(KEY), WHOLE),
    ", until next of a part, as edges": (
        *LIVES,
        UntilNext(("part", *KEY)),
        EDGES,
    ),
    ", clipped": (
        *FOREVER_LONG,
        UntilNext(KEY),
        Clip(3 * SECOND),
        EDGES,
    ),
    ", shorter, as edges": (*LIVES, Extend(-SECOND), EDGES),
    ", shorter": (*LIVES, UntilNext(KEY), Extend(-SECOND), WHOLE),
    ", chopped and stitched": (*LIVES, Chop(3 * SECOND), Stitch(KEY), WHOLE),
    ", chopped and stitched in all columns": (*LIVES, Chop(3 * SECOND), Stitch(), WHOLE),
    ", sessions": (Lifetimes(TIME), Session(KEY, Closing(2 * SECOND, 5 * SECOND)), WHOLE),
    ", aggregates of sessions": (Lifetimes(TIME), SESSIONS, WHOLE),
    ", sliding": (
        Lasting(TIME, 3 * SECOND, COUNTS.columns),
        SnapshotAggregate(COUNTS),
        AsWindows(window_field(SCHEMA, TIME, 3 * SECOND), TIME),
    ),
    ", aggregates of stretches": (
        *FOREVER_LONG,
        UntilNext(KEY),
        SnapshotAggregate(OF_PARTS),
        WHOLE,
    ),
    ", aggregates as edges": (
        *LIVES,
        Shift(SECOND),
        SnapshotAggregate(COUNTS),
        EDGES,
    ),
    ", in windows": (*LIVES, Quantize(4 * SECOND, 2 * SECOND), SnapshotAggregate(COUNTS), WHOLE),
    ", distinct, until next, aggregates": (
        Distinct(TIME, ("part", *KEY), 2 * SECOND, KEY),
        *FOREVER_LONG,
        UntilNext(KEY),
        SnapshotAggregate(COUNTS),
        Clip(2 * SECOND),
        WHOLE,
    ),
}
"""Operators on lifetimes, which follow the watermark of each key."""
A, B = Event("a", "is_a"), Event("b", "is_b")
ABSENT = replace(compiled(A), guards=("is_b",))
MARKED = Compute(
    (
        ("is_a", Computed(lambda row: row.part == 0, pa.bool_())),
        ("is_b", Computed(lambda row: row.id % 3 > 0, pa.bool_())),
    )
)
PATTERNS: dict[str, tuple[Operator, ...]] = {
    ", pattern": (MARKED, Detect(TIME, KEY, compiled(Then(A, B)), 4 * SECOND)),
    ", pattern that ends by absence": (
        Distinct(TIME, ("part", *KEY), SECOND, KEY),
        MARKED,
        Detect(TIME, KEY, ABSENT, 4 * SECOND, silence=2 * SECOND),
    ),
    ", lifetimes of matches": (
        MARKED,
        Detect(TIME, ("key",), compiled(Then(A, Some(B, 1, 2))), 3 * SECOND, may_overlap=False),
        Lifetimes(TimeColumn("start"), TimeColumn("end"), 3 * SECOND),
        SnapshotAggregate(Summary(KEY, (("n", agg.count()),))),
        WHOLE,
    ),
}
FOLLOWERS |= TEMPORAL | PATTERNS
CASES = {
    f"{name}{more}": (operator, FOLLOWERS[more])
    for name, operator in OPERATORS.items()
    for more in (FOLLOWERS if isinstance(operator, Sort) else [""])
}
CASES |= {
    f"{name}{more} of each": (replace(OPERATORS[name], then=FOLLOWERS[more]), ())
    for name, more in (
        *product(["sort, three waits"], FOLLOWERS),
        *product(["sort, two waits"], [", distinct", ", sliding", ", pattern"]),
    )
    # Behind several waits, the output of each is complete as far as its input is.
    if more and all(each.passes(1) == 1 for each in FOLLOWERS[more])
}
"""Operators, and those behind them: after the only wait, or after each of several."""


def plan(
    operator: Sort | Levels | Aggregation,
    *others: Operator,
    idle: int | None = None,
    late: LatePolicy = "divert",
) -> Plan:
    waits = (2 * SECOND,) if isinstance(operator, Sort) else operator.waits
    stage = Stage(KEY, (operator, *others))
    return Plan(Source(TIME, KEY), ClockPerKey(waits, idle, KEY), late, (stage,))


def batches(parts: list[list[Row]]) -> list[pa.Table]:
    """Number the rows in order of arrival."""
    tables, number = [], 0
    for rows in parts:
        columns = [
            list(range(number, number + len(rows))),
            pa.array([half * SECOND // 2 for half, _, _ in rows], pa.int64()).cast(
                SCHEMA.field("time").type
            ),
            [key for _, key, _ in rows],
            [part for _, _, part in rows],
        ]
        tables.append(pa.table(columns, SCHEMA))
        number += len(rows)
    return tables


Started = Callable[[bytes | None], RunningStage]


def after(elapsed: int) -> Clock:
    """Return the clock after so many seconds of the wall clock."""
    return Clock(NEVER, NEVER, elapsed * SECOND)


def started(spec: Plan) -> Started:
    kept: dict[int, MemoryChunks] = defaultdict(MemoryChunks)
    return lambda saved: RunningStage(spec, 0, None if saved else SCHEMA, kept.__getitem__, saved)


def apart(spec: Plan) -> Started:
    """The slow twin: operators for each key, also where one operator could serve all keys."""
    operator, *others = spec.stages[0].operators
    twin = {Sort: ApartSort, Levels: ApartLevels, Aggregation: ApartAggregation}[type(operator)]
    fields = {field.name: getattr(operator, field.name) for field in dataclasses.fields(operator)}
    return started(replace(spec, stages=(Stage(KEY, (twin(**fields), *others)),)))


class ApartSort(Sort):
    def clocked(self, columns: tuple[str, ...]) -> bool:
        return False


class ApartLevels(Levels):
    def clocked(self, columns: tuple[str, ...]) -> bool:
        return False


class ApartAggregation(Aggregation):
    def clocked(self, columns: tuple[str, ...]) -> bool:
        return False


def told(outputs: Iterable[Output], late: LatePolicy) -> dict[Any, Any]:
    """Return the output of a step: the rows of each output, key and wait in order, and counts."""
    rows: dict[Any, list[Any]] = defaultdict(list)
    counts: Counter[str] = Counter()
    for output in outputs:
        counts[output.name] += output.rows
        for row in output.batch.to_pylist() if output.batch is not None else ():
            rows[output.name, row["key"], row.get("wait")].append(row)
    for (name, *_), found in rows.items():
        if "edge" in found[0]:
            at = [row["end" if row["edge"] == "end" else "start"] for row in found]
            assert at == sorted(at)
            counts[name] -= len(found)
            found[:] = put_together(found)
            counts[name] += len(found)
        if "window" in found[0] or "start" in found[0]:
            found.sort(key=str)
    return {**rows, **counts}


def put_together(edges: list[Any]) -> list[Any]:
    """Put each begin and its end together: a watermark that takes more steps may part them."""
    together: list[Any] = []
    for edge in edges:
        begin = {**edge, "end": None, "edge": "start"}
        if edge["edge"] == "end" and begin in together:
            together[together.index(begin)] = {**edge, "edge": "interval"}
        else:
            together.append(edge)
    return together


def run(start: Started, spec: Plan, parts: list[list[Row]], *, restarts: bool) -> list[Any]:
    stage, seen = start(None), []
    for number, rows in enumerate(batches(parts)):
        # After each part come two ticks without rows.
        for at, some in enumerate((rows, rows.slice(0, 0), rows.slice(0, 0))):
            seen.append(told(stage.step(after(3 * number + at), [[some]]), spec.late))
        if restarts:
            stage = start(stage.save())
    seen.append(told(stage.step(Clock(NEVER, FOREVER), [[]]), spec.late))
    return seen


rows = st.tuples(st.integers(-20, 60), st.sampled_from(["a", "b", "c", None]), st.integers(0, 1))
streams = st.lists(st.lists(rows, max_size=8), max_size=7)


@pytest.mark.parametrize("name", CASES)
@given(
    parts=streams,
    idle=st.none() | st.integers(0, 12),
    late=st.sampled_from([each for each in LATE_POLICIES if each != "raise"]),
    restarts=st.booleans(),
)
def test_one_operator_gives_the_rows_of_operators_for_each_key(
    name: str, parts: list[list[Row]], idle: int | None, late: LatePolicy, *, restarts: bool
) -> None:
    operator, others = CASES[name]
    if any(isinstance(each, Quantize) for each in others):
        idle = None  # The clock of a silent key alone stops at what `due` says, which is too early.
    spec = plan(operator, *others, idle=None if idle is None else idle * SECOND, late=late)

    expected = run(apart(spec), spec, parts, restarts=False)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leaves, "LEAF_ROWS", 4)
        assert run(started(spec), spec, parts, restarts=restarts) == expected


def test_all_pieces_of_a_silence_are_cut_in_one_step() -> None:
    spec = plan(Sort(TIME), *FOREVER_LONG, Chop(SECOND // 100), WHOLE, idle=20 * SECOND)
    stage = started(spec)(None)
    (first,) = batches([[(0, "a", 0), (20, "b", 0)]])
    list(stage.step(after(0), [[first]]))

    with patch.object(Chopper, "step", autospec=True, side_effect=Chopper.step) as step:
        pieces = sum(output.rows for output in stage.step(after(25), [[]]))

    # Clocks have gone on for 25 seconds, and the wait is 2 seconds.
    assert pieces == 2_300 + 2_300
    assert step.call_count <= 3


def test_a_silent_key_is_forgotten_when_nothing_of_it_is_held() -> None:
    spec = plan(Sort(TIME), idle=10 * SECOND)
    kept: dict[int, MemoryChunks] = defaultdict(MemoryChunks)
    stage = RunningStage(spec, 0, SCHEMA, kept.__getitem__)
    first, loud = batches(
        [[(2, "silent", 0), (2, "still", 0), (200, "loud", 0)], [(201, "loud", 0)]]
    )
    list(stage.step(after(0), [[first]]))
    stage.save()
    seen, keys = [], []

    for elapsed, rows in ((20, []), (90, [loud]), (101, [])):
        seen += [o.batch["id"].to_pylist() for o in stage.step(after(elapsed), [rows])]
        stage.save()
        # The clocks are behind the chunks of the operators.
        keys.append([key for rows in kept[1].batches.values() for key in rows["key"].to_pylist()])

    assert seen == [[0, 1, 2], [3]]
    assert sorted(keys[0]) == ["loud", "silent", "still"]
    assert keys[2] == ["loud"]


def test_a_new_key_may_have_the_slot_of_a_forgotten_one() -> None:
    spec = plan(Sort(TIME), idle=10 * SECOND)
    stage = started(spec)(None)
    first, again, second = batches(
        [[(0, "a", 0), (200, "b", 0)], [(201, "b", 0)], [(202, "c", 0), (190, "b", 0)]]
    )

    list(stage.step(after(0), [[first]]))
    list(stage.step(after(90), [[again]]))
    list(stage.step(after(101), [[]]))
    late = list(stage.step(after(102), [[second]]))
    rest = list(stage.step(Clock(NEVER, FOREVER), [[]]))

    assert [(output.name, output.batch["id"].to_pylist()) for output in late] == [("late", [4])]
    assert [output.batch["id"].to_pylist() for output in rest] == [[3]]


def test_a_new_key_is_not_compared_with_a_forgotten_one_that_had_its_slot() -> None:
    spec = plan(Sort(TIME), Distinct(TIME, KEY, SECOND, KEY), idle=10 * SECOND)
    start = started(spec)
    stage = start(None)
    first, again, second = batches(
        [[(0, "a", 0), (200, "b", 0)], [(201, "b", 0)], [(0, "c", 0), (220, "b", 0)]]
    )

    list(stage.step(after(0), [[first]]))
    list(stage.step(after(90), [[again]]))
    list(stage.step(after(101), [[]]))
    stage = start(stage.save())
    list(stage.step(after(102), [[second]]))
    rest = list(stage.step(Clock(NEVER, FOREVER), [[]]))

    assert [output.batch["id"].to_pylist() for output in rest] == [[3, 4]]


def test_late_raise_refuses_late_rows() -> None:
    spec = plan(OPERATORS["tumbling"], late="raise")
    stage = started(spec)(None)
    first, second = batches([[(20, "a", 0), (0, "b", 0)], [(0, "b", 0), (0, "a", 0)]])
    list(stage.step(Clock.at(NEVER, spec.clock.wait), [[first]]))

    with pytest.raises(LateRowError, match=r"8 seconds behind the watermark; such rows .*: 1"):
        list(stage.step(after(1), [[second]]))


def test_one_operator_serves_all_keys_where_it_can() -> None:
    def chains(spec: Plan) -> int:
        """Return 1 if one chain serves three keys, and 2 if each has its own."""
        opened: dict[int, MemoryChunks] = defaultdict(MemoryChunks)
        stage = RunningStage(spec, 0, SCHEMA, opened.__getitem__)
        (rows,) = batches([[(0, "a", 0), (0, "b", 0), (0, "c", 0)]])
        list(stage.step(Clock.at(NEVER, 0), [[rows]]))
        # A chain opens chunks for each operator; one for all keys has others for their clocks.
        return (len(opened) - 1) // len(spec.stages[0].operators)

    counts = OPERATORS["tumbling"]
    assert isinstance(counts, Aggregation)
    mixed = replace(counts, summaries=(*counts.summaries, Summary((), (("n", agg.count()),))))
    two = replace(plan(Sort(TIME)), stages=(Stage(KEY, (Sort(TIME), Sort(TIME))),))

    assert {chains(plan(operator, *others)) for operator, others in CASES.values()} == {1}
    assert chains(two) == 2
    assert chains(plan(replace(counts, merges=True))) == 2
    assert chains(plan(mixed)) == 2


@pytest.mark.parametrize(
    ("name", "held", "ready"),
    [
        ("sort, filtered", 3, [0, 1]),
        ("sort, distinct", 3, [0, 2]),
        # Two values are held for the first wait.
        ("sort, two waits, distinct of each", 5, [0, 2, 3, 4]),
    ],
)
def test_a_checkpoint_with_operators_for_each_key_goes_on_with_them(
    name: str, held: int, ready: list[int]
) -> None:
    """In older checkpoints, a sort before a filter or `distinct` has operators for each key."""
    operator, others = CASES[name]
    spec = plan(operator, *others)
    parts = batches([[(0, "a", 0), (9, "b", 0), (8, "b", 1)], [(20, "a", 0), (30, "b", 1)]])
    kept: dict[int, MemoryChunks] = defaultdict(MemoryChunks)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "_serves_all_keys", lambda _: False)
        before = RunningStage(spec, 0, SCHEMA, kept.__getitem__)
        list(before.step(after(0), [[parts[0]]]))
        saved = before.save()
    again = RunningStage(spec, 0, None, kept.__getitem__, saved)
    outputs = [*again.step(after(1), [[parts[1]]])]

    assert before.held == held
    found = (output.batch for output in outputs if output.name == "ready")
    assert sorted(i for rows in found for i in rows["id"].to_pylist()) == ready


def test_a_checkpoint_is_carried_on_by_the_query_that_wrote_it() -> None:
    spec, other = plan(Sort(TIME)), plan(OPERATORS["tumbling"])
    one = replace(spec, clock=OneClock(spec.clock.waits))
    ours, plain = started(spec)(None).save(), started(one)(None).save()

    with pytest.raises(StateFormatError, match="clock was one clock, is now a clock for"):
        started(spec)(plain)
    with pytest.raises(StateFormatError, match="a clock for each key, is now one clock"):
        started(one)(ours)
    with pytest.raises(StateFormatError, match="operator was sort\\("):
        started(other)(ours)
    with pytest.raises(StateFormatError, match="idle was not set, is now 1 second"):
        started(plan(Sort(TIME), idle=SECOND))(ours)
    narrow = pa.schema([SCHEMA.field("id")])
    with pytest.raises(StateFormatError, match='the stream now has "id" int64'):
        RunningStage(spec, 0, narrow, lambda _: MemoryChunks(), ours)
