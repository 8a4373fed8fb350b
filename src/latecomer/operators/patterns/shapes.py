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
    """The same again and again, or not at all."""

    of: Shape
    repeats: bool
    """Whether it may come more than once."""
    skips: bool
    """Whether it may be left out."""


Shape: TypeAlias = Event | Then | Either | Some


def events_of(shape: Shape) -> list[Event]:
    """List the events of a pattern, in the order in which they are written."""
    match shape:
        case Event():
            return [shape]
        case Some():
            return events_of(shape.of)
    return [*events_of(shape.first), *events_of(shape.second)]
