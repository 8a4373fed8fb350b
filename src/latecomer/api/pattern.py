"""Patterns, as users write them: a regular expression whose letters are events.

    click = lc.event("x", "ad = 'X'").then("y", "ad = 'Y'").within("1 minute")

    event(name, condition)     one row that meets a condition in Spark SQL; without one, any row
    .then(...)                 followed by another event or pattern
    .then(..., unless=...)     the same, if no row between meets a condition
    .or_(...)                  or an alternative
    .plus() .star()            at least once, any number of times
    .optional()                once or not at all
    .times(3), .times(2, 4)    exactly 3 times; at least 2 and at most 4 times
    .then_none(...)            followed, for a while, by no row that meets a condition

Each method applies to the whole pattern before it: `event("a").then("b").plus()` is `(a b)+`, and
`a b+` is `event("a").then(event("b").plus())`. Patterns are immutable; each method returns a new
one. `latecomer.operators.patterns.detect` defines a match.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from latecomer.api.arguments import length
from latecomer.errors import OptionError, PatternError
from latecomer.operators.patterns.automaton import Automaton, compiled
from latecomer.operators.patterns.shapes import (
    Condition,
    Either,
    Event,
    Shape,
    Some,
    Then,
    events_of,
    may_be_empty,
)
from latecomer.operators.patterns.where import arguments_of
from latecomer.time import Duration

if TYPE_CHECKING:
    from pyspark.sql import Column


MOST_EVENTS = 62
"""Most events of a pattern: the events that a row meets are kept in the bits of a number."""


def event(
    name: str, condition: str | Column | None = None, *, where: Callable[..., bool] | None = None
) -> Pattern:
    """Begin a pattern with one row.

    Args:
        name: The name of the row in a match.
        condition: The condition on the row, in Spark SQL or as a Column; None for any row.
        where: A condition on the row and earlier events: a Python function of the row and of
            events by name, as in `lambda row, a: row.price > a.price`. See
            `latecomer.operators.patterns.where`.

    Raises:
        PatternError: The name is not a text or is empty, or `where` is not a function.
    """
    if not (name and isinstance(name, str)):
        message = f'an event needs a name; got {name!r}.\nHint: event("a", "price > 10").'
        raise PatternError(message)
    _check_function(where, f'event "{name}"')
    return Pattern(Event(name, condition, where))


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern of rows that follow each other, and the longest time that a match may last."""

    shape: Shape
    span: int | None = None
    """Longest time from the first row to the last, in microseconds."""
    silence: int | None = None
    """Time after the last row in which no row may meet `absent`; None if there is no absence."""
    absent: Condition | None = None
    """Condition that no row may meet in that time; None for any row."""
    absent_where: Callable[..., bool] | None = None
    """Further condition on such a row and the match."""

    def then(
        self,
        what: str | Pattern,
        condition: str | Column | None = None,
        *,
        where: Callable[..., bool] | None = None,
        unless: str | Column | None = None,
    ) -> Pattern:
        """Add an event or a pattern that follows.

        Args:
            what: The name of an event, or a pattern.
            condition: The condition on the event; see `event`.
            where: The condition on the event and earlier events; see `event`.
            unless: A condition that no row between the two may meet.
        """
        return Pattern(Then(self._part(), _shape(what, condition, where), unless))

    def or_(
        self,
        what: str | Pattern,
        condition: str | Column | None = None,
        *,
        where: Callable[..., bool] | None = None,
    ) -> Pattern:
        """Add an alternative; the arguments are those of `then`."""
        return Pattern(Either(self._part(), _shape(what, condition, where)))

    def plus(self) -> Pattern:
        """Repeat the pattern once or more."""
        return Pattern(Some(self._part(), 1))

    def star(self) -> Pattern:
        """Repeat the pattern any number of times, including none."""
        return Pattern(Some(self._part(), 0))

    def optional(self) -> Pattern:
        """Make the pattern optional."""
        return Pattern(Some(self._part(), 0, 1))

    def times(self, least: int, most: int | None = None) -> Pattern:
        """Repeat the pattern that many times; with two numbers, at least and at most.

        Raises:
            PatternError: The numbers are not whole, negative, or the second is less than the first.
        """
        most = least if most is None else most
        if {type(least), type(most)} != {int} or not 0 <= least <= most or most == 0:
            raise PatternError(
                "times needs whole numbers, the smaller one first and the larger above 0; got "
                f"{least!r} and {most!r}.\n"
                "Hint: times(3), or times(2, 4) for two to four times; plus() for once or more."
            )
        return Pattern(Some(self._part(), least, most))

    def then_none(
        self,
        condition: str | Column | None = None,
        *,
        where: Callable[..., bool] | None = None,
        duration: Duration,
    ) -> Pattern:
        """End with an absence: for a while after the last row, no row may meet a condition.

        A row exactly that long after the last one is allowed. This must be the last step of a
        pattern; only `within` may follow, which is counted from the first row to the last.

        Args:
            condition: The condition, in Spark SQL or as a Column; None means any row.
            where: A further condition on the row and the match: a Python function of the row and of
                events by name, as for `event`.
            duration: The length of the absence.
        """
        self._open()
        _check_function(where, "then_none")
        silence = length(duration, "duration")
        return replace(self, absent=condition, absent_where=where, silence=silence)

    def within(self, duration: Duration) -> Pattern:
        """Set the longest time from the first row of a match to its last."""
        if self.span is not None:
            raise OptionError("within was given twice; a pattern has one limit.")
        return replace(self, span=length(duration, "within"))

    def automaton(self) -> Automaton:
        """Return the automaton that the pattern compiles to.

        Raises:
            PatternError: A name is used twice, there are too many events, or no row is needed.
        """
        names = [each.name for each in events_of(self.shape)]
        # Spark ignores the case of a name.
        for name, count in Counter(name.lower() for name in names).items():
            if count > 1:
                raise PatternError(
                    f'{count} events are named "{name}"; a name can be used once.\n'
                    "Hint: give each event a name of its own."
                )
        if may_be_empty(self.shape):
            raise PatternError(
                "the pattern would match without any row: all of its events are optional.\n"
                "Hint: plus() instead of star(), or an event that is not optional()."
            )
        automaton = compiled(self.shape)
        if self.silence is not None:
            guards = (*automaton.guards, self.absent)
            automaton = replace(automaton, guards=guards, absent=self.absent_where)
        if len(names) > MOST_EVENTS or len(automaton.guards) > MOST_EVENTS:
            raise PatternError(f"a pattern has at most {MOST_EVENTS} events; got {len(names)}.")
        for number in range(len(automaton.functions)):
            arguments_of(automaton, number)
        return automaton

    def _part(self) -> Shape:
        """Return the shape of this pattern, to be a part of another one."""
        self._open()
        if self.span is not None:
            raise PatternError(
                "within limits a whole pattern, and was given for a part of one.\n"
                "Hint: call within last."
            )
        return self.shape

    def _open(self) -> None:
        """Refuse a pattern that already ends with an absence."""
        if self.silence is not None:
            raise PatternError(
                "nothing can follow then_none, which ends a pattern.\n"
                'Hint: call then_none last; then(..., unless="...") is for rows between two '
                "events."
            )


def _check_function(where: Callable[..., bool] | None, of: str) -> None:
    if where is not None and not callable(where):
        raise PatternError(
            f"where of {of} must be a function; got {where!r}.\n"
            "Hint: a condition on the row alone is the argument before it, in Spark SQL."
        )


def _shape(
    what: str | Pattern, condition: str | Column | None, where: Callable[..., bool] | None
) -> Shape:
    if not isinstance(what, Pattern):
        return event(what, condition, where=where).shape
    if condition is not None or where is not None:
        raise PatternError(
            "a condition belongs to one event, and a whole pattern was given.\n"
            'Hint: then("b", "price > 10"), or give the condition to the events of the pattern.'
        )
    return what._part()  # noqa: SLF001 - a pattern, too
