"""The plans that the simulator runs. Every operator is in one of them.

Temporal operators are taken from their own catalogue, so a new one is included automatically. For
any other new operator, `test_catalogue.py` fails until there is a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from latecomer import agg, upsert
from latecomer.clock.policy import (
    ClockByRecall,
    ClockBySource,
    ClockPerKey,
    ClockPolicy,
    OneClock,
)
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.distinct import Distinct
from latecomer.operators.in_order import InOrder
from latecomer.operators.levels import Levels, once_per_wait
from latecomer.operators.optimistic.barrier import Barrier
from latecomer.operators.optimistic.changelog import Changelog
from latecomer.operators.optimistic.enter import Enter
from latecomer.operators.optimistic.flat_map import FlatMap
from latecomer.operators.optimistic.grouping import Grouping
from latecomer.operators.optimistic.stateful import Stateful
from latecomer.operators.patterns.automaton import compiled
from latecomer.operators.patterns.detect import Detect
from latecomer.operators.patterns.shapes import Event, Some, Then
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.aggregate import SnapshotAggregate
from latecomer.operators.temporal.alter import Alter
from latecomer.operators.temporal.binary import Binary
from latecomer.operators.temporal.lifetimes import Dated, Lasting, Lifetimes
from latecomer.operators.temporal.paired import Paired
from latecomer.operators.temporal.session import Closing
from latecomer.operators.temporal.specification import Temporal
from latecomer.operators.temporal.whole import AsEdges, Whole
from latecomer.operators.window_join.buffer_size_manager import Quality
from latecomer.operators.window_join.equalities import Equalities
from latecomer.operators.window_join.joiner import WindowJoin
from latecomer.operators.window_join.quality_join import Input, QualityJoin
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.operators.windows.sliding import sliding
from latecomer.plan import Gathering, LatePolicy, Plan, Source, Stage, placement
from latecomer.plan.stage import Meeting
from latecomer.time import TimeColumn
from tests.operators.temporal.catalogue import CATALOGUE

if TYPE_CHECKING:
    from latecomer.operators.base import Operator

SECOND = 1_000_000
KIND = pa.timestamp("us", "UTC")
SCHEMA = pa.schema(
    {"id": pa.int64(), "time": KIND, "end": KIND, "k": pa.string(), "v": pa.int64()}
    | {"_lc_a": pa.bool_(), "_lc_b": pa.bool_()}
)
OTHER = pa.schema({"id": pa.int64(), "time": KIND, "end": KIND, "k": pa.string(), "w": pa.int64()})
PAIRS = pa.schema({"time": KIND, "begin": KIND, "end": KIND, "k": pa.string()})
BEGIN = TimeColumn("begin")
TIME, END, ARRIVAL = TimeColumn("time"), TimeColumn("end"), TimeColumn("id", "us")
WAITS = (2 * SECOND, 6 * SECOND)
COUNTS = Summary(("k",), (("rows", agg.count()), ("total", agg.sum("v"))))
BOTH = pa.schema({"k": pa.string(), "v": pa.int64()})


@dataclass(frozen=True)
class Entry:
    """A plan, and how to run it."""

    name: str
    plan: Plan
    schemas: tuple[pa.Schema, ...] = (SCHEMA,)
    states: str = "buckets"
    key: tuple[str, ...] = ()
    """The key of the table of current rows that holds the ready rows; empty for a directory."""
    is_ordered: bool = False
    """Whether the input must be in order."""

    @property
    def buckets(self) -> int | None:
        """The number of buckets, or None if any number gives the same rows."""
        by_rows = self.plan.clock.recalls or self.plan.stages[0].join is not None
        return 1 if by_rows else None

    @property
    def keeps_rows(self) -> bool:
        """Whether the output consists of unchanged input rows."""
        operators = [each for stage in self.plan.stages for each in stage.operators]
        return all(isinstance(each, Sort | InOrder) for each in operators) and bool(operators)

    @property
    def has_lifetimes(self) -> bool:
        """Whether rows have lifetimes.

        A row that ends exactly at the watermark may come out in this micro-batch or in the next.
        The rows of such plans therefore have distinct times.
        """
        operators = [each for stage in self.plan.stages for each in stage.operators]
        operators += [other for each in operators for other in getattr(each, "then", ())]
        return any(isinstance(each, Temporal | Meeting) for each in operators)


def total(state: int, row: Any) -> tuple[int, int]:  # noqa: ANN401
    """Return the sum, and a number that depends on the order of rows."""
    return state + (row.v or 0), state * 3 + (row.v or 0)


def split(row: Any) -> Any:  # noqa: ANN401
    """Return no row for a null, one for an even value, two for an odd one."""
    if row.v is None:
        return None
    return [(row.k, row.v)] if row.v % 2 == 0 else [(row.k, 1), (row.k, row.v - 1)]


def made(
    *operators: Operator,
    clock: ClockPolicy | None = None,
    late: LatePolicy = "divert",
    key: tuple[str, ...] = ("k",),
    **source: Any,  # noqa: ANN401
) -> Plan:
    """Return a plan with these operators, in order."""
    asked = Plan(Source(TIME, key, **source), clock or OneClock((5 * SECOND,)), late, (Stage(key),))
    return replace(asked, stages=(Stage(key, operators),))


def _windows(
    waits: tuple[int, ...] = WAITS, horizon: int | None = None, summary: Summary = COUNTS
) -> Aggregation:
    return Aggregation(TIME, Windows(4 * SECOND, 4 * SECOND), waits, (summary,), horizon=horizon)


def _sorts() -> Iterator[Entry]:
    for late in ("divert", "drop", "adjust"):
        yield Entry(f"sort, {late}", made(Sort(TIME), late=late))
    yield Entry("sort, raise", made(Sort(TIME), late="raise", clock=OneClock((400 * SECOND,))))
    yield Entry("sort of all", made(Sort(TIME), key=()))
    yield Entry("sort with a limit", made(Sort(TIME), held_limit=10_000))
    yield Entry("sort, ahead", made(Sort(TIME), ahead=30 * SECOND))
    yield Entry("sort, idle", made(Sort(TIME), clock=OneClock((3 * SECOND,), 3 * SECOND)))
    yield Entry("in order", made(InOrder(TIME), clock=OneClock((0,))), is_ordered=True)
    yield Entry("waits", made(Levels(TIME, WAITS), clock=OneClock(WAITS)))
    for late in ("divert", "drop"):
        own = ClockPerKey((3 * SECOND,), None, ("k",))
        yield Entry(f"clocks of keys, {late}", made(Sort(TIME), clock=own, late=late))
    own = ClockPerKey((3 * SECOND,), 4 * SECOND, ("k",))
    yield Entry("clocks of keys, idle", made(Sort(TIME), clock=own))
    promising = replace(own, idle=None, promise="_lc_a", promised="a")
    yield Entry("clocks of keys, promises", made(Sort(TIME), clock=promising))
    slowest = ClockBySource((3 * SECOND,), sources=("k",))
    yield Entry("sources", made(Sort(TIME), clock=slowest))
    silent = replace(slowest, idle=4 * SECOND)
    yield Entry("sources, idle", made(Sort(TIME), clock=silent))
    promised = replace(slowest, promise="_lc_a", promised="a")
    yield Entry("sources, promises", made(Sort(TIME), clock=promised))
    yield Entry("promises", made(Sort(TIME), clock=replace(promised, sources=())))
    yield Entry("recall", made(Sort(TIME), clock=ClockByRecall(recalls=(0.9,))))
    each = ClockByRecall(recalls=(0.9,), within=20 * SECOND)
    yield Entry("recall within a period", made(Sort(TIME), clock=each))
    yield Entry("recalls", made(Sort(TIME), clock=ClockByRecall(recalls=(0.7, 0.95))))
    distinct = Distinct(TIME, ("k", "v"), 8 * SECOND, ("k",))
    yield Entry("distinct", made(Sort(TIME), distinct))
    yield Entry("distinct, clocks of keys", made(Sort(TIME), distinct, clock=own))


def _aggregates() -> Iterator[Entry]:
    clock = OneClock(WAITS)
    for late in ("divert", "drop"):
        yield Entry(f"windows, {late}", made(_windows(), clock=clock, late=late))
    yield Entry(
        "windows, fold",
        made(_windows(horizon=20 * SECOND), clock=OneClock(WAITS, horizon=20 * SECOND)),
    )
    own = ClockPerKey(WAITS, None, ("k",))
    yield Entry("windows, clocks of keys", made(_windows(), clock=own))
    folded = replace(own, horizon=20 * SECOND)
    yield Entry("windows, fold, clocks of keys", made(_windows(horizon=20 * SECOND), clock=folded))
    slowest = ClockBySource(WAITS, sources=("k",))
    yield Entry("windows, sources", made(_windows(), clock=slowest))
    yield Entry("windows, idle", made(_windows(), clock=OneClock(WAITS, 5 * SECOND)))
    recall = ClockByRecall(recalls=(0.9,))
    yield Entry("windows, recall", made(_windows((0,)), clock=recall))
    folded_ = replace(recall, horizon=20 * SECOND)
    yield Entry("windows, fold, recall", made(_windows((0,), horizon=20 * SECOND), clock=folded_))
    several = Summary(("k",), (("all", agg.collect("v")), ("different", agg.count_distinct("v"))))
    yield Entry(
        "windows, lists",
        made(_windows((4 * SECOND,), summary=several), clock=OneClock((4 * SECOND,))),
    )
    for waits in (WAITS, WAITS[:1]):
        operators = sliding(TIME, waits, 5 * SECOND, COUNTS, SCHEMA)
        yield Entry(f"sliding, {len(waits)}", made(*operators, clock=OneClock(waits)))
    for late in ("divert", "drop"):
        plan = made(_windows(), clock=clock, late=late)
        yield Entry(f"states on the driver, {late}", plan, states="driver")
    plan = made(_windows(), clock=clock, ahead=30 * SECOND)
    yield Entry("states on the driver, ahead", plan, states="driver")
    key = ("window", "k")
    yield Entry("upsert", made(_windows(), clock=clock), key=key)
    yield Entry(
        "upsert, states on the driver", made(_windows(), clock=clock), states="driver", key=key
    )


def _patterns() -> Iterator[Entry]:
    a, b = Event("a", "_lc_a"), Event("b", "_lc_b")
    detect = Detect(TIME, ("k",), compiled(Then(a, b)), 20 * SECOND)
    yield Entry("pattern", made(Sort(TIME), detect))
    some = compiled(Then(Some(a, 1, 2), b))
    silent = replace(some, guards=(*some.guards, "_lc_a"))
    absent = Detect(TIME, ("k",), silent, 20 * SECOND, silence=3 * SECOND, may_overlap=False)
    yield Entry("pattern, absence", made(Sort(TIME), absent))
    levels = once_per_wait((Levels(TIME, WAITS), detect))
    yield Entry("pattern, waits", made(*levels, clock=OneClock(WAITS)))
    own = ClockPerKey(WAITS, None, ("k",))
    yield Entry("pattern, waits, clocks of keys", made(*levels, clock=own))


def _lifetimes(schema: pa.Schema = SCHEMA) -> Plan:
    value = schema.names[4]
    return made(Sort(TIME), Lasting(TIME, 4 * SECOND, ("k", value)), key=(), rows=schema)


def _scaled(spec: Any) -> Any:  # noqa: ANN401
    """Turn microseconds into seconds: rows of the temporal catalogue are a microsecond apart."""
    changes = {}
    for field in fields(spec):
        value = getattr(spec, field.name)
        if type(value) is int:
            changes[field.name] = value * SECOND
        elif isinstance(value, Closing):
            changes[field.name] = _scaled(value)
    return replace(spec, **changes)


def _temporal() -> Iterator[Entry]:
    whole = Whole(KIND)
    ends = made(Sort(TIME), Lifetimes(TIME, END), end=END)
    yield Entry("lifetimes", placement.then(ends, whole))
    lag = made(Sort(END), Lifetimes(TIME, END, 9 * SECOND), key=())
    lag = replace(lag, source=replace(lag.source, time=END))
    yield Entry("lifetimes that are known when they end", placement.then(lag, whole))
    yield Entry("edges", placement.then(ends, AsEdges(KIND)))
    paired = made(Sort(TIME), Paired(TIME, BEGIN, END), begin=BEGIN, end=END)
    yield Entry("pairs", placement.then(paired, whole), (PAIRS,))
    for number, each in enumerate(CATALOGUE):
        spec, name = _scaled(each.spec), f"temporal {number}, {type(each.spec).__name__}"
        if isinstance(spec, Binary):
            right = SCHEMA if each.alike else OTHER
            met = placement.meet(_lifetimes(), spec, _lifetimes(right), right)
            yield Entry(name, placement.then(met, whole), (SCHEMA, right))
        elif not isinstance(spec, Dated):
            yield Entry(name, reduce(placement.then, [spec, whole], _lifetimes()))
    dated = Dated(TimeColumn("at"), KIND)
    yield Entry("dated", reduce(placement.then, [dated, Alter(2 * SECOND), whole], _lifetimes()))
    by_key = SnapshotAggregate(Summary(("k",), (("rows", agg.count()),)))
    of_all = SnapshotAggregate(Summary((), (("most", agg.max("rows")),)))
    yield Entry("two stages", reduce(placement.then, [by_key, of_all, whole], _lifetimes()))


def _optimistic() -> Iterator[Entry]:
    value = pa.schema([("v", pa.int64())])
    steps: dict[str, list[Operator]] = {
        "stateful": [Stateful(TIME, ("k",), total, 0, value, 2)],
        "grouping": [Grouping(TIME, ("k",), 3)],
        "chain": [FlatMap(TIME, split, BOTH), Stateful(TIME, ("k",), total, 0, value, 64)],
    }
    ways: dict[str, Callable[[], Operator]] = {
        "barrier": lambda: Barrier(TIME),
        "changelog": Changelog,
    }
    for name, operators in steps.items():
        for way, out in ways.items():
            plan = made(Enter(TIME, ("k",)), key=("k",))
            plan = reduce(placement.then_optimistic, [*operators, out()], plan)
            yield Entry(f"optimistic {name}, {way}", plan)


def _joins() -> Iterator[Entry]:
    for wait in (3 * SECOND, "max", "recall"):
        inputs = tuple(Input(name, TIME, ARRIVAL) for name in "ab")
        join = WindowJoin((5 * SECOND, 2 * SECOND), Equalities.common("k", "k"))
        asked = QualityJoin(
            inputs, join, wait, Quality(0.8, 20 * SECOND, 4 * SECOND, SECOND, SECOND)
        )
        sources = [Source(TIME, ("k",), ARRIVAL, rows=SCHEMA, number=at) for at in range(2)]
        stage = Stage(("k",), as_read=True)
        right = Plan(sources[1], OneClock((0,)), "divert", (stage,))
        joined = replace(stage, join=Gathering(asked, (right,), (SCHEMA, SCHEMA)))
        plan = Plan(sources[0], OneClock((0,)), "divert", (joined,))
        yield Entry(f"window join, {wait}", plan, (SCHEMA, SCHEMA))


def catalogue() -> list[Entry]:
    """Return all plans."""
    kinds = (_sorts, _aggregates, _patterns, _temporal, _optimistic, _joins)
    return [entry for kind in kinds for entry in kind()]


def sink(entry: Entry, path: str) -> Any:  # noqa: ANN401
    """Return the output for the ready rows of a plan."""
    return upsert(path, key=list(entry.key)) if entry.key else path
