"""Lifetimes cut short."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latecomer.operators.temporal.binary import On
from latecomer.operators.temporal.clip import Clip, ClipBy, UntilNext
from tests.operators.temporal import oracle
from tests.operators.temporal.catalogue import SAME
from tests.operators.temporal.driving import (
    END,
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
    unary,
    whole,
)

A, B = ("a", 1), ("b", 2)


@pytest.mark.parametrize("sent", [whole, parted])
def test_no_row_lasts_longer_than_the_limit(sent: Send) -> None:
    seen = result(unary(Clip(4)), sent((1, 9, A), (2, 5, B), (3, None, B)))

    assert seen == Counter([(1, 5, A), (2, 5, B), (3, 7, B)])


def test_an_open_row_ends_when_the_limit_is_reached() -> None:
    turns = drive(unary(Clip(4)), [parted((1, 9, A))], [Mark(5), Mark(6), Mark(20), END])

    seen = [events_of(turn.rows) for turn in turns]
    assert seen == [Counter([(1, None, A)]), *[Counter([(1, 5, A)])] * 3]


def test_clipping_wakes_at_the_limit_of_the_first_open_row() -> None:
    root = unary(Clip(4))
    drive(root, [parted((1, 9, A), (2, 8, B))], [Mark(3)])

    assert root.running.due() == 6


def test_clipping_wakes_for_a_waiting_row_if_that_is_earlier() -> None:
    root = unary(Clip(40))
    drive(root, [parted((1, 9, A))], [Mark(3, ahead=10)])

    assert root.running.due() == 10


def test_without_held_rows_the_operator_does_not_wake() -> None:
    assert unary(Clip(4)).running.due() is None


@settings(max_examples=50)
@given(sent=streams(), marks=marks, limit=st.integers(1, 16))
def test_clipping_follows_its_definition(sent: list[Sent], marks: list[Mark], limit: int) -> None:
    turns = drive(unary(Clip(limit)), [sent], marks)

    assert_settled(turns, oracle.clip(stream_of(sent), limit))


@pytest.mark.parametrize("sent", [whole, parted])
def test_a_row_counts_until_the_next_of_its_key_begins(sent: Send) -> None:
    rows = sent((1, 9, ("a", 1)), (2, 4, ("b", 2)), (5, None, ("a", 3)), (7, 8, ("b", 4)))

    seen = result(unary(UntilNext(("k",))), rows)

    assert seen == Counter(
        [(1, 5, ("a", 1)), (2, 4, ("b", 2)), (5, None, ("a", 3)), (7, 8, ("b", 4))]
    )


def test_rows_that_begin_together_do_not_cut_each_other() -> None:
    seen = result(unary(UntilNext(("k",))), whole((1, 9, A), (1, None, A), (3, 5, A)))

    assert seen == Counter([(1, 3, A), (1, 3, A), (3, 5, A)])


def test_without_a_key_any_row_is_the_next() -> None:
    seen = result(unary(UntilNext(())), parted((1, 9, A), (3, 9, B)))

    assert seen == Counter([(1, 3, A), (3, 9, B)])


@pytest.mark.parametrize("sent", [whole, parted])
def test_a_row_of_another_stream_cuts(sent: Send) -> None:
    left = sent((1, 9, ("a", 1)), (2, None, ("b", 2)))
    right = sent((1, 2, ("a", 0)), (4, 5, ("a", 0)), (6, None, ("a", 0)))

    seen = result(binary(ClipBy(SAME)), left, right)

    assert seen == Counter([(1, 4, ("a", 1)), (2, None, ("b", 2))])


def test_without_a_key_any_row_of_another_stream_cuts() -> None:
    seen = result(binary(ClipBy(On())), whole((1, 9, A)), whole((4, 5, ("z", 0))))

    assert seen == Counter([(1, 4, A)])


def test_a_cut_that_came_before_the_row_does_not_matter() -> None:
    left, right = whole((3, 9, A)), whole((1, 20, ("a", 0)), (3, 20, ("a", 0)))

    assert result(binary(ClipBy(SAME)), left, right, marks=[Mark(2), END]) == Counter([(3, 9, A)])
