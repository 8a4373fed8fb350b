"""Patterns in the form of vectors: strict, with a register, and one event for each instant.

A register is a value that each event of a match may change, and that conditions may read. Here it
is recomputed from the events of the match. All rows of an instant are one event, unless the vector
says that they come one by one.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import Parameter, Signature
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch
from latecomer.operators.base import Chunks
from latecomer.operators.patterns.automaton import UNGUARDED, Automaton, compiled
from latecomer.operators.patterns.detect import Detect
from latecomer.operators.patterns.shapes import Either, Event, Shape, Some, Then, events_of
from latecomer.operators.temporal.alter import Alter
from latecomer.operators.temporal.base import Settler
from latecomer.operators.temporal.edges import FINAL, Edges, edge_schema
from latecomer.operators.temporal.specification import Temporal
from latecomer.operators.ways import Way
from latecomer.time import TimeColumn
from tests.conformance.applicable import NotApplicableError
from tests.conformance.temporal.events import PAYLOAD, encoded
from tests.conformance.temporal.rows import expression, payload
from tests.conformance.temporal.streams import Asked, Builder, Stream

AT, NUMBER, ROWS = "at", "number", "rows"
MANY = {"star": (0, None), "plus": (1, None), "optional": (0, 1)}
"""The least and the greatest number of repetitions."""


def detect(_: Builder, stream: Stream, asked: Asked) -> Stream:
    """Detect a pattern. A match counts from its last event until its longest duration is over."""
    durations = [each.duration for each in stream.operators if isinstance(each, Alter)]
    longest = asked.get("max_duration", durations[-1] if durations else None)
    if not isinstance(longest, int):
        raise NotApplicableError("how long a match may last depends on the row, or is not said")
    patterns = Patterns(
        *_automaton(asked),
        longest,
        may_overlap=asked.get("allow_overlapping", True),
        one_by_one=asked.get("simultaneity_free", False),
        groups=stream.groups,
    )
    return stream.then(patterns)


@dataclass(frozen=True, slots=True)
class Node:
    """The condition on the rows of an instant, and their change of the register."""

    condition: str
    is_single: bool
    register: str | None

    def holds(self, vs: int, rows: list[Any], reg: Any) -> bool:  # noqa: ANN401 - any JSON
        if not self.is_single:
            return bool(expression(self.condition)(evs=rows, vs=vs, reg=reg))
        # A condition on a single row is false for several rows.
        return len(rows) == 1 and bool(expression(self.condition)(p=rows[0], vs=vs, reg=reg))

    def after(self, vs: int, rows: list[Any], reg: Any) -> Any:  # noqa: ANN401 - any JSON
        if self.register is None:
            return reg
        names = {"p": rows[0]} if self.is_single else {"evs": rows}
        return expression(self.register)(**names, vs=vs, reg=reg)


@dataclass(frozen=True)
class Asking:
    """The condition of an event on a row and the register, and conditions that exclude it."""

    nodes: dict[str, Node]
    first: Any
    own: str
    not_: tuple[str, ...] = ()

    @property
    def __signature__(self) -> Signature:
        names = ["row", *self.nodes]
        return Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names])

    def __call__(self, row: Any, *bound: Any) -> bool:  # noqa: ANN401
        reg = folded(self.nodes, self.first, zip(self.nodes, bound, strict=True), attrgetter)
        given = row.at, payload({ROWS: row.rows}, ROWS), reg
        return self.nodes[self.own].holds(*given) and not any(
            self.nodes[name].holds(*given) for name in self.not_
        )


def folded(nodes: dict[str, Node], first: Any, bound: Any, get: Callable[[str], Any]) -> Any:  # noqa: ANN401
    """Compute the register from the rows of each event."""
    taken = [
        (get(NUMBER)(row), get(AT)(row), get(ROWS)(row), name)
        for name, rows in bound
        for row in (rows if isinstance(rows, list) else [rows] if rows else [])
    ]
    reg = first
    for _, at, text, name in sorted(taken):
        reg = nodes[name].after(at, payload({ROWS: text}, ROWS), reg)
    return reg


def _automaton(asked: Asked) -> tuple[Automaton, dict[str, Node], Any]:
    nodes: dict[str, Node] = {}
    pattern, first = asked["pattern"], asked.get("register")
    made = _of_arcs(pattern, nodes) if "arcs" in pattern else compiled(_shape(pattern, nodes))
    arcs = pattern["arcs"] if asked.get("deterministic") and "arcs" in pattern else []
    events = []
    for number, event in enumerate(made.events):
        # In a deterministic automaton, the first arc whose condition holds is taken.
        others = (
            made.events[at].name
            for at, arc in enumerate(arcs[:number])
            if arc["from"] == arcs[number]["from"]
        )
        events.append(replace(event, where=Asking(nodes, first, event.name, tuple(others))))
    return replace(made, events=tuple(events)), nodes, first


def _event(asked: Asked, nodes: dict[str, Node]) -> Event:
    name, is_single = f"e{len(nodes)}", "single" in asked
    nodes[name] = Node(asked["single" if is_single else "list"], is_single, asked.get("register"))
    return Event(name)


def _shape(asked: Asked, nodes: dict[str, Node]) -> Shape:
    if "single" in asked or "list" in asked:
        return _event(asked, nodes)
    ((kind, of),) = asked.items()
    if kind in MANY:
        return Some(_shape(of, nodes), *MANY[kind])
    if kind not in ("concat", "or"):
        raise NotApplicableError(f"no pattern is made with {kind}")
    first, *others = [_shape(each, nodes) for each in of]
    for other in others:
        first = Then(first, other) if kind == "concat" else Either(first, other)
    return first


def _of_arcs(asked: Asked, nodes: dict[str, Node]) -> Automaton:
    """Turn each arc into an event, followed by the arcs that begin where it ends."""
    arcs = asked["arcs"]
    events = tuple(event for arc in arcs for event in events_of(_event(arc, nodes)))
    return Automaton(
        events,
        (),
        tuple(at for at, arc in enumerate(arcs) if arc["from"] == asked["start"]),
        tuple(
            (at, to, UNGUARDED)
            for at, arc in enumerate(arcs)
            for to, other in enumerate(arcs)
            if other["from"] == arc["to"]
        ),
        tuple(at for at, arc in enumerate(arcs) if arc["to"] in asked["final"]),
    )


@dataclass(frozen=True, slots=True)
class Patterns(Temporal):
    """`Detect` on rows with lifetimes."""

    fixed: ClassVar[tuple[str, ...]] = ()

    automaton: Automaton
    nodes: dict[str, Node]
    initial: Any
    """The register before the first event."""
    longest: int
    may_overlap: bool
    one_by_one: bool
    groups: tuple[str, ...]

    @property
    def keyed(self) -> tuple[str, ...]:
        return self.groups

    @property
    def detect(self) -> Detect:
        # In the vectors, a match is shorter than the longest duration; in `Detect` it may be equal.
        return Detect(
            TimeColumn(AT, "us"),
            self.groups,
            self.automaton,
            self.longest - 1,
            is_strict=True,
            may_overlap=self.may_overlap,
        )

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return edge_schema(pa.schema([(name, pa.string()) for name in (PAYLOAD, *self.groups)]))

    def start(
        self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> "PatternFinder":
        return PatternFinder(self, schema, chunks, saved)


class Behind:
    """Chunks of an inner operator, numbered after those of the outer one."""

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks

    def get(self, number: int) -> Batch:
        return self._chunks.get(number + 1)

    def put(self, number: int, rows: Batch) -> None:
        self._chunks.put(number + 1, rows)

    def drop(self, number: int) -> None:
        self._chunks.drop(number + 1)


class PatternFinder(Settler[Patterns]):
    """A running `Patterns`."""

    def __init__(
        self, spec: Patterns, schema: pa.Schema, chunks: Chunks, saved: bytes | None
    ) -> None:
        outer, inner = (None, None) if saved is None else json.loads(saved)
        own = {AT: pa.int64(), NUMBER: pa.int64(), ROWS: pa.string()}
        self._rows = pa.schema(own | dict.fromkeys(spec.groups, pa.string()))
        self._running = spec.detect.start(
            self._rows, Behind(chunks), inner and inner.encode("latin-1")
        )
        super().__init__(spec, [schema], chunks, outer and outer.encode())

    def _nothing_held(self) -> list[Edges]:
        return []

    def step(self, due: tuple[Edges, ...], way: Way) -> Edges:
        begins = due[0].where(~due[0].is_end)
        matches = self._running.push(self._instants(begins)).ready
        self._running.follow(way)
        nodes, first = self._spec.nodes, self._spec.initial
        found = matches.to_pylist()
        results = [
            encoded(folded(nodes, first, [(name, m[name]) for name in nodes], itemgetter))
            for m in found
        ]
        columns = {PAYLOAD: pa.array(results, pa.string())}
        columns |= {name: matches.column(name) for name in self._spec.groups}
        ends = np.array([match["end"] for match in found], np.int64)
        until = np.array([match["start"] + self._spec.longest for match in found], np.int64)
        return Edges(ends, until, np.full(len(found), FINAL), pa.table(columns))

    def save(self) -> bytes:
        return json.dumps(
            [super().save().decode(), self._running.save().decode("latin-1")]
        ).encode()

    def _instants(self, begins: Edges) -> pa.Table:
        """Return a row for each instant, or for each row if they come one by one."""
        groups = self._spec.groups
        rows = [
            {AT: at, **row}
            for at, row in zip(begins.at.tolist(), begins.payload.to_pylist(), strict=True)
        ]
        made = []
        key = itemgetter(AT, *groups) if groups else itemgetter(AT)
        parts = [[row] for row in rows]
        if not self._spec.one_by_one:
            parts = [list(part) for _, part in groupby(sorted(rows, key=key), key)]
        for part in parts:
            texts = encoded([payload(row) for row in part])
            own = {AT: part[0][AT], NUMBER: self._next_id, ROWS: texts}
            made.append(own | {name: part[0][name] for name in groups})
            self._next_id += 1
        return pa.Table.from_pylist(made, self._rows)
