"""A pattern as data: a regular expression whose letters are events.

    event("a").then(event("b").plus()).or_("c")     Either(Then(a, Some(b)), c)

Each event has its own name, so a match shows which event each of its rows is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from latecomer.labels import Labelled

Condition: TypeAlias = Any
"""A condition on one row: Spark SQL or a Column; in a plan, the name of a boolean column."""


@dataclass(frozen=True, slots=True)
class Event(Labelled):
    """One row that meets a condition."""

    fixed = ("name", "condition", "where")

    name: str
    condition: Condition | None = None
    """Condition on the row; None: any row."""
    where: Callable[..., bool] | None = None
    """Condition on the row and earlier events; see `latecomer.operators.patterns.where`."""
    text: str = ""
    """Condition as the user wrote it, if `condition` names a column."""

    def part(self, name: str) -> object:
        """Return a field; the condition as the user wrote it."""
        return self.text or self.condition if name == "condition" else getattr(self, name)


@dataclass(frozen=True, slots=True)
class Then:
    """One pattern after the other."""

    first: Shape
    second: Shape
    unless: Condition | None = None
    """Condition that no row may meet after the last event of `first` and before `second`."""


@dataclass(frozen=True, slots=True)
class Either:
    """One pattern or the other."""

    first: Shape
    second: Shape


@dataclass(frozen=True, slots=True)
class Some:
    """The same pattern several times, one after the other."""

    of: Shape
    least: int
    """Smallest number of times; 0: it may be left out."""
    most: int | None = None
    """Largest number of times; None: no limit."""


Shape: TypeAlias = Event | Then | Either | Some


def events_of(shape: Shape) -> list[Event]:
    """Return the events of a pattern, in the order in which they are written."""
    match shape:
        case Event():
            return [shape]
        case Some():
            return events_of(shape.of)
    return [*events_of(shape.first), *events_of(shape.second)]


def may_be_empty(shape: Shape) -> bool:
    """Return True if a pattern matches the empty sequence of rows."""
    match shape:
        case Event():
            return False
        case Some():
            return shape.least == 0 or may_be_empty(shape.of)
        case Either():
            return may_be_empty(shape.first) or may_be_empty(shape.second)
    return may_be_empty(shape.first) and may_be_empty(shape.second)


def places_of(shape: Shape) -> int:
    """Return the number of places in a pattern: an event that comes up to three times has three."""
    match shape:
        case Event():
            return 1
        case Some():
            return places_of(shape.of) * copies_of(shape)
    return places_of(shape.first) + places_of(shape.second)


def copies_of(some: Some) -> int:
    """Return the number of copies of a repeated part. Without a limit, the last one may repeat."""
    return max(some.least, 1) if some.most is None else some.most
