"""Run `Detect` on rows that contain the conditions they meet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import strategies as st

from latecomer.hosts.local import MemoryChunks
from latecomer.operators.patterns.automaton import compiled
from latecomer.operators.patterns.detect import Detect
from latecomer.operators.patterns.shapes import Either, Event, Some, Then, events_of
from latecomer.time import FOREVER, TimeColumn
from tests.operators.patterns.oracle import Row, Search, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from latecomer.operators.patterns.shapes import Shape

CONDITIONS = "abcz"
TIME = TimeColumn("time", "us")
SCHEMA = pa.schema(
    {"time": pa.int64(), "key": pa.string(), "value": pa.int64(), "number": pa.int64()}
    | {name: pa.bool_() for name in CONDITIONS}
)


def event(name: str, **kwargs: Any) -> Event:  # noqa: ANN401
    """Return an event whose condition has the same name."""
    return Event(name, name, **kwargs)


A, B, C = (event(name) for name in "abc")


def row(time: int, meets: str, key: str | None = "k", value: int = 0) -> Row:
    return Row(time, key, value, frozenset(meets))


def rows(text: str) -> list[Row]:
    """Return rows of one key, a second apart; a dash is a row that meets no condition."""
    return [row(time, meets.strip("-")) for time, meets in enumerate(text.split())]


def table(given: Iterable[Row], first: int = 0) -> pa.Table:
    found = [
        {"time": each.time, "key": each.key, "value": each.value, "number": number}
        | {name: name in each.meets for name in CONDITIONS}
        for number, each in enumerate(given, first)
    ]
    return pa.Table.from_pylist(found, SCHEMA)


def detect(
    shape: Shape,
    within: int = 100,
    silence: int | None = None,
    absent: str | None = None,
    **options: bool,
) -> Detect:
    automaton = compiled(shape)
    if silence is not None:
        automaton = replace(automaton, guards=(*automaton.guards, absent))
    return Detect(TIME, ("key",), automaton, within, silence=silence, **options)


def sequences(matches: pa.Table, shape: Shape) -> list[Sequence]:
    """Return matches in the form of the oracle: the rows with their events."""
    found = []
    for match in matches.to_pylist():
        taken: list[tuple[int, str]] = []
        for each in events_of(shape):
            bound = match[each.name]
            bound = bound if isinstance(bound, list) else [bound] if bound else []
            taken += [(one["number"], each.name) for one in bound]
        found.append(tuple(sorted(taken)))
    return found


def found(
    spec: Detect, given: list[Row], *, batch: int | None = None, restart: bool = False
) -> pa.Table:
    """Push rows in batches, each followed by a watermark at its last row."""
    chunks = MemoryChunks()
    running = spec.start(SCHEMA, chunks)
    ready = []
    size = batch or len(given) or 1
    for first in range(0, len(given), size):
        part = given[first : first + size]
        ready.append(running.push(table(part, first)).ready)
        ready.append(running.advance(part[-1].time).ready)
        if restart:
            running = spec.start(SCHEMA, chunks, running.save())
        due = running.due()
        assert due is None or due > part[-1].time
    ready.append(running.advance(FOREVER).ready)
    assert running.held == 0
    assert running.due() is None
    return pa.concat_tables([spec.output_schema(SCHEMA).empty_table(), *ready])


def told(shape: Shape, text: str, **options: Any) -> list[str]:  # noqa: ANN401
    """Return the matches in rows of one key, each as text: its events and their positions."""
    spec = detect(shape, **options)
    matches = sequences(found(spec, rows(text)), shape)
    return [" ".join(f"{name}{place}" for place, name in match) for match in matches]


def expected(spec: Detect, shape: Shape, given: list[Row]) -> list[Sequence]:
    """Return matches by definition, in order of their last rows and then of their first."""
    everything: list[Sequence] = []
    for key in {each.key for each in given}:
        own = [(number, each) for number, each in enumerate(given) if each.key == key]
        search = Search(
            shape,
            [each for _, each in own],
            spec.within,
            spec.is_strict,
            spec.may_overlap,
            spec.silence,
            spec.automaton.guards[-1] if spec.silence is not None else None,
        )
        everything += [
            tuple((own[place][0], name) for place, name in match) for match in search.matches()
        ]
    return sorted(everything, key=lambda match: (match[-1][0], match[0][0], match))


@st.composite
def shapes(draw: st.DrawFn, most: int = 3) -> Shape:
    """Draw a pattern of up to three events with different names and perhaps a condition."""
    names = draw(st.lists(st.sampled_from(CONDITIONS[:3]), min_size=1, max_size=most, unique=True))
    return _shape(draw, names)


def _shape(draw: st.DrawFn, names: list[str]) -> Shape:
    if len(names) == 1:
        shape: Shape = Event(names[0], draw(st.sampled_from([names[0]] * 4 + [None])))
    else:
        cut = draw(st.integers(1, len(names) - 1))
        one, other = _shape(draw, names[:cut]), _shape(draw, names[cut:])
        unless = draw(st.sampled_from([None, "z"]))
        shape = draw(st.sampled_from([Then(one, other, unless), Either(one, other)]))
    often = st.sampled_from([(0, None), (1, None), (2, None), (0, 1), (2, 2), (1, 3)])
    return draw(st.just(shape) | st.builds(lambda often: Some(shape, *often), often))


streams = st.lists(
    st.builds(
        Row,
        st.integers(0, 6),
        st.sampled_from(["k", "k", None]),
        st.integers(0, 2),
        st.frozensets(st.sampled_from(CONDITIONS), max_size=2),
    ),
    max_size=6,
).map(lambda given: sorted(given, key=lambda each: each.time))
