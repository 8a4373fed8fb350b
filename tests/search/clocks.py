"""Watermarks as the documentation describes them, one micro-batch after the other.

`newest` is the largest time of all earlier micro-batches, in whole milliseconds. A clock of a key
counts the rows of that key only. For silent streams see docs/sort.md, "When nothing comes".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MS = 1_000
BEFORE = -(10**18)
"""Earlier than all times."""


class OneClock:
    """One clock for all rows. It advances by itself once it has stood still for `idle`."""

    def __init__(self, idle: int | None) -> None:
        self._idle = idle
        self._newest = self._known = self._reached = BEFORE
        self._lasted, self._last = 0, 0

    def tick(self, now: int) -> int:
        """Return the newest time at the start of a micro-batch."""
        if self._idle is None:
            return _whole(self._newest)
        counted = min(now - self._last, -(-self._idle // 4))
        if self._newest != self._known:
            self._known, self._lasted = self._newest, 0
            self._reached = max(self._reached, self._newest)
        else:
            if self._lasted >= self._idle and self._newest > BEFORE:
                self._reached = max(self._reached, self._newest + self._lasted)
            self._lasted += counted
        self._last = now
        return _whole(self._reached)

    def hear(self, times: Iterable[int]) -> None:
        """Record the times of a micro-batch."""
        self._newest = max([self._newest, *times])


class KeyClock:
    """The clock of one key. While it is silent, it advances only as far as held rows need."""

    def __init__(self, idle: int | None) -> None:
        self._idle = idle
        self.newest = BEFORE
        self.reached = BEFORE
        self.heard = 0
        """When the newest row arrived, on the scale of `Passing`."""

    def hear(self, times: Iterable[int], passed: int) -> None:
        """Record the times of a micro-batch that arrives after `passed` microseconds in all."""
        newest = max([self.newest, *times])
        if newest > self.newest:
            self.newest, self.heard = newest, passed

    def silent(self, passed: int, last_needed: int | None) -> None:
        """Advance after a silence, at most to `last_needed`; None means that nothing is held."""
        lasted = passed - self.heard
        if self._idle is not None and lasted >= self._idle and last_needed is not None:
            self.reached = max(self.reached, min(_whole(self.newest + lasted), last_needed))

    def is_forgotten(self, passed: int) -> bool:
        """Return True after a silence of ten times `idle`; callers check that nothing is held."""
        return self._idle is not None and passed - self.heard > 10 * self._idle

    @property
    def time(self) -> int:
        return max(_whole(self.newest), self.reached)


class Passing:
    """The time that has passed. A step counts for a quarter of `idle` at most."""

    def __init__(self, idle: int | None) -> None:
        self._idle, self._last, self.passed = idle, 0, 0

    def tick(self, now: int) -> int:
        """Return the total time that has passed."""
        if self._idle is not None:
            self.passed += min(now - self._last, -(-self._idle // 4))
            self._last = now
        return self.passed


def _whole(newest: int) -> int:
    return newest // MS * MS
