"""Brute force, driven through micro-batches: which rows are late, and when results come out.

From docs/sort.md: the clock advances first, and then the rows of the micro-batch are added. With a
clock for each key it is the other way round: rows that become due come out in the same micro-batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tests.search.clocks import KeyClock, OneClock, Passing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.search.cases import Case

END = 10**18
"""Later than all times."""
LATE = "late"


class Item(NamedTuple):
    """A row in brute force."""

    time: int
    number: int
    key: str
    value: int | None


class Holder(Protocol):
    """The rows that are held under one clock."""

    def add(self, item: Item, newest: int) -> bool:
        """Add a row; return True if it is late."""

    def release(self, newest: int) -> list[Any]:
        """Return the results that are due."""

    def needed(self) -> int | None:
        """Return the time at which nothing will be held any more; None if nothing is held."""


class Told(NamedTuple):
    """The output of a step."""

    answers: list[Any]
    late: list[tuple[int, str]]
    dropped: int


def drive(case: Case, make: Callable[[str], Holder]) -> list[Told]:
    """Run a case. `make` returns the holder of a key, or of all rows if there is one clock."""
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
        """Return the results that are still held."""
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
                # Released rows may be remembered by `distinct`, and then need the clock for longer.
                answers += holder.release(clock.time)
            if clock.is_forgotten(passed) and holder.needed() is None:
                del self._keys[key]
        return answers, late

    def end(self) -> list[Any]:
        """Return the results that are still held."""
        return [each for _, holder in self._keys.values() for each in holder.release(END)]
