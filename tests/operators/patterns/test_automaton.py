"""Which event may follow which."""

from __future__ import annotations

import pytest

from latecomer.operators.patterns.automaton import UNGUARDED, compiled, may_be_empty
from latecomer.operators.patterns.shapes import Either, Shape, Some, Then
from tests.operators.patterns.driving import A, B, C

PLUS_B = Some(B, repeats=True, skips=False)
STAR_B = Some(B, repeats=True, skips=True)


def test_events_follow_each_other() -> None:
    automaton = compiled(Then(A, Then(PLUS_B, C)))

    assert automaton.firsts == (0,)
    assert automaton.arcs == ((0, 1, UNGUARDED), (1, 1, UNGUARDED), (1, 2, UNGUARDED))
    assert automaton.lasts == (2,)


def test_what_may_be_left_out_is_passed_by() -> None:
    automaton = compiled(Then(STAR_B, Either(A, C)))

    assert automaton.firsts == (0, 1, 2)
    assert automaton.lasts == (1, 2)


def test_a_guard_stands_where_one_part_meets_the_next() -> None:
    automaton = compiled(Then(Then(A, STAR_B), C, "z"))

    assert automaton.guards == ("z",)
    assert automaton.arcs == (
        (0, 1, UNGUARDED),
        (0, 2, 0),
        (1, 1, UNGUARDED),
        (1, 2, 0),
    )


def test_a_way_without_a_guard_makes_one_with_it_needless() -> None:
    optional = [Some(each, repeats=False, skips=True) for each in (A, B)]
    automaton = compiled(Some(Then(*optional, "z"), repeats=True, skips=False))

    assert (0, 1, UNGUARDED) in automaton.arcs
    assert (0, 1, 0) not in automaton.arcs


def test_events_that_can_come_again_are_repeated() -> None:
    assert compiled(Then(A, Then(PLUS_B, C))).repeated == {1}
    assert compiled(Some(Then(A, B), repeats=True, skips=False)).repeated == {0, 1}
    assert compiled(Then(A, Some(B, repeats=False, skips=True))).repeated == set()


def test_an_event_is_before_another_if_every_way_leads_by_it() -> None:
    automaton = compiled(Then(A, Then(STAR_B, C)))

    assert automaton.is_before(0, 2)
    assert not automaton.is_before(1, 2)
    assert not automaton.is_before(2, 0)
    assert not automaton.is_before(0, 0)


@pytest.mark.parametrize(
    ("shape", "empty"),
    [
        (A, False),
        (STAR_B, True),
        (PLUS_B, False),
        (Then(STAR_B, A), False),
        (Then(STAR_B, Some(A, repeats=False, skips=True)), True),
        (Either(STAR_B, A), True),
        (Either(PLUS_B, A), False),
        (Some(STAR_B, repeats=True, skips=False), True),
    ],
)
def test_a_pattern_may_be_empty(shape: Shape, *, empty: bool) -> None:
    assert may_be_empty(shape) is empty


def test_a_machine_has_the_same_arcs_and_those_of_the_beginning() -> None:
    machine = compiled(Then(A, Either(B, C), "z")).machine(5, is_strict=True, may_overlap=False)

    assert machine.bounds.tolist() == [0, 2, 2, 2, 3]
    assert machine.to.tolist() == [1, 2, 0]
    assert machine.guards.tolist() == [1, 1, 0]
    assert machine.is_last.tolist() == [False, True, True]
    assert (machine.within, machine.is_strict, machine.may_overlap) == (5, True, False)
