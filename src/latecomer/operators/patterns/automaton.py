"""From a pattern to an automaton: which event may follow which.

The states are the events. Every event has its own name, so a sequence of named rows has only one
way through the automaton, and no match is found twice:

    a then b+ then c        first  a        a ─▶ b ─▶ c        last  c
                                               ↺

An event that comes up to three times has three *places*, one after the other. Several ways may then
lead to the same named rows: `a a a` is two times some `a` in two ways. So a state is the set of all
places of an event to which the rows so far lead.

An arc may be guarded by the condition of an `unless`. It is closed once a row that meets the
condition has been passed over.

Paper: Glushkov: The abstract theory of automata (1961); Rabin, Scott: Finite automata and their
    decision problems (1959), for the sets.
Holds: every arc reads a row, and no guarded arc has an unguarded twin. Between two events there is
    at most one guard. So at most two arcs lead from a state to an event. The guarded one comes
    first, because it leads to more places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import TYPE_CHECKING

import numpy as np

from latecomer.errors import PatternError
from latecomer.labels import Labelled
from latecomer.operators.patterns.shapes import (
    Condition,
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

if TYPE_CHECKING:
    from latecomer.kernels.automaton import Machine

UNGUARDED = -1

MOST_UNDER_WAY = 1 << 20
"""Largest number of matches of one key under way; beyond it the pattern is refused as too loose."""

MOST_STATES = 1_000

Arc = tuple[int, int, int]
"""Source state, target state, and number of the guard; -1 if there is none."""


@dataclass(frozen=True, slots=True)
class Automaton(Labelled):
    """Events by number, and the arcs from one to the next."""

    fixed = ("events", "guards", "firsts", "arcs", "lasts", "states", "absent")

    events: tuple[Event, ...]
    guards: tuple[Condition, ...]
    firsts: tuple[int, ...]
    arcs: tuple[Arc, ...]
    """Arcs between states, in order."""
    lasts: tuple[int, ...]
    states: tuple[int, ...] = ()
    """Event of each state; empty if the states are the events."""
    texts: tuple[str, ...] = ()
    """Guards as the user wrote them, if `guards` are names of columns."""
    absent: Callable[..., bool] | None = None
    """Further condition on a row that must be absent after a match, and on events of the match."""

    def part(self, name: str) -> object:
        """Return a field; the guards as the user wrote them."""
        return self.texts or self.guards if name == "guards" else getattr(self, name)

    @property
    def functions(self) -> list[Callable[..., bool] | None]:
        """Function of each event and earlier ones; the last is of the row that must be absent."""
        return [*(event.where for event in self.events), self.absent]

    @property
    def event_of(self) -> tuple[int, ...]:
        """Event of each state."""
        return self.states or tuple(range(len(self.events)))

    @property
    def repeated(self) -> frozenset[int]:
        """Events that can come more than once in a match."""
        of, found = self.event_of, set()
        for event in set(of):
            after = self._after([at for at, own in enumerate(of) if own == event])
            found |= {event} & {of[at] for at in after}
        return frozenset(found)

    def is_before(self, one: int, other: int) -> bool:
        """Return True if every way to `other` leads through `one`.

        The number after the last event stands for the row that must be absent after a match.
        """
        if one == other:
            return False
        ways = [first for first in self.firsts if self.event_of[first] != one]
        found = {*ways, *self._after(ways, avoided=one)}
        if other == len(self.events):
            return found.isdisjoint(self.lasts)
        return other not in {self.event_of[at] for at in found}

    def machine(
        self, within: int, *, is_strict: bool, may_overlap: bool, silence: int | None = None
    ) -> Machine:
        """Return the automaton as arrays.

        Args:
            within: The longest time that a match may last, in microseconds.
            is_strict: Whether no row may be passed over.
            may_overlap: Whether a match may begin while others are under way.
            silence: The time after a match in which no row may meet the last guard.
        """
        from latecomer.kernels.automaton import Machine

        start = len(self.event_of)
        arcs = [*self.arcs, *((start, first, UNGUARDED) for first in self.firsts)]
        sources = np.array([source for source, _, _ in arcs], np.int64)
        guards = [0 if guard == UNGUARDED else 1 << guard for _, _, guard in arcs]
        return Machine(
            bounds=np.searchsorted(sources, np.arange(start + 2)).astype(np.int64),
            to=np.array([target for _, target, _ in arcs], np.int64),
            guards=np.array(guards, np.int64),
            is_last=np.isin(np.arange(start), self.lasts),
            event=np.array(self.event_of, np.int64),
            asks=np.array([where is not None for where in self.functions], np.bool_),
            within=within,
            is_strict=is_strict,
            may_overlap=may_overlap,
            most=MOST_UNDER_WAY,
            silence=silence or 0,
            absent=1 << len(self.guards) - 1 if silence else 0,
        )

    def _after(self, states: list[int], avoided: int | None = None) -> set[int]:
        """Return all states that can come after some states, by ways that avoid an event."""
        of, ways = self.event_of, _by_source(self.arcs)
        found: set[int] = set()
        open_ends = list(states)
        while open_ends:
            nexts = ways.get(open_ends.pop(), ())
            targets = {to for _, to, _ in nexts if of[to] != avoided} - found
            found |= targets
            open_ends += targets
        return found


@dataclass(slots=True)
class _Part:
    """First and last places of a part of a pattern, and the arcs between its places."""

    firsts: set[int]
    lasts: set[int]
    arcs: set[Arc] = field(default_factory=set)


def compiled(shape: Shape) -> Automaton:
    """Return the automaton of a pattern. It never matches the empty sequence of rows.

    Raises:
        PatternError: It has too many places.
    """
    if places_of(shape) > MOST_STATES:
        raise PatternError(
            f"the pattern has {places_of(shape):,} places, counting each repetition of an event; "
            f"at most {MOST_STATES:,} are possible.\n"
            "Hint: use plus() for any number of times, with a where= that counts."
        )
    events = events_of(shape)
    places = _Places({event.name: number for number, event in enumerate(events)})
    part = places.part(shape)
    free = {(at, to) for at, to, guard in part.arcs if guard == UNGUARDED}
    part.arcs = {arc for arc in part.arcs if arc[2] == UNGUARDED or arc[:2] not in free}
    guards = tuple(shape.unless for shape in places.guarded)
    if len(places.events) > len(events):
        return _determined(part, places.events, events, guards)
    return Automaton(
        tuple(events),
        guards,
        tuple(sorted(part.firsts)),
        tuple(sorted(part.arcs)),
        tuple(sorted(part.lasts)),
    )


class _Places:
    """The places of a pattern, numbered as it is read."""

    def __init__(self, numbers: dict[str, int]) -> None:
        self._numbers = numbers
        self.events: list[int] = []
        """Event of each place."""
        self.guarded: list[Then] = []
        """Parts that have a guard. All copies of a part have the same guard."""

    def part(self, shape: Shape) -> _Part:
        """Number the places of a part of the pattern, and return the part."""
        if isinstance(shape, Event):
            place = len(self.events)
            self.events.append(self._numbers[shape.name])
            return _Part({place}, {place})
        if isinstance(shape, Some):
            return self._copies(shape)
        one, other = self.part(shape.first), self.part(shape.second)
        arcs = one.arcs | other.arcs
        if isinstance(shape, Either):
            return _Part(one.firsts | other.firsts, one.lasts | other.lasts, arcs)
        return _Part(
            one.firsts | other.firsts if may_be_empty(shape.first) else one.firsts,
            one.lasts | other.lasts if may_be_empty(shape.second) else other.lasts,
            arcs | _arcs(one, other, self._guard(shape)),
        )

    def _copies(self, some: Some) -> _Part:
        parts = [self.part(some.of) for _ in range(copies_of(some))]
        arcs = set().union(*(part.arcs for part in parts))
        for one, other in pairwise(parts):
            arcs |= _arcs(one, other, UNGUARDED)
        if some.most is None:
            arcs |= _arcs(parts[-1], parts[-1], UNGUARDED)
        least = 1 if may_be_empty(some) else some.least
        lasts = set().union(*(part.lasts for part in parts[least - 1 :]))
        return _Part(parts[0].firsts, lasts, arcs)

    def _guard(self, then: Then) -> int:
        if then.unless is None:
            return UNGUARDED
        known = [number for number, each in enumerate(self.guarded) if each is then]
        if not known:
            self.guarded.append(then)
        return known[0] if known else len(self.guarded) - 1


def _arcs(one: _Part, other: _Part, guard: int) -> set[Arc]:
    return {(last, first, guard) for last in one.lasts for first in other.firsts}


def _by_source(arcs: Iterable[Arc]) -> dict[int, list[Arc]]:
    found: dict[int, list[Arc]] = {}
    for arc in arcs:
        found.setdefault(arc[0], []).append(arc)
    return found


def _determined(
    part: _Part, event_of: list[int], events: list[Event], guards: tuple[Condition, ...]
) -> Automaton:
    """Return an automaton in which a state is the set of places to which the same rows lead."""
    numbers: dict[frozenset[int], int] = {}

    def state(places: set[int]) -> int:
        return numbers.setdefault(frozenset(places), len(numbers))

    def by_event(places: set[int]) -> dict[int, set[int]]:
        found: dict[int, set[int]] = {}
        for place in sorted(places):
            found.setdefault(event_of[place], set()).add(place)
        return found

    arcs_of = _by_source(part.arcs)
    firsts = tuple(state(places) for places in by_event(part.firsts).values())
    arcs: list[Arc] = []
    for number in count():
        if number == len(numbers):
            break
        if number == MOST_STATES:
            raise PatternError(
                f"the pattern has more than {MOST_STATES:,} states, because repeated parts contain "
                "repeated parts.\n"
                "Hint: use plus() for any number of times."
            )
        ways = [arc[1:] for place in list(numbers)[number] for arc in arcs_of.get(place, ())]
        free = by_event({to for to, guard in ways if guard == UNGUARDED})
        guard_of = {event_of[to]: guard for to, guard in ways if guard != UNGUARDED}
        for event, places in by_event({to for to, _ in ways}).items():
            if places != free.get(event):
                arcs.append((number, state(places), guard_of[event]))
            if event in free:
                arcs.append((number, state(free[event]), UNGUARDED))
    lasts = tuple(number for places, number in numbers.items() if places & part.lasts)
    states = tuple(event_of[min(places)] for places in numbers)
    return Automaton(tuple(events), guards, firsts, tuple(arcs), lasts, states)
