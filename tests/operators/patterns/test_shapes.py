from __future__ import annotations

from latecomer.labels import versioned
from latecomer.operators.patterns.shapes import Either, Event, Some, Then, events_of

A, B, C = (Event(name) for name in "abc")


def is_larger(earlier: object, later: object) -> bool:
    return earlier != later


def test_events_are_listed_in_the_order_in_which_they_are_written() -> None:
    shape = Then(Some(Either(C, A), repeats=True, skips=False), B, unless="z")

    assert events_of(shape) == [C, A, B]
    assert events_of(A) == [A]


def test_a_checkpoint_knows_an_event_by_its_condition_as_it_was_written() -> None:
    where = versioned(is_larger, version="1")

    assert Event("a").label == 'Event(name="a")'
    assert Event("a", "_lc_input_0", where, text="x > 1").label == (
        'Event(name="a", condition="x > 1", where=is_larger<version 1>)'
    )
