"""The laws of all temporal operators, and of chains of them.

- *order*: no output comes before the settled time, and all output up to it has come;
- *batching*: cutting edges into other batches between watermarks changes nothing;
- *recovery*: a restart after any watermark changes nothing;
- *waking*: output at a watermark was declared to be due by then;
- *carriage*: columns that an operator does not read come out unchanged;
- *composition*: a chain of operators follows the chain of their definitions.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections import Counter
from dataclasses import replace
from importlib import import_module
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latecomer.operators import temporal
from latecomer.operators.temporal.alter import Shift
from latecomer.operators.temporal.binary import Binary
from latecomer.operators.temporal.edges import edge_schema, payload_schema
from latecomer.operators.temporal.extend import Extend
from latecomer.operators.temporal.join import Join
from latecomer.operators.temporal.specification import Temporal
from latecomer.operators.temporal.stitch import Stitch
from tests.operators.temporal import oracle
from tests.operators.temporal.catalogue import (
    AT_THE_RIM,
    CATALOGUE,
    KEEPING_COLUMNS,
    SAME,
    SUM,
    Entry,
    pair,
    same_key,
)
from tests.operators.temporal.driving import (
    LEFT,
    RIGHT,
    Mark,
    Node,
    Sent,
    Source,
    assert_settled,
    drive,
    events_of,
    marks,
    stream_of,
    streams,
)
from tests.support.carried import KINDS

every_operator = pytest.mark.parametrize("entry", CATALOGUE, ids=str)


def test_every_operator_is_in_the_catalogue() -> None:
    found = set()
    for module in pkgutil.iter_modules(temporal.__path__, f"{temporal.__name__}."):
        classes = inspect.getmembers(import_module(module.name), inspect.isclass)
        found |= {cls for _, cls in classes if issubclass(cls, Temporal | Binary)}

    operators = {cls for cls in found if not inspect.isabstract(cls)}

    assert operators == {type(entry.spec) for entry in CATALOGUE} | AT_THE_RIM


def draw_sides(data: st.DataObject, entry: Entry) -> list[list[Sent]]:
    return [data.draw(streams(endless=entry.endless)) for _ in range(entry.sides)]


@every_operator
@settings(max_examples=30)
@given(data=st.data(), marks=marks)
def test_the_result_is_settled_as_far_as_is_promised(
    entry: Entry, data: st.DataObject, marks: list[Mark]
) -> None:
    sides = draw_sides(data, entry)

    turns = drive(entry.root(), sides, marks)

    expected = entry.expected(*map(stream_of, sides))
    assert_settled(turns, expected)
    assert events_of(turns[-1].rows) == expected


@every_operator
@settings(max_examples=12)
@given(data=st.data(), marks=marks, batch=st.integers(1, 3))
def test_other_batches_change_nothing(
    entry: Entry, data: st.DataObject, marks: list[Mark], batch: int
) -> None:
    sides = draw_sides(data, entry)

    together = drive(entry.root(), sides, marks)
    apart = drive(entry.root(), sides, marks, batch=batch)

    for one, other in zip(together, apart, strict=True):
        assert events_of(one.rows) == events_of(other.rows)


@every_operator
@settings(max_examples=12)
@given(data=st.data(), marks=marks)
def test_a_restart_changes_nothing(entry: Entry, data: st.DataObject, marks: list[Mark]) -> None:
    sides = draw_sides(data, entry)

    plain = drive(entry.root(), sides, marks)
    restarted = drive(entry.root(), sides, marks, restart=True)

    for one, other in zip(plain, restarted, strict=True):
        assert events_of(one.rows) == events_of(other.rows)


@pytest.mark.parametrize("entry", CATALOGUE, ids=str)
@settings(max_examples=15)
@given(data=st.data(), marks=marks)
def test_output_at_a_watermark_was_declared_to_be_due(
    entry: Entry, data: st.DataObject, marks: list[Mark]
) -> None:
    root = entry.root()

    drive(root, draw_sides(data, entry), marks)

    assert not root.overslept


@pytest.mark.parametrize(
    "entry", [entry for entry in CATALOGUE if not isinstance(entry.spec, Stitch)], ids=str
)
@settings(max_examples=12)
@given(data=st.data(), marks=marks, restart=st.booleans())
def test_carried_columns_come_out_unchanged(
    entry: Entry, data: st.DataObject, marks: list[Mark], *, restart: bool
) -> None:
    carried = pa.schema([pa.field(f"carried {at}", kind) for at, kind in enumerate(KINDS)])
    schema = edge_schema(pa.schema([*payload_schema(LEFT), *carried]))

    def along(value: int | None) -> list[Any]:
        return [None if value is None else of[value % len(of)] for of in KINDS.values()]

    def loaded(sent: Sent) -> Sent:
        start, end, payload = sent.event
        return replace(sent, event=(start, end, (*payload, *along(payload[1]))))

    left, *others = draw_sides(data, entry)
    sides = [
        [*map(loaded, left)],
        *([*map(loaded, each)] if entry.alike else each for each in others),
    ]
    right = schema if entry.alike else RIGHT
    sources = [Source(0, schema), Source(1, right)][: entry.sides]
    root = Node(entry.spec, *sources)

    turns = drive(root, sides, marks, restart=restart)

    if set(carried.names) <= set(root.schema.names):
        for row in turns[-1].rows:
            assert [row[name] for name in carried.names] == along(row["v"])


any_operator = st.sampled_from([*KEEPING_COLUMNS, SUM])
late_operator = st.sampled_from([e for e in KEEPING_COLUMNS if isinstance(e.spec, Shift | Extend)])


@settings(max_examples=120)
@given(
    data=st.data(),
    entries=st.tuples(any_operator, any_operator, any_operator),
    marks=marks,
    restart=st.booleans(),
)
def test_chained_operators_follow_their_chained_definitions(
    data: st.DataObject, entries: tuple[Entry, Entry, Entry], marks: list[Mark], *, restart: bool
) -> None:
    endless = all(entry.endless for entry in entries)
    sent = data.draw(streams(endless=endless))
    root, expected = Source(0, LEFT), stream_of(sent)
    for entry in entries:
        root, expected = Node(entry.spec, root), list(entry.expected(expected).elements())

    turns = drive(root, [sent], marks, restart=restart)

    assert_settled(turns, Counter(expected))
    assert events_of(turns[-1].rows) == Counter(expected)


@settings(max_examples=100)
@given(
    data=st.data(),
    entries=st.tuples(any_operator, late_operator, any_operator),
    marks=marks,
    restart=st.booleans(),
)
def test_streams_with_different_clocks_can_be_joined(
    data: st.DataObject, entries: tuple[Entry, Entry, Entry], marks: list[Mark], *, restart: bool
) -> None:
    ours, theirs, joint = entries
    endless = ours.endless and joint.endless
    sides = [data.draw(streams(endless=endless)) for _ in range(2)]
    left, right = Node(ours.spec, Source(0, LEFT)), Node(theirs.spec, Source(1, RIGHT))
    root = Node(joint.spec, Node(Join(SAME), left, right))

    turns = drive(root, sides, marks, restart=restart)

    lefts, rights = (
        list(entry.expected(stream_of(side)).elements())
        for entry, side in zip((ours, theirs), sides, strict=True)
    )
    pairs = oracle.join(lefts, rights, same_key, pair)
    expected = joint.expected(list(pairs.elements()))
    assert_settled(turns, expected)
    assert events_of(turns[-1].rows) == expected
