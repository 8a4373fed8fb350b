"""Ends of lifetimes moved."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latecomer.operators.temporal.extend import Extend
from latecomer.time import FOREVER, NEVER
from tests.operators.temporal import oracle
from tests.operators.temporal.driving import (
    END,
    Mark,
    Send,
    Sent,
    assert_settled,
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
def test_ends_move_and_starts_stay(sent: Send) -> None:
    rows = sent((1, 9, A), (2, None, B))

    assert result(unary(Extend(3)), rows) == Counter([(1, 12, A), (2, None, B)])
    assert result(unary(Extend(-3)), rows) == Counter([(1, 6, A), (2, None, B)])


@pytest.mark.parametrize("sent", [whole, parted])
@pytest.mark.parametrize("by", [-8, -9])
def test_rows_whose_lifetime_becomes_empty_are_left_out(sent: Send, by: int) -> None:
    assert result(unary(Extend(by)), sent((1, 9, A))) == Counter()


def test_an_open_row_begins_once_its_lifetime_is_surely_not_empty() -> None:
    rows = parted((1, 9, A))

    turns = drive(unary(Extend(-4)), [rows], [Mark(5), Mark(6), Mark(9), END])

    seen = [events_of(turn.rows) for turn in turns]
    begun, ended = Counter([(1, None, A)]), Counter([(1, 5, A)])
    assert seen == [Counter(), begun, begun, ended]


def test_an_open_row_wakes_the_operator_when_it_begins() -> None:
    root = unary(Extend(-4))
    drive(root, [parted((1, None, A))], [Mark(5)])

    assert root.running.due() == 6


def test_the_result_is_behind_only_where_ends_come_nearer() -> None:
    assert [Extend(-5).passes(w) for w in (NEVER, 7, FOREVER)] == [NEVER, 2, FOREVER]
    assert Extend(5).passes(7) == 7


@settings(max_examples=50)
@given(sent=streams(), marks=marks, by=st.integers(-16, 6))
def test_moving_ends_follows_its_definition(sent: list[Sent], marks: list[Mark], by: int) -> None:
    turns = drive(unary(Extend(by)), [sent], marks)

    assert_settled(turns, oracle.extend(stream_of(sent), by))
