"""Operators on lifetimes: up to two in a row on each of two streams, which then meet.

From docs/temporal.md: a row counts in [start, end); a null end is for ever, and a row that does not
end after it begins is late. Streams that meet have one clock, the slowest, and each its own wait;
with a clock for each key, this is so for each key by itself. `where` keeps rows by what they hold.
A null is equal to nothing in a join. What has not ended when the stream has, has no end.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from latecomer.clock.policy import ClockPerKey, OneClock
from latecomer.hosts.local import LocalHost
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.alter import Alter, Quantize, Shift
from latecomer.operators.temporal.binary import On
from latecomer.operators.temporal.chop import Chop
from latecomer.operators.temporal.clip import Clip, ClipBy, UntilNext
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.temporal.extend import Extend
from latecomer.operators.temporal.join import Join
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.operators.temporal.point_at_end import PointAtEnd
from latecomer.operators.temporal.rowwise import Keep
from latecomer.operators.temporal.session import Closing, Session
from latecomer.operators.temporal.stitch import Stitch
from latecomer.operators.temporal.union import Union
from latecomer.operators.temporal.whole import Whole
from latecomer.plan import Plan, Source, Stage, placement
from latecomer.time import TimeColumn
from tests.search.cases import Case

if TYPE_CHECKING:
    import random

SECOND, POINT = 1_000_000, 1
KIND = pa.timestamp("us", "UTC")
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - compared with times without a zone
EVER = 10**18
"""After all times."""
LONG = 12 * SECOND
"""How long a row lasts at the most that is chopped."""
UNARY = (
    *(("alter", each) for each in (3, 8, None)),
    *(("extend", each) for each in (2, -2)),
    *(("shift", each) for each in (4, -3)),
    *(("clip", each) for each in (1, 4)),
    *(("until_next", each) for each in (True, False)),
    *(("session", each) for each in (True, False)),
    ("chop", 5),
    ("quantize", 4),
    ("point_at_end", None),
    ("where", 1),
)
"""With a length in seconds, or whether it is by key."""
BINARY = ("inner", "left", "full", "anti", "clip", "union", "asof")
TOLERANCE = 4 * SECOND
"""Of an as-of join: how long ago a partner began at the most."""


class Life(NamedTuple):
    """A row with its lifetime; what is in it are the key and what else there is."""

    start: int
    end: int
    key: str | None
    rest: tuple[Any, ...]


def draw(rng: random.Random) -> Case:
    """Draw a case; rows are of stream, start, end, key and value."""
    meets = rng.choice([None, *BINARY])
    options = {
        "waits": tuple(rng.choice([0, 3, 30]) for _ in range(1 if meets is None else 2)),
        "before": tuple(
            tuple(rng.choice(UNARY) for _ in range(rng.choice([0, 1, 1, 2]))) for _ in range(2)
        ),
        "meets": meets,
        "on": rng.choice([True, True, False]),
        "where": meets in ("inner", "left", "full", "anti") and rng.random() < 0.3,
        "after": tuple(rng.choice(UNARY) for _ in range(rng.choice([0, 0, 1]))),
        "stitch": rng.random() < 0.2,
    }
    asked = [*options["before"][0], *options["before"][1], *options["after"]]
    # Rows of different clocks have no common time.
    may_own = all(by is not False for _, by in asked) and options["on"] and meets != "union"
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
    """Return all rows that come out, and which are late."""
    options = case.options
    schemas = [_schema(options, side) for side in range(len(options["waits"]))]
    plans = [_plan(options, side, schema) for side, schema in enumerate(schemas)]
    plan = plans[0]
    if options["meets"]:
        plan = placement.meet(plan, _binary(options), plans[1], schemas[1])
    operators = [op for each in options["after"] for op in _operators(*each, "kv")]
    operators += [Stitch()] if options["stitch"] else []
    plan = reduce(placement.then, [*operators, Whole(KIND)], plan)
    host, steps, number = LocalHost(plan, schemas[0], "batch", *schemas[1:]), [], 0
    for rows in case.batches:
        numbered = list(enumerate(rows, number))
        number += len(rows)
        tables = []
        for side, schema in enumerate(schemas):
            own = [(*row[1:], at) for at, row in numbered if row[0] == side]
            columns = [[row[0] * SECOND for row in own]]
            columns += [[None if row[1] is None else row[1] * SECOND for row in own]]
            columns += [[row[at] for row in own] for at in (2, 3, 4)]
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
        answers.append(Life(_micros(start), until, key, tuple(rest)))
    return sorted(late), _compared(answers, options)


def _micros(time: datetime) -> int:
    return (time.replace(tzinfo=None) - EPOCH) // timedelta(microseconds=1)


def _compared(answers: list[Life], options: dict[str, Any]) -> Any:  # noqa: ANN401
    """Count rows. Which of equal rows are stitched together is left open, so ends are apart."""
    if not options["stitch"]:
        return Counter(answers)
    starts = Counter((row.start, row.key, row.rest) for row in answers)
    return starts, Counter((row.end, row.key, row.rest) for row in answers)


def _schema(options: dict[str, Any], side: int) -> pa.Schema:
    key, *names = "kvn" if side == 0 or options["meets"] == "union" else "jwm"
    fields = {"begins": KIND, "ends": KIND, key: pa.string()}
    return pa.schema(fields | {name: pa.int64() for name in names})


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
    """Make what a method of a stream makes, given its key and value; what is chopped must end."""
    if name == "where":
        return [Keep(Condition(WHERE[names[1]]))]
    first = {"until_next": [Alter(None)], "chop": [Clip(LONG)]}.get(name, [])
    return [*first, _unary(name, by, (names[0],) if by is True else ())]


WHERE = {"v": lambda row: row.v >= 1, "w": lambda row: row.w >= 1}


def _unary(name: str, by: Any, key: tuple[str, ...]) -> Any:  # noqa: ANN401
    length = 0 if by is None else by * SECOND
    match name:
        case "alter":
            return Alter(None if by is None else length)
        case "until_next":
            return UntilNext(key)
        case "session":
            return Session(key, Closing(3 * SECOND))
        case "quantize":
            return Quantize(length, length)
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
    """Work out the same, from all rows that are not late."""
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
                streams[side].append(Life(start * SECOND, until, key, (value, number)))
            number += 1
            if end is None or end > start:
                newest[side, owner] = max(start, newest.get((side, owner), start))
    left, right = (
        reduce(_changed, options["before"][side], rows) for side, rows in enumerate(streams)
    )
    met = _met(left, right, options) if options["meets"] else left
    met = reduce(_changed, options["after"], met)
    return late, _compared(_stitched(met) if options["stitch"] else met, options)


def _changed(rows: list[Life], asked: tuple[str, Any]) -> list[Life]:
    """Change lifetimes; those that become empty are removed, and so are rows left out."""
    if asked[0] == "where":
        return [row for row in rows if row.rest[0] is not None and row.rest[0] >= asked[1]]
    found = [
        row._replace(start=start, end=end)
        for row in rows
        for start, end in _lifetimes(row, rows, *asked)
    ]
    return [row for row in found if row.start < row.end]


def _lifetimes(  # noqa: PLR0911 - one for each operator
    row: Life,
    rows: list[Life],
    name: str,
    by: Any,  # noqa: ANN401
) -> list[tuple[int, int]]:
    start, end, is_ever = row.start, row.end, row.end == EVER
    length = 0 if by is None else by * SECOND
    own = sorted(each.start for each in rows if by is not True or each.key == row.key)
    match name:
        case "alter":
            return [(start, EVER if by is None else start + length)]
        case "extend":
            return [(start, EVER if is_ever else end + length)]
        case "shift":
            return [(start + length, EVER if is_ever else end + length)]
        case "clip":
            return [(start, min(end, start + length))]
        case "until_next":
            return [(start, min((each for each in own if each > start), default=EVER))]
        case "session":
            last = start
            for each in own:
                last = each if last <= each < last + 3 * SECOND else last
            return [(start, last + 3 * SECOND)]
        case "quantize":
            return [(start // length * length, EVER if is_ever else -(-end // length) * length)]
        case "point_at_end":
            return [] if is_ever else [(end, end + POINT)]
    end = min(end, start + LONG)
    cuts = [start, *range((start // length + 1) * length, end, length), end]
    return list(pairwise(cuts))


def _met(left: list[Life], right: list[Life], options: dict[str, Any]) -> list[Life]:
    how, out = options["meets"], list[Life]()
    if how == "union":
        return left + right
    pairs = [(one, other) for one in left for other in right if _are_partners(one, other, options)]
    if how == "clip":
        return [_cut(row, [other for one, other in pairs if one is row]) for row in left]
    if how != "anti":
        for one, other in _as_of(pairs) if how == "asof" else pairs:
            start, end = max(one.start, other.start), min(one.end, other.end)
            if start < end:
                theirs = other.rest if options["on"] else (other.key, *other.rest)
                out.append(Life(start, end, one.key, one.rest + theirs))
    more = (None,) * (2 if options["on"] else 3)
    if how in ("left", "full", "anti"):
        for row in left:
            rest = row.rest if how == "anti" else row.rest + more
            alone = _alone(row, [other for one, other in pairs if one is row])
            out += [Life(start, end, row.key, rest) for start, end in alone]
    if how == "full":
        for row in right:
            alone = _alone(row, [one for one, other in pairs if other is row])
            key = row.key if options["on"] else None
            theirs = row.rest if options["on"] else (row.key, *row.rest)
            out += [Life(start, end, key, (None, None, *theirs)) for start, end in alone]
    return out


def _cut(row: Life, partners: list[Life]) -> Life:
    """Let a row end where a partner begins after it."""
    begins = [other.start for other in partners if other.start > row.start]
    return row._replace(end=min([row.end, *begins]))


def _as_of(pairs: list[tuple[Life, Life]]) -> list[tuple[Life, Life]]:
    """Let rows be points in time, whose partners are the last that began by then, for ever."""
    out = []
    for one, other in pairs:
        begins = [each.start for own, each in pairs if own is one and each.start <= one.start]
        is_last = other.start == max(begins, default=None)
        if is_last and one.start - other.start <= TOLERANCE:
            out.append((one._replace(end=one.start + POINT), other._replace(end=EVER)))
    return out


def _are_partners(one: Life, other: Life, options: dict[str, Any]) -> bool:
    is_equal = not options["on"] or (one.key is not None and one.key == other.key)
    return is_equal and (not options["where"] or one.rest[0] <= other.rest[0])


def _alone(row: Life, partners: list[Life]) -> list[tuple[int, int]]:
    """Return when a row counts and no partner does."""
    out, since = [], row.start
    for partner in sorted(partners, key=lambda each: each.start):
        if partner.start > since:
            out.append((since, min(partner.start, row.end)))
        since = max(since, partner.end)
        if since >= row.end:
            break
    else:
        out.append((since, row.end))
    return [(start, end) for start, end in out if start < end]


def _stitched(rows: list[Life]) -> list[Life]:
    """Put together two rows that are equal and follow each other, until there are none."""
    rows = list(rows)
    for one in rows:
        for other in rows:
            if (one.end, one.key, one.rest) == (other.start, other.key, other.rest):
                left = [row for row in rows if row is not one and row is not other]
                return _stitched([*left, one._replace(end=other.end)])
    return rows
