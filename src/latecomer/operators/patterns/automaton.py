"""From a pattern to an automaton: which event may follow which.

The states are the events. Every event has a name of its own, so a sequence of named rows goes one
way only through the automaton, and no match is found twice:

    a then b+ then c        first  a        a ─▶ b ─▶ c        last  c
                                               ↺

An arc may be guarded, by the condition of an `unless`: it is closed once a row that meets it has
been passed over.

Paper: Glushkov: The abstract theory of automata (1961).
Holds: no arc reads nothing, and none with a guard has a twin without.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from latecomer.labels import Labelled
from latecomer.operators.patterns.shapes import Condition, Either, Event, Shape, Some, events_of

if TYPE_CHECKING:
    from latecomer.kernels.automaton import Machine

UNGUARDED = -1

MOST_UNDER_WAY = 1 << 20
"""With more matches of one key under way than this, the pattern is one that nobody wants."""

Arc = tuple[int, int, int]
"""From which event, to which, and by which of the guards; -1 if by none."""


@dataclass(frozen=True, slots=True)
class Automaton(Labelled):
    """Events by number, and the ways from one to the next."""

    fixed = ("events", "guards", "firsts", "arcs", "lasts")

    events: tuple[Event, ...]
    guards: tuple[Condition, ...]
    firsts: tuple[int, ...]
    arcs: tuple[Arc, ...]
    """In order."""
    lasts: tuple[int, ...]
    texts: tuple[str, ...] = ()
    """The guards as the user wrote them, where `guards` are names of columns."""

    def part(self, name: str) -> object:
        """Show the guards as they were written."""
        return self.texts or self.guards if name == "guards" else getattr(self, name)

    @property
    def repeated(self) -> frozenset[int]:
        """The events that can come more than once in a match."""
        numbers = range(len(self.events))
        return frozenset(each for each in numbers if each in self._after([each]))

    def is_before(self, one: int, other: int) -> bool:
        """Return True if every way to the other event leads through the one."""
        if one == other:
            return False
        ways = [first for first in self.firsts if first != one]
        return other not in {*ways, *self._after(ways, avoided=one)}

    def machine(self, within: int, *, is_strict: bool, may_overlap: bool) -> Machine:
        """Write it as arrays.

        Args:
            within: How long a match may last, in microseconds.
            is_strict: Whether no row may be passed over.
            may_overlap: Whether a match may be begun while others are under way.
        """
        from latecomer.kernels.automaton import Machine

        start = len(self.events)
        arcs = [*self.arcs, *((start, first, UNGUARDED) for first in self.firsts)]
        sources = np.array([source for source, _, _ in arcs], np.int64)
        guards = [0 if guard == UNGUARDED else 1 << guard for _, _, guard in arcs]
        return Machine(
            bounds=np.searchsorted(sources, np.arange(start + 2)).astype(np.int64),
            to=np.array([target for _, target, _ in arcs], np.int64),
            guards=np.array(guards, np.int64),
            is_last=np.isin(np.arange(start), self.lasts),
            asks=np.array([event.where is not None for event in self.events], np.bool_),
            within=within,
            is_strict=is_strict,
            may_overlap=may_overlap,
            most=MOST_UNDER_WAY,
        )

    def _after(self, events: list[int], avoided: int | None = None) -> set[int]:
        """Find all that can come after some events, by ways that avoid one."""
        found: set[int] = set()
        open_ends = list(events)
        while open_ends:
            source = open_ends.pop()
            targets = {to for at, to, _ in self.arcs if at == source and to != avoided} - found
            found |= targets
            open_ends += targets
        return found


@dataclass(slots=True)
class _Part:
    """What is known of a part of a pattern."""

    firsts: set[int]
    lasts: set[int]
    may_be_empty: bool
    arcs: set[Arc] = field(default_factory=set)


def compiled(shape: Shape) -> Automaton:
    """Make the automaton of a pattern. That it may match no row at all is left out."""
    events, guards = events_of(shape), list[Condition]()
    numbers = {event.name: number for number, event in enumerate(events)}
    part = _part(shape, numbers, guards)
    free = {(at, to) for at, to, guard in part.arcs if guard == UNGUARDED}
    arcs = {arc for arc in part.arcs if arc[2] == UNGUARDED or arc[:2] not in free}
    return Automaton(
        tuple(events),
        tuple(guards),
        tuple(sorted(part.firsts)),
        tuple(sorted(arcs)),
        tuple(sorted(part.lasts)),
    )


def may_be_empty(shape: Shape) -> bool:
    """Return True if no row at all is a match of a pattern."""
    numbers = {event.name: number for number, event in enumerate(events_of(shape))}
    return _part(shape, numbers, []).may_be_empty


def _part(shape: Shape, numbers: dict[str, int], guards: list[Condition]) -> _Part:
    if isinstance(shape, Event):
        number = numbers[shape.name]
        return _Part({number}, {number}, may_be_empty=False)
    if isinstance(shape, Some):
        part = _part(shape.of, numbers, guards)
        if shape.repeats:
            part.arcs |= _arcs(part, part, UNGUARDED)
        part.may_be_empty |= shape.skips
        return part
    one, other = (_part(each, numbers, guards) for each in (shape.first, shape.second))
    arcs = one.arcs | other.arcs
    if isinstance(shape, Either):
        is_empty = one.may_be_empty or other.may_be_empty
        return _Part(one.firsts | other.firsts, one.lasts | other.lasts, is_empty, arcs)
    guard = UNGUARDED
    if shape.unless is not None:
        guard = len(guards)
        guards.append(shape.unless)
    return _Part(
        one.firsts | other.firsts if one.may_be_empty else one.firsts,
        one.lasts | other.lasts if other.may_be_empty else other.lasts,
        one.may_be_empty and other.may_be_empty,
        arcs | _arcs(one, other, guard),
    )


def _arcs(one: _Part, other: _Part, guard: int) -> set[Arc]:
    return {(last, first, guard) for last in one.lasts for first in other.firsts}
