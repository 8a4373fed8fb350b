"""What a pattern looks like, as data: a regular expression whose letters are events.

    event("a").then(event("b").plus()).or_("c")     Either(Then(a, Some(b)), c)

Each event has a name of its own, so a match says of each of its rows which event it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from latecomer.labels import Labelled

Condition: TypeAlias = Any
"""What must be true of one row: Spark SQL or a Column; in a plan, the name of a boolean column."""


@dataclass(frozen=True, slots=True)
class Event(Labelled):
    """One row."""

    fixed = ("name", "condition", "where")

    name: str
    condition: Condition | None = None
    """None: any row."""
    where: Callable[..., bool] | None = None
    """What must be true of it and earlier events: see `latecomer.operators.patterns.where`."""
    text: str = ""
    """The condition as the user wrote it, where `condition` names a column."""

    def part(self, name: str) -> object:
        """Show the condition as it was written."""
        return self.text or self.condition if name == "condition" else getattr(self, name)


@dataclass(frozen=True, slots=True)
class Then:
    """One after the other."""

    first: Shape
    second: Shape
    unless: Condition | None = None
    """What no row between the last event of the first and the first of the second may meet."""


@dataclass(frozen=True, slots=True)
class Either:
    """One or the other."""

    first: Shape
    second: Shape


@dataclass(frozen=True, slots=True)
class Some:
    """The same several times, one after the other."""

    of: Shape
    least: int
    """How often it must come; 0: it may be left out."""
    most: int | None = None
    """How often it may come; None: as often as one likes."""


Shape: TypeAlias = Event | Then | Either | Some


def events_of(shape: Shape) -> list[Event]:
    """List the events of a pattern, in the order in which they are written."""
    match shape:
        case Event():
            return [shape]
        case Some():
            return events_of(shape.of)
    return [*events_of(shape.first), *events_of(shape.second)]


def may_be_empty(shape: Shape) -> bool:
    """Return True if no row at all is a match of a pattern."""
    match shape:
        case Event():
            return False
        case Some():
            return shape.least == 0 or may_be_empty(shape.of)
        case Either():
            return may_be_empty(shape.first) or may_be_empty(shape.second)
    return may_be_empty(shape.first) and may_be_empty(shape.second)


def places_of(shape: Shape) -> int:
    """Return how many places a pattern has: an event that comes up to three times has three."""
    match shape:
        case Event():
            return 1
        case Some():
            return places_of(shape.of) * copies_of(shape)
    return places_of(shape.first) + places_of(shape.second)


def copies_of(some: Some) -> int:
    """Return how often a part is written down; the last one stands for any number of times."""
    return max(some.least, 1) if some.most is None else some.most
