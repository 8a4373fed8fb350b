from __future__ import annotations

from latecomer.operators.patterns.shapes import Either, Event, Some, Then, events_of

A, B, C = (Event(name) for name in "abc")


def is_larger(earlier: object, later: object) -> bool:
    return earlier != later


def test_events_are_listed_in_the_order_in_which_they_are_written() -> None:
    shape = Then(Some(Either(C, A), repeats=True, skips=False), B, unless="z")

    assert events_of(shape) == [C, A, B]
    assert events_of(A) == [A]


def test_a_checkpoint_knows_a_function_by_its_name() -> None:
    assert repr(Event("a", "is_a", is_larger)) == "Event(a, is_a, is_larger)"
    assert repr(Event("a")) == "Event(a, None, None)"


def test_the_settings_of_a_shape_are_part_of_what_a_checkpoint_knows() -> None:
    once, often = (Some(A, repeats=repeats, skips=True) for repeats in (False, True))

    assert repr(once) != repr(often)
    assert repr(Then(A, B)) != repr(Then(A, B, unless="z"))
