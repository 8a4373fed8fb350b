"""Matches by definition: try all sequences of rows, and keep those that are matches.

A pattern is a set of *words*. A word has an event at each place, with the guard before it. Rows are
few, so all words that can matter are listed.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, NamedTuple

from latecomer.operators.patterns.shapes import Either, Event, Some, Then, events_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from latecomer.operators.patterns.shapes import Shape

Word = tuple[tuple[str | None, str], ...]
Sequence = tuple[tuple[int, str], ...]
"""The rows of a match, with their events."""


class Row(NamedTuple):
    time: int
    key: str | None
    value: int
    meets: frozenset[str]
    """The names of the conditions that the row meets."""


def words(shape: Shape, most: int) -> set[Word]:
    """Return the words of a pattern with at most `most` places."""
    match shape:
        case Event():
            return {((None, shape.name),)} if most else set()
        case Either():
            return words(shape.first, most) | words(shape.second, most)
        case Then():
            firsts = words(shape.first, most)
            pairs = ((a, b) for a in firsts for b in words(shape.second, most - len(a)))
            return {_after(a, b, shape.unless) for a, b in pairs}
        case Some():
            once = words(shape.of, most)
            found: set[Word] = {()} if shape.least == 0 else set()
            exactly: set[Word] = {()}
            # More repetitions would only give words longer than `most`.
            for often in range(1, max(shape.least, most if shape.most is None else shape.most) + 1):
                pairs = ((a, b) for a in exactly for b in once)
                exactly = {_after(a, b, None) for a, b in pairs if len(a) + len(b) <= most}
                if often >= shape.least:
                    found |= exactly
            return found


def _after(one: Word, other: Word, guard: str | None) -> Word:
    if one and other and guard is not None:
        return (*one, (guard, other[0][1]), *other[1:])
    return one + other


@dataclass(frozen=True)
class Search:
    """A pattern and the rows of one key."""

    shape: Shape
    rows: list[Row]
    within: int
    is_strict: bool = False
    may_overlap: bool = True
    silence: int | None = None
    absent: str | None = None

    def matches(self) -> list[Sequence]:
        """Return all matches, in order of their last rows and then of their first."""
        valid = list(self.valid())
        begun = [True] * len(self.rows)
        if not self.may_overlap:
            self._close(begun, valid)
        found = [s for s in valid if begun[s[0][0]] and self.is_complete(s) and self.is_found(s)]
        return sorted(found, key=lambda s: (s[-1][0], s[0][0]))

    def valid(self) -> Iterator[Sequence]:
        """Return all sequences that begin a match, including whole matches."""
        names = [event.name for event in events_of(self.shape)]
        for length in range(1, len(self.rows) + 1):
            for places in combinations(range(len(self.rows)), length):
                for labels in product(names, repeat=length):
                    sequence = tuple(zip(places, labels, strict=True))
                    if self.is_valid(sequence):
                        yield sequence

    def is_valid(self, sequence: Sequence) -> bool:
        for length in range(len(sequence)):
            before, (place, name) = sequence[:length], sequence[length]
            if name not in self.next_events(before, place):
                return False
            # Rows between were skipped: none of them could be taken, or ended the sequence.
            skipped = range(before[-1][0] + 1, place) if before else range(0)
            if any(self.is_strict or self.next_events(before, each) for each in skipped):
                return False
        return True

    def is_complete(self, sequence: Sequence) -> bool:
        return any(len(word) == len(sequence) for word in self.words_of(sequence))

    def is_found(self, sequence: Sequence) -> bool:
        """Return True if no row follows that must be absent after the match."""
        last = sequence[-1][0]
        follow = [r for r in self.rows[last + 1 :] if r.time - self.rows[last].time < self.lasting]
        return not any(self.must_be_absent(each) for each in follow)

    @property
    def lasting(self) -> int:
        return self.silence or 0

    def must_be_absent(self, row: Row) -> bool:
        return self.absent is None or self.absent in row.meets

    def waits(self, sequence: Sequence, place: int) -> bool:
        """Return True if a complete match still waits for absence after a row."""
        last = sequence[-1][0]
        if last >= place or self.rows[place].time - self.rows[last].time >= self.lasting:
            return False
        follow = self.rows[last + 1 : place + 1]
        return self.is_complete(sequence) and not any(map(self.must_be_absent, follow))

    def words_of(self, sequence: Sequence) -> list[Word]:
        """Return the words that begin with a sequence, and whose guards no row between meets."""
        return [word for word in self.all_words() if self.fits(word, sequence)]

    def all_words(self) -> set[Word]:
        # Words one place longer show whether another event could follow.
        return words(self.shape, len(self.rows) + 1)

    def fits(self, word: Word, sequence: Sequence) -> bool:
        if len(word) < len(sequence):
            return False
        last = None
        for (guard, name), (place, label) in zip(word, sequence, strict=False):
            if name != label or (last is not None and self.is_met(guard, last, place)):
                return False
            last = place
        return True

    def is_met(self, guard: str | None, last: int, place: int) -> bool:
        """Return True if a row between two meets a guard."""
        return guard is not None and any(guard in r.meets for r in self.rows[last + 1 : place])

    def next_events(self, before: Sequence, place: int) -> set[str]:
        """Return the events that a row can be, after some others."""
        row = self.rows[place]
        if before and row.time - self.rows[before[0][0]].time > self.within:
            return set()
        nexts = {
            word[len(before)]
            for word in self.words_of(before)
            if len(word) > len(before)
            and (not before or not self.is_met(word[len(before)][0], before[-1][0], place))
        }
        return {name for _, name in nexts if self.meets(row, name, before)}

    def meets(self, row: Row, name: str, before: Sequence) -> bool:
        (event,) = (each for each in events_of(self.shape) if each.name == name)
        if event.condition is not None and event.condition not in row.meets:
            return False
        if event.where is None:
            return True
        asked = list(inspect.signature(event.where).parameters)[1:]
        return bool(event.where(row, *(self.bound(each, before) for each in asked)))

    def bound(self, name: str, before: Sequence) -> Any:  # noqa: ANN401
        taken = [self.rows[place] for place, label in before if label == name]
        if any([label for _, label in word].count(name) > 1 for word in words(self.shape, 8)):
            return taken
        return taken[0] if taken else None

    def _close(self, begun: list[bool], valid: list[Sequence]) -> None:
        """Mark which rows may begin a match: those that no match under way takes or skips."""
        for place in range(len(self.rows)):
            earlier = [s for s in valid if begun[s[0][0]] and s[0][0] < place]
            takes = any(s[-1][0] == place for s in earlier)
            begun[place] = not takes and not any(
                self.passes(s, place) or self.waits(s, place) for s in earlier
            )

    def passes(self, sequence: Sequence, place: int) -> bool:
        """Return True if a sequence is still under way after a row that it did not take."""
        last = sequence[-1][0]
        rows = range(last + 1, place + 1)
        if last >= place or self.rows[place].time - self.rows[sequence[0][0]].time > self.within:
            return False
        if any(self.is_strict or self.next_events(sequence, each) for each in rows):
            return False
        return any(
            len(word) > len(sequence) and not self.is_met(word[len(sequence)][0], last, place + 1)
            for word in self.words_of(sequence)
        )
