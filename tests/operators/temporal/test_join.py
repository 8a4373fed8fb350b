"""Joins: pairs of rows that count at the same time, and rows without a partner."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

from latecomer.errors import ColumnNameError
from latecomer.operators.temporal.binary import On
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.temporal.edges import edge_schema
from latecomer.operators.temporal.join import How, Join
from tests.operators.temporal import oracle
from tests.operators.temporal.catalogue import SAME
from tests.operators.temporal.driving import (
    END,
    LEFT,
    Mark,
    Send,
    Sent,
    assert_settled,
    binary,
    drive,
    events_of,
    marks,
    parted,
    result,
    stream_of,
    streams,
    whole,
)

if TYPE_CHECKING:
    from tests.operators.temporal.oracle import Event

A, B = ("a", 1), ("a", 2)
PAIRS = [(4, 7, ("a", 1, 2))]
AROUND = [(1, 4, ("a", 1)), (7, 9, ("a", 1))]

forms = pytest.mark.parametrize("sent", [whole, parted])
times = pytest.mark.parametrize(
    "marks", [[END], [Mark(3), END], [*map(Mark, range(12)), END]], ids=["one", "two", "many"]
)
TALL = edge_schema(pa.schema({"id": pa.int64(), "x": pa.int64()}))


@forms
@times
@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("inner", PAIRS),
        ("anti", AROUND),
        ("left", [*PAIRS, *((s, e, (*p, None)) for s, e, p in AROUND)]),
    ],
)
def test_a_row_with_a_partner_for_a_while(
    sent: Send, marks: list[Mark], how: How, expected: list[Event]
) -> None:
    seen = result(binary(Join(SAME, how)), sent((1, 9, A)), sent((4, 7, B)), marks=marks)

    assert seen == Counter(expected)


@forms
@times
def test_a_full_join_has_the_unmatched_rows_of_both(sent: Send, marks: list[Mark]) -> None:
    root = binary(Join(SAME, "full"))

    seen = result(root, sent((1, 6, A)), sent((4, None, B), (2, 3, ("z", 5))), marks=marks)

    assert seen == Counter(
        [
            (1, 4, ("a", 1, None)),
            (4, 6, ("a", 1, 2)),
            (6, None, ("a", None, 2)),
            (2, 3, ("z", None, 5)),
        ]
    )


@forms
def test_rows_that_only_touch_are_no_partners(sent: Send) -> None:
    assert result(binary(Join(SAME)), sent((1, 4, A)), sent((4, 7, B))) == Counter()
    assert result(binary(Join(SAME)), sent((4, 7, A)), sent((1, 4, B))) == Counter()


def test_a_row_alone_between_two_partners_is_emitted_once() -> None:
    right = parted((2, 4, ("a", 0)), (3, 6, ("a", 0)), (6, 7, ("a", 0)))

    seen = result(binary(Join(SAME, "anti")), parted((1, 9, A)), right, marks=[Mark(5), END])

    assert seen == Counter([(1, 2, A), (7, 9, A)])


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("inner", []),
        ("anti", [(1, 9, (None, 1))]),
        ("left", [(1, 9, (None, 1, None))]),
        ("full", [(1, 9, (None, 1, None)), (1, 9, (None, None, 2))]),
    ],
)
def test_a_null_key_is_equal_to_nothing(how: How, expected: list[Event]) -> None:
    rows = whole((1, 9, (None, 1))), whole((1, 9, (None, 2)))

    assert result(binary(Join(SAME, how)), *rows) == Counter(expected)


def test_keys_may_have_different_names_and_there_may_be_several() -> None:
    right = edge_schema(pa.schema({"key": pa.string(), "value": pa.int64(), "w": pa.int64()}))
    root = binary(Join(On(("k", "v"), ("key", "value")), "full"), LEFT, right)

    seen = result(root, whole((1, 5, A)), whole((3, 9, ("a", 1, 7)), (3, 4, ("a", 2, 8))))

    assert seen == Counter(
        [(1, 3, (*A, None)), (3, 5, (*A, 7)), (5, 9, (*A, 7)), (3, 4, ("a", 2, 8))]
    )


def test_a_column_in_both_streams_is_refused() -> None:
    with pytest.raises(ColumnNameError, match='both sides of the join have a column "v"'):
        Join(SAME).joined_schema(LEFT, LEFT)


def test_without_pairs_in_the_output_names_may_be_the_same() -> None:
    assert Join(SAME, "anti").joined_schema(LEFT, LEFT) == LEFT


@settings(max_examples=40)
@given(left=streams(), right=streams(), marks=marks)
def test_without_a_key_all_rows_belong_together(
    left: list[Sent], right: list[Sent], marks: list[Mark]
) -> None:
    turns = drive(binary(Join(On()), LEFT, TALL), [left, numbered(right)], marks)

    expected = oracle.join(
        stream_of(left), stream_of(numbered(right)), lambda _a, _b: True, lambda a, b: (*a, *b)
    )
    assert_settled(turns, expected)


@settings(max_examples=40)
@given(left=streams(), right=streams(), marks=marks)
def test_without_a_key_a_row_is_alone_where_there_is_none(
    left: list[Sent], right: list[Sent], marks: list[Mark]
) -> None:
    turns = drive(binary(Join(On(), "anti")), [left, right], marks)

    expected = oracle.anti_join(stream_of(left), stream_of(right), lambda _a, _b: True)
    assert_settled(turns, expected)


def numbered(sent: list[Sent]) -> list[Sent]:
    return [
        Sent((*each.event[:2], (number, each.event[2][1])), each.is_parted)
        for number, each in enumerate(sent)
    ]


def is_longer(left: Any, right: Any) -> bool:  # noqa: ANN401
    return len(left.k or "") >= (right.x or 0)


@settings(max_examples=20)
@given(left=streams(), right=streams(), marks=marks)
def test_a_condition_may_read_text_and_nulls(
    left: list[Sent], right: list[Sent], marks: list[Mark]
) -> None:
    right = numbered(right)
    root = binary(Join(On(), "left", Condition(is_longer)), LEFT, TALL)

    seen = result(root, left, right, marks=marks)

    def matches(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
        return len(a[0] or "") >= (b[1] or 0)

    ours, theirs = stream_of(left), stream_of(right)
    lonely = oracle.anti_join(ours, theirs, matches)
    pairs = oracle.join(ours, theirs, matches, lambda a, b: (*a, *b))
    assert seen == pairs + oracle.renamed(lonely, lambda p: (*p, None, None))


def test_a_pair_ends_with_the_first_of_its_rows_even_if_the_other_is_open() -> None:
    left, right = parted((1, 9, A)), whole((2, 5, B))

    turns = drive(binary(Join(SAME)), [left, right], [Mark(3), Mark(5), Mark(6), END])

    begun, ended = Counter([(2, None, ("a", 1, 2))]), Counter([(2, 5, ("a", 1, 2))])
    assert [events_of(turn.rows) for turn in turns] == [begun, begun, ended, ended]


def test_rows_that_have_ended_are_not_held() -> None:
    root = binary(Join(SAME, "full"))
    drive(root, [parted((1, 5, A)), whole((2, 6, B))], [Mark(4), Mark(7)])

    assert root.running.held == 0
