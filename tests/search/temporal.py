"""Operators on lifetimes: up to two on each of two streams, which are then joined.

From docs/temporal.md: a row counts in [start, end). A null end means that the row never ends. A row
whose end is not after its start is late. Joined streams share one clock, the slowest, and each has
its own wait; with a clock for each key, this holds for each key. `where` keeps rows by a condition,
and `with_columns` adds a column. In a join, a null equals nothing. Rows that have not ended at the
end of the stream have no end. Rows that follow each other are stitched if they are equal in all
columns or in a key, or if a function of both returns True. Other columns are carried along.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from latecomer.clock.policy import ClockPerKey, OneClock
from latecomer.hosts.local import LocalHost
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.alter import Alter, PointAtEnd, Quantize, Shift
from latecomer.operators.temporal.binary import On
from latecomer.operators.temporal.chop import Chop
from latecomer.operators.temporal.clip import Clip, ClipBy, UntilNext
from latecomer.operators.temporal.conditions import Computed, Condition
from latecomer.operators.temporal.edges import payload_schema
from latecomer.operators.temporal.extend import Extend
from latecomer.operators.temporal.join import Join
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.operators.temporal.rowwise import Compute, Keep
from latecomer.operators.temporal.session import Closing, Session
from latecomer.operators.temporal.stitch import Stitch
from latecomer.operators.temporal.union import Union
from latecomer.operators.temporal.whole import Whole
from latecomer.plan import Plan, Source, Stage, placement
from latecomer.time import TimeColumn
from tests.search.cases import Case
from tests.search.lives import (
    EVER,
    LONG,
    POINT,
    SECOND,
    TOLERANCE,
    Life,
    changed,
    followed,
    met,
    stitched,
)

if TYPE_CHECKING:
    import random

AMBIGUOUS = "which rows are stitched is left open"
KIND = pa.timestamp("us", "UTC")
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - compared with times without a zone
UNARY = (
    *(("alter", each) for each in (3, 8, None)),
    *(("extend", each) for each in (2, -2)),
    *(("shift", each) for each in (4, -3)),
    *(("clip", each) for each in (1, 4)),
    *(("until_next", each) for each in (True, False)),
    *(("session", each) for each in (True, False)),
    ("chop", 5),
    ("quantize", (4, 4)),
    ("quantize", (6, 3)),
    ("quantize", (5, 2)),
    ("point_at_end", None),
    ("where", 1),
)
"""Operators on one stream, with a length in seconds, or with whether they run for each key."""
BINARY = ("inner", "left", "full", "anti", "clip", "union", "asof")
STRICT = pa.list_(pa.struct([pa.field("p", pa.int64(), nullable=False)]))


def draw(rng: random.Random) -> Case:
    """Draw a case. A row is a stream, a start, an end, a key and a value."""
    meets = rng.choice([None, *BINARY])
    options = {
        "waits": tuple(rng.choice([0, 3, 30]) for _ in range(1 if meets is None else 2)),
        "before": tuple(
            tuple(rng.choice(UNARY) for _ in range(rng.choice([0, 1, 1, 2]))) for _ in range(2)
        ),
        "meets": meets,
        "on": rng.choice([True, True, False]),
        "where": meets in ("inner", "left", "full", "anti") and rng.random() < 0.3,
        "after": tuple(
            rng.choice([*UNARY, ("with_columns", None)]) for _ in range(rng.choice([0, 0, 1]))
        ),
        "stitch": rng.choice([None] * 8 + ["all", "key", "equal", "key and equal"]),
    }
    options["carried"] = options["stitch"] != "all" and rng.random() < 0.3
    asked = [*options["before"][0], *options["before"][1], *options["after"]]
    # Rows of different keys can only be combined if they share a clock.
    may_own = all(by is not False for _, by in asked) and options["on"] and meets != "union"
    may_own &= options["stitch"] != "equal"
    options["own"] = may_own and rng.random() < 0.5
    at, batches, disorder = 0, [], rng.choice([0, 4, 12])
    for _ in range(rng.randint(1, 6)):
        rows = []
        for _ in range(rng.choice([0, 2, 5])):
            start = at + rng.randint(-disorder, 3)
            end = rng.choice([None, start - 1, start, *(start + more for more in (1, 2, 3, 5, 9))])
            side = 0 if meets is None else rng.randrange(2)
            rows.append((side, start, end, rng.choice(["a", "b", None]), rng.randrange(3)))
        batches.append(tuple(rows))
        at += rng.choice([0, 3, 7])
    return Case(options, tuple(batches))


def found(case: Case) -> Any:  # noqa: ANN401
    """Return the late rows, and all output rows."""
    options = case.options
    if expected(case) == AMBIGUOUS:
        return AMBIGUOUS
    schemas = [_schema(options, side) for side in range(len(options["waits"]))]
    plans = [_plan(options, side, schema) for side, schema in enumerate(schemas)]
    plan = plans[0]
    if options["meets"]:
        plan = placement.meet(plan, _binary(options), plans[1], schemas[1])
    for name, by in options["after"]:
        if name == "with_columns":
            payload = payload_schema(plan.output_schema(schemas[0]))
            plan = placement.then(plan, Compute((("more", Computed.of(more, payload)),)))
        else:
            plan = reduce(placement.then, _operators(name, by, "kv"), plan)
    operators = [STITCHES[options["stitch"]]] if options["stitch"] else []
    plan = reduce(placement.then, [*operators, Whole(KIND)], plan)
    host, steps, number = LocalHost(plan, *schemas), [], 0
    for rows in case.batches:
        numbered = list(enumerate(rows, number))
        number += len(rows)
        tables = []
        for side, schema in enumerate(schemas):
            own = [(*row[1:], at, _carried(at)) for at, row in numbered if row[0] == side]
            columns = [[row[0] * SECOND for row in own]]
            columns += [[None if row[1] is None else row[1] * SECOND for row in own]]
            columns += [[row[at] for row in own] for at in range(2, len(schema))]
            arrays = [pa.array(c, t) for c, t in zip(columns, schema.types, strict=True)]
            tables.append(pa.table(arrays, schema=schema))
        steps.append(host.step(*tables))
    steps.append(host.finish())
    late = [
        list(row.values())[4] for step in steps for part in step.lates for row in part.to_pylist()
    ]
    answers = []
    for row in (row for step in steps for row in step.ready.to_pylist()):
        start, end, key, *rest = row.values()
        until = EVER if end is None else _micros(end)
        answers.append(Life(_micros(start), until, key, tuple(map(_hashable, rest))))
    return sorted(late), _compared(answers, options)


def _micros(time: datetime) -> int:
    return (time.replace(tzinfo=None) - EPOCH) // timedelta(microseconds=1)


def _compared(answers: list[Life], options: dict[str, Any]) -> Any:  # noqa: ANN401
    """Count rows. If equal rows may be stitched in several ways, count starts and ends apart."""
    if options["stitch"] not in ("all", "key"):
        return Counter(answers)
    if options["stitch"] == "key":
        answers = [row._replace(rest=()) for row in answers]
    starts = Counter((row.start, row.key, row.rest) for row in answers)
    return starts, Counter((row.end, row.key, row.rest) for row in answers)


def _schema(options: dict[str, Any], side: int) -> pa.Schema:
    key, *names = "kvn" if side == 0 or options["meets"] == "union" else "jwm"
    fields = {"begins": KIND, "ends": KIND, key: pa.string()}
    fields |= {name: pa.int64() for name in names}
    return pa.schema(fields | ({f"{key}_carried": STRICT} if options["carried"] else {}))


def _carried(number: int) -> Any:  # noqa: ANN401
    """Return the value of the carried column: null, or a list with a null and a struct."""
    return None if number % 2 else [None, {"p": number}]


def _hashable(value: Any) -> Any:  # noqa: ANN401
    return repr(value) if isinstance(value, list) else value


def _plan(options: dict[str, Any], side: int, schema: pa.Schema) -> Plan:
    time, end = TimeColumn("begins"), TimeColumn("ends")
    source = Source(time, end=end, rows=schema)
    own, waits = (schema.names[2],), (options["waits"][side] * SECOND,)
    clock = ClockPerKey(waits, None, own) if options["own"] else OneClock(waits)
    stage = Stage(own if options["own"] else (), (Sort(time),))
    plan = Plan(source, clock, "divert", (stage,))
    names = "".join(schema.names[2:4])
    operators = [op for each in options["before"][side] for op in _operators(*each, names)]
    if options["meets"] == "asof":
        signal = [*_operators("until_next", options["on"], names), Clip(TOLERANCE + POINT)]
        operators += signal if side else [Alter(POINT)]
    return reduce(placement.then, [Lifetimes(time, end), *operators], plan)


def _operators(name: str, by: Any, names: str) -> list[Any]:  # noqa: ANN401
    """Return the operators of a method, for the names of key and value. `chop` needs an end."""
    if name == "where":
        return [Keep(Condition(WHERE[names[1]]))]
    first = {"until_next": [Alter(None)], "chop": [Clip(LONG)]}.get(name, [])
    return [*first, _unary(name, by, (names[0],) if by is True else ())]


def more(row: Any) -> Any:  # noqa: ANN401
    """Compute a column. It is null if the value is null."""
    return row.v * 2 + 1


def near(before: Any, after: Any) -> bool:  # noqa: ANN401
    """Return True if values differ by at most 1. This relation is not transitive."""
    return abs((before.v or 0) - (after.v or 0)) <= 1


STITCHES = {
    "all": Stitch(),
    "key": Stitch(("k",)),
    "equal": Stitch((), Condition(near)),
    "key and equal": Stitch(("k",), Condition(near)),
}
WHERE = {"v": lambda row: row.v >= 1, "w": lambda row: row.w >= 1}


def _unary(name: str, by: Any, key: tuple[str, ...]) -> Any:  # noqa: ANN401
    length = by * SECOND if isinstance(by, int) else 0
    match name:
        case "alter":
            return Alter(None if by is None else length)
        case "until_next":
            return UntilNext(key)
        case "session":
            return Session(key, Closing(3 * SECOND))
        case "quantize":
            return Quantize(*(each * SECOND for each in by))
        case "point_at_end":
            return PointAtEnd()
    return {"extend": Extend, "shift": Shift, "clip": Clip, "chop": Chop}[name](length)


def _binary(options: dict[str, Any]) -> Any:  # noqa: ANN401
    on = On(("k",), ("j",)) if options["on"] else On()
    where = Condition(lambda left, right: left.v <= right.w) if options["where"] else None
    match options["meets"]:
        case "clip":
            return ClipBy(on)
        case "union":
            return Union()
        case "asof":
            return Join(on)
    return Join(on, options["meets"], where)


def expected(case: Case) -> Any:  # noqa: ANN401
    """Compute the same result from all rows that are not late."""
    options, sides = case.options, range(len(case.options["waits"]))
    newest: dict[tuple[int, Any], int] = {}
    late, number = [], 0
    streams: list[list[Life]] = [[], []]
    for rows in case.batches:
        before = dict(newest)
        for side, start, end, key, value in rows:
            owner = key if options["own"] else "all"
            heard = [before[each, owner] for each in sides if (each, owner) in before]
            is_behind = len(heard) == len(sides) and start < min(heard) - options["waits"][side]
            if is_behind or (end is not None and end <= start):
                late.append(number)
            else:
                until = EVER if end is None else end * SECOND
                rest = (value, number, *([_hashable(_carried(number))] * options["carried"]))
                streams[side].append(Life(start * SECOND, until, key, rest))
            number += 1
            if end is None or end > start:
                newest[side, owner] = max(start, newest.get((side, owner), start))
    left, right = (
        reduce(changed, options["before"][side], rows) for side, rows in enumerate(streams)
    )
    rows = met(left, right, options) if options["meets"] else left
    rows = reduce(changed, options["after"], rows)
    match options["stitch"]:
        case "all":
            rows = stitched(rows, lambda row: (row.key, row.rest))
        case "key":
            rows = stitched(rows, lambda row: row.key)
        case "equal" | "key and equal":
            if (found := followed(rows, by_key=options["stitch"] != "equal")) is None:
                return AMBIGUOUS
            rows = found
    return late, _compared(rows, options)
