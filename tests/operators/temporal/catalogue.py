"""Every temporal operator, with its definition. The laws are tested for all of them.

A new operator needs an entry here; `test_laws.py` fails if one has none.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from latecomer import agg
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.temporal.aggregate import SnapshotAggregate
from latecomer.operators.temporal.alter import Alter, PointAtEnd, Quantize, Shift
from latecomer.operators.temporal.binary import Binary, On
from latecomer.operators.temporal.chop import Chop
from latecomer.operators.temporal.clip import Clip, ClipBy, UntilNext
from latecomer.operators.temporal.conditions import Computed, Condition
from latecomer.operators.temporal.extend import Extend
from latecomer.operators.temporal.join import Join
from latecomer.operators.temporal.lifetimes import Dated, Lasting, Lifetimes
from latecomer.operators.temporal.paired import Paired
from latecomer.operators.temporal.rowwise import Compute, Keep
from latecomer.operators.temporal.session import Closing, Session
from latecomer.operators.temporal.session_aggregate import SessionAggregate
from latecomer.operators.temporal.stitch import Stitch
from latecomer.operators.temporal.union import Union
from latecomer.operators.temporal.whole import AsEdges, AsWindows, Whole
from latecomer.time import TimeColumn
from tests.operators.temporal import oracle
from tests.operators.temporal.driving import LEFT, RIGHT, Node, Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from latecomer.operators.temporal.specification import Temporal
    from tests.operators.temporal.oracle import Event, Stream

AT_THE_RIM = {AsEdges, AsWindows, Lasting, Lifetimes, Paired, Whole}
"""Operators whose input or output has no edges. Each has a test module of its own."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An operator with its definition."""

    spec: Temporal | Binary
    definition: Callable[..., Counter[Event]]
    endless: bool = True
    """Whether the definition also covers rows that never end."""
    alike: bool = False
    """Whether both streams must have the same columns."""

    def __str__(self) -> str:
        # Names have no addresses of functions, because all test processes must use the same names.
        return re.sub(r" at 0x[0-9a-f]+", "", repr(self.spec))

    @property
    def sides(self) -> int:
        return 2 if isinstance(self.spec, Binary) else 1

    def root(self) -> Node:
        schemas = [LEFT, LEFT if self.alike else RIGHT][: self.sides]
        return Node(self.spec, *(Source(side, schema) for side, schema in enumerate(schemas)))

    def expected(self, *sides: Stream) -> Counter[Event]:
        return self.definition(*sides)


def key(payload: tuple[Any, ...]) -> Any:  # noqa: ANN401
    return payload[0]


def values(counting: Stream) -> list[int]:
    return [payload[1] for _, _, payload in counting if payload[1] is not None]


def total(name: Any, counting: Stream) -> tuple[Any, ...]:  # noqa: ANN401
    return (name, sum(values(counting)) if values(counting) else None)


def several(name: Any, counting: Stream) -> tuple[Any, ...]:  # noqa: ANN401
    found = values(counting)
    return name, len(counting), max(found, default=None), len(set(found))


def of_sessions(events: Stream, timeout: int, most: int | None) -> Counter[Event]:
    return Counter(
        (end, end + 1, ((members[0][0], end), *several(key(members[0][2]), members)))
        for end, members in oracle.sessions(events, key, timeout, most)
    )


def same_key(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    return left[0] is not None and left[0] == right[0]


def same_key_and_up(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    return same_key(left, right) and None not in (left[1], right[1]) and left[1] <= right[1]


def pair(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*left, right[1])


def left_join(
    left: Stream, right: Stream, matches: Callable[[Any, Any], bool] = same_key
) -> Counter[Event]:
    lonely = oracle.anti_join(left, right, matches)
    return oracle.join(left, right, matches, pair) + oracle.renamed(lonely, lambda p: (*p, None))


def full_join(
    left: Stream, right: Stream, matches: Callable[[Any, Any], bool] = same_key
) -> Counter[Event]:
    lonely = oracle.anti_join(right, left, lambda a, b: matches(b, a))
    return left_join(left, right, matches) + oracle.renamed(lonely, lambda p: (p[0], None, p[1]))


def is_up(left: Any, right: Any) -> bool:  # noqa: ANN401
    return left.v is not None and right.w is not None and left.v <= right.w


def is_high(row: Any) -> bool:  # noqa: ANN401
    return row.v > 1


def twice(row: Any) -> int:  # noqa: ANN401
    return 2 * row.v


def is_near(before: Any, after: Any) -> bool:  # noqa: ANN401
    return before.k == after.k and abs(before.v - after.v) <= 1


def are_near(before: tuple[Any, ...], after: tuple[Any, ...]) -> bool:
    known = None not in (before[1], after[1])
    return before[0] == after[0] and known and abs(before[1] - after[1]) <= 1


SAME = On(("k",), ("k",))
UP = Condition(is_up)
TOTAL = SnapshotAggregate(Summary(("k",), (("v", agg.sum("v")),)))
OF_EACH = Summary(
    ("k",),
    (("rows", agg.count()), ("high", agg.max("v")), ("values", agg.count_distinct("v"))),
)
SEVERAL = SnapshotAggregate(OF_EACH)

KEEPING_COLUMNS = (
    Entry(Alter(5), lambda e: oracle.alter(e, 5)),
    Entry(Shift(4), lambda e: oracle.shift(e, 4)),
    Entry(Shift(-4), lambda e: oracle.shift(e, -4)),
    Entry(Quantize(10, 5, 2), lambda e: oracle.quantize(e, 10, 5, 2)),
    Entry(Extend(3), lambda e: oracle.extend(e, 3)),
    Entry(Extend(-6), lambda e: oracle.extend(e, -6)),
    Entry(Clip(6), lambda e: oracle.clip(e, 6)),
    Entry(UntilNext(("k",)), lambda e: oracle.until_next(e, key)),
    Entry(Session(("k",), Closing(4)), lambda e: oracle.session(e, key, 4, None)),
    Entry(Session(("k",), Closing(6, 5)), lambda e: oracle.session(e, key, 6, 5)),
    Entry(PointAtEnd(), oracle.point_at_end),
    Entry(Chop(7, 3), lambda e: oracle.chop(e, 7, 3), endless=False),
    Entry(Stitch(), oracle.stitch),
    Entry(Stitch(("k",)), lambda e: oracle.stitch(e, lambda a, b: a[0] == b[0])),
    Entry(Stitch((), Condition(is_near)), lambda e: oracle.stitch(e, are_near)),
    Entry(Keep(Condition(is_high)), lambda e: Counter(each for each in e if (each[2][1] or 0) > 1)),
)
"""Operators on one stream that keep its columns, so that they can be chained."""

SUM = Entry(TOTAL, lambda e: oracle.snapshots(e, key, total))

CATALOGUE = (
    *KEEPING_COLUMNS,
    Entry(Alter(None), lambda e: oracle.alter(e, None)),
    SUM,
    Entry(SEVERAL, lambda e: oracle.snapshots(e, key, several)),
    Entry(SessionAggregate(OF_EACH, Closing(4), pa.int64()), lambda e: of_sessions(e, 4, None)),
    Entry(SessionAggregate(OF_EACH, Closing(6, 5), pa.int64()), lambda e: of_sessions(e, 6, 5)),
    Entry(
        Compute((("twice", Computed(twice, pa.int64())),)),
        lambda e: Counter(
            (start, end, (*payload, None if payload[1] is None else 2 * payload[1]))
            for start, end, payload in e
        ),
    ),
    Entry(
        Dated(TimeColumn("at", "us"), pa.int64()),
        lambda e: Counter((start, end, (start, *payload)) for start, end, payload in e),
    ),
    Entry(ClipBy(SAME), lambda a, b: oracle.clip_by(a, b, key, key)),
    Entry(
        ClipBy(On(("v",), ("w",))),
        lambda a, b: oracle.clip_by(a, b, lambda p: p[1], lambda p: p[1]),
    ),
    Entry(Join(SAME), lambda a, b: oracle.join(a, b, same_key, pair)),
    Entry(Join(SAME, "left"), left_join),
    Entry(Join(SAME, "full"), full_join),
    Entry(Join(SAME, "anti"), lambda a, b: oracle.anti_join(a, b, same_key)),
    Entry(Join(SAME, "inner", UP), lambda a, b: oracle.join(a, b, same_key_and_up, pair)),
    Entry(Join(SAME, "left", UP), lambda a, b: left_join(a, b, same_key_and_up)),
    Entry(Join(SAME, "full", UP), lambda a, b: full_join(a, b, same_key_and_up)),
    Entry(Union(On()), lambda a, b: Counter([*a, *b]), alike=True),
)
