"""Rows that count until their session ends."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latecomer.operators.temporal.session import Closing, Session
from latecomer.operators.windows.grid import FARTHEST
from tests.operators.temporal import oracle
from tests.operators.temporal.catalogue import key
from tests.operators.temporal.driving import (
    END,
    Mark,
    Node,
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

A, B, NOBODY = ("a", 1), ("b", 2), (None, 3)

forms = pytest.mark.parametrize("sent", [whole, parted])
times = pytest.mark.parametrize("marks", [[END], [*map(Mark, range(40)), END]], ids=["one", "many"])


def session(timeout: int, most: int | None = None, *, keys: tuple[str, ...] = ("k",)) -> Node:
    return unary(Session(keys, Closing(timeout, most)))


@forms
@times
def test_a_row_counts_until_the_timeout_of_the_last_of_its_session(
    sent: Send, marks: list[Mark]
) -> None:
    rows = sent((1, 2, A), (3, 30, A), (6, None, A), (15, 16, A))

    seen = result(session(5), rows, marks=marks)

    assert seen == Counter([(1, 11, A), (3, 11, A), (6, 11, A), (15, 20, A)])


@times
def test_a_row_just_at_the_timeout_begins_a_session(marks: list[Mark]) -> None:
    seen = result(session(5), whole((1, 2, A), (6, 7, A), (10, 11, A)), marks=marks)

    assert seen == Counter([(1, 6, A), (6, 15, A), (10, 15, A)])


def test_rows_that_begin_together_are_in_one_session() -> None:
    seen = result(session(1), whole((1, 2, A), (1, 9, A), (2, 3, A)))

    assert seen == Counter([(1, 2, A), (1, 2, A), (2, 3, A)])


@times
def test_keys_have_sessions_of_their_own_and_null_is_a_key(marks: list[Mark]) -> None:
    rows = whole((1, 2, A), (3, 4, B), (4, 5, NOBODY), (5, 6, A), (7, 8, NOBODY))

    seen = result(session(5), rows, marks=marks)

    assert seen == Counter([(1, 10, A), (5, 10, A), (3, 8, B), (4, 12, NOBODY), (7, 12, NOBODY)])


@times
def test_without_a_key_all_rows_are_in_one_session(marks: list[Mark]) -> None:
    seen = result(session(5, 20, keys=()), whole((1, 2, A), (3, 4, B), (8, 9, B)), marks=marks)

    assert seen == Counter([(1, 8, A), (3, 8, B), (8, 13, B)])


@times
def test_a_streak_is_cut_at_multiples_of_the_longest_duration(marks: list[Mark]) -> None:
    rows = whole(*((at, at + 1, A) for at in (11, 12, 21, 25, 31, 32, 41, 45, 51, 62)))

    seen = result(session(10, 20), rows, marks=marks)

    ends = {start: end for start, end, _ in seen}
    assert ends == dict.fromkeys((11, 12, 21, 25, 31, 32), 40) | {41: 60, 45: 60, 51: 60, 62: 72}


@times
def test_a_streak_that_begins_at_a_multiple_is_cut_at_the_next(marks: list[Mark]) -> None:
    seen = result(session(8, 10), whole((0, 1, A), (5, 6, A), (10, 11, A)), marks=marks)

    assert seen == Counter([(0, 10, A), (5, 10, A), (10, 18, A)])


@times
def test_a_longest_duration_shorter_than_the_timeout_cuts_single_rows(marks: list[Mark]) -> None:
    rows = whole((1, 2, A), (12, 13, A), (29, 30, A))

    seen = result(session(15, 4), rows, marks=marks)

    assert seen == Counter([(1, 8, A), (12, 16, A), (29, 36, A)])


@times
def test_times_before_1970_are_cut_alike(marks: list[Mark]) -> None:
    rows = whole((-13, -12, A), (-9, -8, A), (-5, -4, A), (-1, 0, A), (3, 4, A))

    seen = result(session(5, 10), rows, marks=[Mark(-12), Mark(-3), Mark(0), *marks])

    assert {start: end for start, end, _ in seen} == {-13: 0, -9: 0, -5: 0, -1: 0, 3: 8}


def test_times_far_apart_do_not_overflow() -> None:
    far = FARTHEST - 1
    rows = whole((-far, 1 - far, A), (0, 1, A), (far, far + 1, A))

    seen = result(session(FARTHEST, FARTHEST), rows)

    assert {start: end for start, end, _ in seen} == dict.fromkeys((-far, 0, far), FARTHEST)
    assert result(session(3), rows) == Counter([(-far, 3 - far, A), (0, 3, A), (far, far + 3, A)])


def test_a_session_of_a_silent_key_comes_out_as_soon_as_it_is_over() -> None:
    root = session(5)
    turns = drive(root, [whole((1, 2, A), (3, 4, A))], [Mark(4), Mark(7), Mark(8), END])

    seen = [events_of(turn.rows) for turn in turns]
    begun, ended = Counter([(1, None, A), (3, None, A)]), Counter([(1, 8, A), (3, 8, A)])
    assert seen == [begun, begun, ended, ended]


def test_sessions_wake_when_the_first_is_over() -> None:
    root = session(5)
    drive(root, [whole((1, 2, A), (3, 4, B))], [Mark(4)])

    assert root.running.due() == 6


def test_after_a_cut_only_the_streak_is_held_until_it_is_over() -> None:
    root = session(5, 10)
    turns = drive(root, [whole(*((at, at + 1, A) for at in (3, 7, 11, 15, 19)))], [Mark(20)])

    assert {end for _, end, _ in events_of(turns[-1].rows)} == {20}
    assert (root.running.held, root.running.due()) == (1, 24)
    drive(root, [[]], [Mark(24)])
    assert (root.running.held, root.running.due()) == (0, None)


@settings(max_examples=80)
@given(
    sent=streams(),
    marks=marks,
    timeout=st.integers(1, 12),
    most=st.none() | st.integers(1, 12),
)
def test_sessions_follow_their_definition(
    sent: list[Sent], marks: list[Mark], timeout: int, most: int | None
) -> None:
    turns = drive(session(timeout, most), [sent], marks)

    expected = oracle.session(stream_of(sent), key, timeout, most)
    assert_settled(turns, expected)
    assert events_of(turns[-1].rows) == expected
