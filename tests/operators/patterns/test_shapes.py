from __future__ import annotations

import pytest

from latecomer.labels import versioned
from latecomer.operators.patterns.shapes import (
    Either,
    Event,
    Shape,
    Some,
    Then,
    copies_of,
    events_of,
    may_be_empty,
    places_of,
)

A, B, C = (Event(name) for name in "abc")


def is_larger(earlier: object, later: object) -> bool:
    return earlier != later


def test_events_are_listed_in_the_order_in_which_they_are_written() -> None:
    shape = Then(Some(Either(C, A), 1), B, unless="z")

    assert events_of(shape) == [C, A, B]
    assert events_of(A) == [A]


def test_a_checkpoint_knows_an_event_by_its_condition_as_it_was_written() -> None:
    where = versioned(is_larger, version="1")

    assert Event("a").label == 'Event(name="a")'
    assert Event("a", "_lc_input_0", where, text="x > 1").label == (
        'Event(name="a", condition="x > 1", where=is_larger<version 1>)'
    )


@pytest.mark.parametrize(
    ("shape", "empty"),
    [
        (A, False),
        (Some(B, 0), True),
        (Some(B, 1), False),
        (Then(Some(B, 0), A), False),
        (Then(Some(B, 0), Some(A, 0, 1)), True),
        (Either(Some(B, 0), A), True),
        (Either(Some(B, 1), A), False),
        (Some(Some(B, 0), 1), True),
    ],
)
def test_a_pattern_may_be_empty(shape: Shape, *, empty: bool) -> None:
    assert may_be_empty(shape) is empty


def test_an_event_has_as_many_places_as_times_are_counted() -> None:
    assert places_of(Then(A, Some(Then(B, Some(C, 0, 2)), 2, 4))) == 1 + 4 * 3
    assert (copies_of(Some(A, 0)), copies_of(Some(A, 3)), copies_of(Some(A, 0, 2))) == (1, 3, 2)
