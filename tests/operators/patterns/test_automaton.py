"""Automata: the events that may follow each event."""

from __future__ import annotations

import pytest

from latecomer.errors import PatternError
from latecomer.operators.patterns.automaton import UNGUARDED, compiled
from latecomer.operators.patterns.shapes import Either, Some, Then
from tests.operators.patterns.driving import A, B, C

PLUS_B = Some(B, 1)
STAR_B = Some(B, 0)


def test_events_follow_each_other() -> None:
    automaton = compiled(Then(A, Then(PLUS_B, C)))

    assert automaton.firsts == (0,)
    assert automaton.arcs == ((0, 1, UNGUARDED), (1, 1, UNGUARDED), (1, 2, UNGUARDED))
    assert automaton.lasts == (2,)


def test_an_optional_event_may_be_skipped() -> None:
    automaton = compiled(Then(STAR_B, Either(A, C)))

    assert automaton.firsts == (0, 1, 2)
    assert automaton.lasts == (1, 2)


def test_a_guard_stands_between_two_parts() -> None:
    automaton = compiled(Then(Then(A, STAR_B), C, "z"))

    assert automaton.guards == ("z",)
    assert automaton.arcs == (
        (0, 1, UNGUARDED),
        (0, 2, 0),
        (1, 1, UNGUARDED),
        (1, 2, 0),
    )


def test_an_unguarded_step_replaces_the_same_step_with_a_guard() -> None:
    optional = [Some(each, 0, 1) for each in (A, B)]
    automaton = compiled(Some(Then(*optional, "z"), 1))

    assert (0, 1, UNGUARDED) in automaton.arcs
    assert (0, 1, 0) not in automaton.arcs


def test_events_that_can_come_again_are_repeated() -> None:
    assert compiled(Then(A, Then(PLUS_B, C))).repeated == {1}
    assert compiled(Some(Then(A, B), 1)).repeated == {0, 1}
    assert compiled(Then(A, Some(B, 0, 1))).repeated == set()


def test_an_event_is_before_another_if_every_path_contains_it() -> None:
    automaton = compiled(Then(A, Then(STAR_B, C)))

    assert automaton.is_before(0, 2)
    assert not automaton.is_before(1, 2)
    assert not automaton.is_before(2, 0)
    assert not automaton.is_before(0, 0)


def test_an_event_with_several_repetitions_has_a_state_for_each() -> None:
    automaton = compiled(Then(Some(A, 2, 3), B))

    assert automaton.states == (0, 0, 0, 1)
    assert automaton.arcs == (
        (0, 1, UNGUARDED),
        (1, 2, UNGUARDED),
        (1, 3, UNGUARDED),
        (2, 3, UNGUARDED),
    )
    assert (automaton.firsts, automaton.lasts) == ((0,), (3,))
    assert automaton.repeated == {0}
    assert automaton.is_before(0, 1)
    assert not automaton.is_before(1, 0)


def test_an_event_that_comes_once_is_not_repeated() -> None:
    assert compiled(Then(Some(A, 1, 1), B)) == compiled(Then(A, B))


def test_paths_that_name_rows_alike_are_one() -> None:
    automaton = compiled(Some(Some(A, 1), 2, 2))

    assert automaton.arcs == ((0, 1, UNGUARDED), (1, 1, UNGUARDED))
    assert automaton.lasts == (1,)


def test_an_open_guard_leads_to_more_places() -> None:
    automaton = compiled(Some(Then(Some(A, 0, 1), Some(B, 0, 1), "z"), 1, 2))
    first, *_ = automaton.firsts

    ways = [arc for arc in automaton.arcs if arc[0] == first and automaton.states[arc[1]] == 1]
    assert [guard for _, _, guard in ways] == [0, UNGUARDED]


def test_a_pattern_with_too_many_places_is_refused() -> None:
    with pytest.raises(PatternError, match="1,001 places"):
        compiled(Then(A, Some(B, 1000, 1000)))
    both = Then(Some(A, 0, 1), Some(B, 0, 1), "z")
    with pytest.raises(PatternError, match="more than 1,000 states"):
        compiled(Some(both, 1, 400))


def test_a_machine_has_the_same_arcs_and_those_of_the_beginning() -> None:
    machine = compiled(Then(A, Either(B, C), "z")).machine(5, is_strict=True, may_overlap=False)

    assert machine.bounds.tolist() == [0, 2, 2, 2, 3]
    assert machine.to.tolist() == [1, 2, 0]
    assert machine.guards.tolist() == [1, 1, 0]
    assert machine.is_last.tolist() == [False, True, True]
    assert (machine.within, machine.is_strict, machine.may_overlap) == (5, True, False)
