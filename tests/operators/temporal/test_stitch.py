"""Stitching: rows that follow each other become one."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings

from latecomer.operators.temporal.chop import Chop
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.temporal.edges import edge_schema
from latecomer.operators.temporal.stitch import Stitch
from tests.operators.temporal import oracle
from tests.operators.temporal.driving import (
    END,
    LEFT,
    Mark,
    Node,
    Send,
    Sent,
    Source,
    marks,
    parted,
    result,
    stream_of,
    streams,
    unary,
    whole,
)

A, B = ("a", 1), ("b", 2)


@pytest.mark.parametrize("sent", [whole, parted])
@pytest.mark.parametrize("marks", [[END], [Mark(3), Mark(4), Mark(7), Mark(8), END]])
def test_a_row_is_continued_by_an_equal_row_that_begins_at_its_end(
    sent: Send, marks: list[Mark]
) -> None:
    seen = result(unary(Stitch()), sent((1, 3, A), (3, 7, A), (8, 9, A)), marks=marks)

    assert seen == Counter([(1, 7, A), (8, 9, A)])


def test_rows_that_differ_are_not_stitched() -> None:
    seen = result(unary(Stitch()), whole((1, 3, ("a", 1)), (3, 7, ("a", 2))))

    assert seen == Counter([(1, 3, ("a", 1)), (3, 7, ("a", 2))])


def test_rows_that_overlap_are_not_stitched() -> None:
    seen = result(unary(Stitch()), whole((1, 4, A), (3, 7, A)))

    assert seen == Counter([(1, 4, A), (3, 7, A)])


def test_if_several_rows_end_the_one_that_began_first_is_continued() -> None:
    seen = result(unary(Stitch()), parted((2, 5, A), (1, 5, A), (5, 8, A)), marks=[Mark(4), END])

    assert seen == Counter([(1, 8, A), (2, 5, A)])


def test_each_row_continues_at_most_one_other() -> None:
    seen = result(unary(Stitch()), whole((1, 5, A), (2, 5, A), (5, 8, A), (5, 9, A)))

    assert sum(seen.values()) == 2
    assert {start for start, _, _ in seen} == {1, 2}
    assert {end for _, end, _ in seen} == {8, 9}


def test_nulls_are_equal_here() -> None:
    nothing = (None, None)

    seen = result(unary(Stitch()), whole((1, 3, nothing), (3, None, nothing)))

    assert seen == Counter([(1, None, nothing)])


def test_rows_may_be_equal_in_a_key_and_the_first_one_is_kept() -> None:
    seen = result(unary(Stitch(("k",))), whole((1, 3, ("a", 1)), (3, 7, ("a", 2)), (7, 9, B)))

    assert seen == Counter([(1, 7, ("a", 1)), (7, 9, B)])


@pytest.mark.parametrize("marks", [[END], [Mark(3), Mark(4), Mark(7), Mark(8), END]])
def test_a_function_compares_the_first_row_with_that_which_begins(marks: list[Mark]) -> None:
    near = Stitch(("k",), Condition(lambda before, after: abs(before.v - after.v) <= 1))
    sent = parted((1, 3, ("a", 1)), (3, 7, ("a", 2)), (7, 9, ("a", 3)), (3, 4, ("b", 1)))

    seen = result(unary(near), sent, marks=marks)

    # 3 is near 2, but not near 1.
    assert seen == Counter([(1, 7, ("a", 1)), (7, 9, ("a", 3)), (3, 4, ("b", 1))])


def test_a_row_that_cannot_continue_the_oldest_continues_another() -> None:
    larger = Stitch((), Condition(lambda before, after: before.v < after.v))

    seen = result(unary(larger), whole((1, 5, ("a", 9)), (2, 5, ("b", 1)), (5, 8, ("c", 5))))

    assert seen == Counter([(1, 5, ("a", 9)), (2, 8, ("b", 1))])


def test_rows_without_columns_are_all_equal() -> None:
    root = Node(Stitch(), Source(0, edge_schema(pa.schema([]))))

    assert result(root, parted((1, 3, ()), (3, 5, ())), marks=[Mark(2), END]) == Counter(
        [(1, 5, ())]
    )


@settings(max_examples=50)
@given(sent=streams(nulls=False), marks=marks)
def test_stitching_changes_no_instant_and_leaves_nothing_to_stitch(
    sent: list[Sent], marks: list[Mark]
) -> None:
    seen = result(unary(Stitch()), sent, marks=marks)

    assert oracle.at_each_instant(seen.elements()) == oracle.at_each_instant(stream_of(sent))
    begins = {(start, payload) for start, _, payload in seen}
    assert not begins & {(end, payload) for _, end, payload in seen}


@settings(max_examples=30)
@given(sent=streams(), marks=marks)
def test_chopping_is_undone_where_no_rows_are_equal(sent: list[Sent], marks: list[Mark]) -> None:
    sent = [
        Sent((*each.event[:2], ("a", number)), each.is_parted) for number, each in enumerate(sent)
    ]
    root = Node(Stitch(), Node(Chop(4), Source(0, LEFT)))

    assert result(root, sent, marks=marks) == Counter(stream_of(sent))
