"""Lifetimes cut into pieces."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latecomer.operators.temporal.chop import Chop
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
@pytest.mark.parametrize("marks", [[END], [Mark(5), Mark(10), Mark(11), Mark(24), END]])
def test_a_row_is_cut_at_the_instants_of_the_grid(sent: Send, marks: list[Mark]) -> None:
    seen = result(unary(Chop(10)), sent((3, 24, A), (-2, 1, B)), marks=marks)

    assert seen == Counter([(3, 10, A), (10, 20, A), (20, 24, A), (-2, 0, B), (0, 1, B)])


def test_a_row_that_fits_the_grid_is_not_cut_at_its_bounds() -> None:
    assert result(unary(Chop(10, 5)), whole((5, 15, A))) == Counter([(5, 15, A)])


def test_a_row_without_an_end_is_cut_up_to_the_watermark() -> None:
    seen = result(unary(Chop(10)), parted((3, None, A)), marks=[Mark(12), END])

    assert seen == Counter([(3, 10, A), (10, None, A)])


def test_the_end_of_a_piece_is_emitted_early_if_the_row_surely_outlasts_it() -> None:
    seen = result(unary(Chop(10)), whole((3, None, A)), marks=[Mark(12), END])

    assert seen == Counter([(3, 10, A), (10, 20, A), (20, None, A)])


@pytest.mark.parametrize("sent", [whole, parted])
def test_other_rows_do_not_advance_the_cuts(sent: Send) -> None:
    # Other rows may be in another bucket, so they may not matter.
    seen = result(unary(Chop(10)), sent((3, None, A)) + whole((14, 21, B)))

    assert seen == Counter([(3, None, A), (14, 20, B), (20, 21, B)])


def test_chopping_wakes_when_the_next_piece_begins() -> None:
    root = unary(Chop(10))
    drive(root, [whole((3, 24, A))], [Mark(5)])

    assert root.running.due() == 11


@settings(max_examples=50)
@given(
    sent=streams(endless=False),
    marks=marks,
    period=st.integers(1, 16),
    origin=st.integers(-20, 20),
)
def test_chopping_follows_its_definition(
    sent: list[Sent], marks: list[Mark], period: int, origin: int
) -> None:
    turns = drive(unary(Chop(period, origin)), [sent], marks)

    assert_settled(turns, oracle.chop(stream_of(sent), period, origin))


@settings(max_examples=50)
@given(sent=streams(), marks=marks)
def test_pieces_of_a_row_without_an_end_are_those_of_a_row_that_ends_late(
    sent: list[Sent], marks: list[Mark]
) -> None:
    late = [(start, 400 if end is None else end, p) for start, end, p in stream_of(sent)]
    *before, last = drive(unary(Chop(7, 3)), [sent], marks)

    expected = oracle.chop(late, 7, 3)
    assert_settled(before, expected)
    seen = events_of(last.rows)
    opened = Counter({event: n for event, n in seen.items() if event[1] is None})
    # The open piece represents all pieces that would follow until the late end of the row.
    follow = oracle.chop([(start, 400, p) for start, _, p in opened.elements()], 7, 3)
    assert seen - opened + follow == expected
    assert opened.total() == sum(end is None for _, end, _ in stream_of(sent))
    settled = max((turn.settled for turn in before), default=-100)
    assert all(start >= settled - 7 for start, _, _ in opened)
