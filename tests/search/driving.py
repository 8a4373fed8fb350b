"""Brute force, driven through micro-batches: which rows are late, and when answers come.

From docs/sort.md: first the clock, then the rows of the micro-batch. With a clock for each key it
is the other way round, and what the rows of a key make due comes out at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tests.search.clocks import KeyClock, OneClock, Passing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.search.cases import Case

END = 10**18
"""After all times."""
LATE = "late"


class Item(NamedTuple):
    """A row as brute force sees it."""

    time: int
    number: int
    key: str
    value: int | None


class Holder(Protocol):
    """What is held by one clock."""

    def add(self, item: Item, newest: int) -> bool:
        """Take in a row; return True if it is late."""

    def release(self, newest: int) -> list[Any]:
        """Return what comes out."""

    def needed(self) -> int | None:
        """Return how far the clock must come for nothing to be held; None if nothing is."""


class Told(NamedTuple):
    """What a step puts out."""

    answers: list[Any]
    late: list[tuple[int, str]]
    dropped: int


def drive(case: Case, make: Callable[[str], Holder]) -> list[Told]:
    """Run a case; `make` returns a holder for a key, or for all if there is one clock."""
    options = case.options
    clocks = Keys(options["idle"], make) if options["clock"] == "key" else One(options, make)
    told, number = [], 0
    for at, rows in enumerate(case.batches):
        late, items = [], []
        for time, key, value in rows:
            if time is None:
                late.append((number, "no time"))
            else:
                items.append(Item(time, number, repr(key), value))
            number += 1
        answers, behind = clocks.step(items, at * options["pace"])
        is_dropped = options["late"] == "drop"
        late += [] if is_dropped else [(item.number, LATE) for item in behind]
        told.append(Told(answers, sorted(late), len(behind) if is_dropped else 0))
    return [*told, Told(clocks.end(), [], 0)]


class One:
    """One clock for all rows."""

    def __init__(self, options: dict[str, Any], make: Callable[[str], Holder]) -> None:
        self._clock = OneClock(options["idle"])
        self._holder = make("all")

    def step(self, items: Sequence[Item], now: int) -> tuple[list[Any], list[Item]]:
        """Return the answers of a micro-batch, and its late rows."""
        newest = self._clock.tick(now)
        answers = self._holder.release(newest)
        late = [item for item in items if self._holder.add(item, newest)]
        answers += self._holder.release(newest)
        self._clock.hear([item.time for item in items])
        return answers, late

    def end(self) -> list[Any]:
        """Return what is left."""
        return self._holder.release(END)


class Keys:
    """A clock for each key."""

    def __init__(self, idle: int | None, make: Callable[[str], Holder]) -> None:
        self._idle, self._make = idle, make
        self._passing = Passing(idle)
        self._keys: dict[str, tuple[KeyClock, Holder]] = {}

    def step(self, items: Sequence[Item], now: int) -> tuple[list[Any], list[Item]]:
        """Return the answers of a micro-batch, and its late rows."""
        passed, answers, late = self._passing.tick(now), [], []
        for key in sorted({item.key for item in items} | self._keys.keys()):
            new = KeyClock(self._idle), self._make(key)
            clock, holder = self._keys.setdefault(key, new)
            own = [item for item in items if item.key == key]
            late += [item for item in own if holder.add(item, clock.time)]
            clock.hear([item.time for item in own], passed)
            answers += holder.release(clock.time)
            before = None
            while clock.time != before:
                before = clock.time
                clock.silent(passed, holder.needed())
                # What comes out may be remembered, and is then held for longer.
                answers += holder.release(clock.time)
            if clock.is_forgotten(passed) and holder.needed() is None:
                del self._keys[key]
        return answers, late

    def end(self) -> list[Any]:
        """Return what is left."""
        return [each for _, holder in self._keys.values() for each in holder.release(END)]
