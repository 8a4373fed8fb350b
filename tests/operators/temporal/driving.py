"""Run temporal operators, and turn their output back into events.

A test has *events*, `(start, end, payload)`, like the oracle. They are sent as edges, in any form
that edges may have, and in any order that the watermarks allow. The output is edges, too;
`events_of` turns them back into events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import strategies as st

from latecomer.hosts.local import MemoryChunks
from latecomer.operators.temporal.binary import Binary
from latecomer.operators.temporal.edges import AT, FINAL, ID, OTHER, OWN, edge_schema
from latecomer.time import FOREVER, NEVER
from tests.support.carried import as_spark_writes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from latecomer.operators.temporal.specification import Temporal
    from tests.operators.temporal.oracle import Event, Stream

LEFT = edge_schema(pa.schema({"k": pa.string(), "v": pa.int64()}))
RIGHT = edge_schema(pa.schema({"k": pa.string(), "w": pa.int64()}))

Edge = tuple[int, int, int, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Sent:
    """An event, and how it is sent: as one edge, or as a begin and an end."""

    event: Event
    is_parted: bool


Send = Callable[..., list[Sent]]


@dataclass(frozen=True, slots=True)
class Mark:
    """A watermark, and how far beyond it edges are pushed before it."""

    watermark: int
    ahead: int = 0


END = Mark(FOREVER)


@st.composite
def events(draw: st.DrawFn, *, endless: bool = True, nulls: bool = True) -> Event:
    start, length = draw(st.integers(-12, 20)), draw(st.integers(1, 15))
    never = endless and draw(st.integers(0, 5)) == 0
    key, value = st.sampled_from("ab"), st.integers(0, 3)
    payload = draw(
        st.tuples(key | st.none(), value | st.none()) if nulls else st.tuples(key, value)
    )
    return start, None if never else start + length, payload


def streams(*, endless: bool = True, nulls: bool = True) -> st.SearchStrategy[list[Sent]]:
    one = st.builds(Sent, events(endless=endless, nulls=nulls), st.booleans())
    return st.lists(one, max_size=6)


marks = (
    st.lists(
        st.builds(Mark, st.integers(-15, 40), st.integers(0, 4)),
        max_size=4,
        unique_by=lambda mark: mark.watermark,
    )
    .map(lambda found: sorted(found, key=lambda mark: mark.watermark))
    .map(lambda found: [*found, END])
)


def whole(*given: Event) -> list[Sent]:
    """Send each event as one edge."""
    return [Sent(event, is_parted=False) for event in given]


def parted(*given: Event) -> list[Sent]:
    """Send each event as a begin and an end."""
    return [Sent(event, is_parted=True) for event in given]


def stream_of(sent: Iterable[Sent]) -> Stream:
    return [each.event for each in sent]


def edges_of(sent: Iterable[Sent]) -> list[Edge]:
    """Return events as edges. An event that never ends has an id, like one sent in two parts."""
    found: list[Edge] = []
    for number, each in enumerate(sent):
        start, end, payload = each.event
        if not each.is_parted:
            found.append((start, FOREVER if end is None else end, FINAL, payload))
            continue
        found.append((start, FOREVER, number, payload))
        if end is not None:
            found.append((end, start, number, payload))
    return found


def table(edges: Sequence[Edge], schema: pa.Schema) -> pa.Table:
    rows = [(*payload, at, other, id_) for at, other, id_, payload in edges]
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return pa.table(
        [as_spark_writes(c, field.type) for c, field in zip(columns, schema, strict=True)], schema
    )


def events_of(rows: Iterable[dict[str, Any]]) -> Counter[Event]:
    """Return the events of edges. An event that is still open has no end."""
    found: Counter[Event] = Counter()
    opened: dict[int, tuple[int, tuple[Any, ...]]] = {}
    for row in sorted(rows, key=lambda row: row[AT]):
        payload = tuple(_hashable(value) for name, value in row.items() if name not in OWN)
        at, other, id_ = row[AT], row[OTHER], row[ID]
        if other < at:
            assert opened.pop(id_) == (other, payload), "an end is not that of its begin"
            found[other, at, payload] += 1
        elif id_ == FINAL:
            found[at, None if other == FOREVER else other, payload] += 1
        else:
            assert id_ not in opened, "two begins have the same id"
            opened[id_] = (at, payload)
    for start, payload in opened.values():
        found[start, None, payload] += 1
    return found


def _hashable(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, dict):
        return tuple(value.values())
    return tuple(value) if isinstance(value, list) else value


class Source:
    """The input of a stream of edges."""

    def __init__(self, side: int, schema: pa.Schema) -> None:
        self.schema = schema
        self._side = side

    def turn(self, pushed: Sequence[list[Edge]], watermark: int) -> tuple[pa.Table, int]:
        return table(pushed[self._side], self.schema), watermark

    def restart(self) -> None:
        """Do nothing, because nothing is held."""


class Node:
    """A running operator, with its inputs: sources or other nodes."""

    def __init__(self, spec: Temporal | Binary, *inputs: Source | Node) -> None:
        self._inputs, self._spec, self._chunks = inputs, spec, MemoryChunks()
        schemas = [each.schema for each in inputs]
        is_binary = isinstance(spec, Binary)
        self.schema = (spec.joined_schema if is_binary else spec.output_schema)(*schemas)
        start = spec.meet if is_binary else spec.start
        self._start: Callable[[bytes | None], Any] = lambda saved: start(
            *schemas, self._chunks, saved
        )
        self.running = self._start(None)
        self.overslept = False

    def turn(self, pushed: Sequence[list[Edge]], watermark: int) -> tuple[pa.Table, int]:
        """Push edges, then advance; return the ready edges, and the time up to which all came."""
        ready, reached = [], []
        for side, source in enumerate(self._inputs):
            rows, passed = source.turn(pushed, watermark)
            ready.append(self.running.push(rows, side).ready)
            reached.append(passed)
        due = self.running.due()
        ready.append(self.running.advance(min(reached)).ready)
        assert all(part.schema.equals(self.schema) for part in ready)
        settled = self._spec.passes(min(reached))
        must_come = any(at < settled for at in ready[-1].column(AT).to_pylist())
        is_due = min(reached) == FOREVER or (due is not None and due <= min(reached))
        self.overslept |= must_come and not is_due
        return pa.concat_tables(ready), settled

    def restart(self) -> None:
        """Restore the operator and its inputs from their saved states."""
        for source in self._inputs:
            source.restart()
        self.running = self._start(self.running.save())


@dataclass(frozen=True, slots=True)
class Turn:
    """The output up to a watermark, and the time up to which it is settled."""

    rows: list[dict[str, Any]]
    settled: int


def drive(
    root: Node,
    sides: Sequence[Sequence[Sent]],
    marks: Sequence[Mark],
    *,
    batch: int | None = None,
    restart: bool = False,
) -> list[Turn]:
    """Push edges, and advance to each watermark in turn.

    Args:
        root: The last operator.
        sides: The events of each stream.
        marks: The watermarks, and which edges are pushed before each.
        batch: How many edges of a stream are pushed at a time; None for all at once.
        restart: Whether everything is saved and restored after each watermark.
    """
    left = [edges_of(sent) for sent in sides]
    rows: list[dict[str, Any]] = []
    turns: list[Turn] = []
    before = settled = NEVER

    def turn(pushed: Sequence[list[Edge]], watermark: int) -> int:
        ready, promise = root.turn(pushed, watermark)
        new = ready.to_pylist()
        assert all(row[AT] >= settled for row in new), "an edge is before what was settled"
        rows.extend(new)
        return promise

    for mark in marks:
        until = min(mark.watermark + mark.ahead, FOREVER)
        now = [[edge for edge in side if edge[0] < until] for side in left]
        left = [[edge for edge in side if edge[0] >= until] for side in left]
        while batch is not None and any(len(side) > batch for side in now):
            # The watermark does not fall.
            turn([side[:batch] for side in now], before)
            now = [side[batch:] for side in now]
        settled = turn(now, mark.watermark)
        before = mark.watermark
        turns.append(Turn(list(rows), settled))
        if restart:
            root.restart()
    return turns


def unary(spec: Temporal, schema: pa.Schema = LEFT) -> Node:
    return Node(spec, Source(0, schema))


def binary(spec: Binary, left: pa.Schema = LEFT, right: pa.Schema = RIGHT) -> Node:
    return Node(spec, Source(0, left), Source(1, right))


def result(root: Node, *sides: Sequence[Sent], marks: Sequence[Mark] = (END,)) -> Counter[Event]:
    """Run an operator to the end, and return the events of its output."""
    return events_of(drive(root, sides, marks)[-1].rows)


def assert_settled(turns: Sequence[Turn], expected: Counter[Event]) -> None:
    """Check that at each watermark the output has the edges of the result up to the settled time.

    Edges may come early, so only those before the settled time are compared.
    """
    for turn in turns:
        until = turn.settled
        due = [row for row in turn.rows if row[AT] < until or until == FOREVER]
        assert _before(until, events_of(due)) == _before(until, expected), f"at {until}"


def _before(until: int, found: Counter[Event]) -> Counter[Event]:
    """Return events as they are known before some time."""
    seen: Counter[Event] = Counter()
    for (start, end, payload), count in found.items():
        if start < until:
            is_known = end is not None and end < until
            seen[start, end if is_known else None, payload] += count
    return seen
