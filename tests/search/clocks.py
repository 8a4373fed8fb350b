"""Watermarks as the documentation has them, one micro-batch after the other.

`newest` is the largest time of all micro-batches before, in whole milliseconds; with a clock for
each key, of the rows of that key. Silence: docs/sort.md, "When nothing comes".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MS = 1_000
BEFORE = -(10**18)
"""Before all times."""


class OneClock:
    """One clock for all rows, which goes on when it has stood still for long."""

    def __init__(self, idle: int | None) -> None:
        self._idle = idle
        self._newest = self._known = self._reached = BEFORE
        self._lasted, self._last = 0, 0

    def tick(self, now: int) -> int:
        """Return what is newest as a micro-batch begins."""
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
        """Take note of the rows of the micro-batch."""
        self._newest = max([self._newest, *times])


class KeyClock:
    """The clock of one key. What it holds says until when a silent clock goes on."""

    def __init__(self, idle: int | None) -> None:
        self._idle = idle
        self.newest = BEFORE
        self.reached = BEFORE
        self.heard = 0
        """When the newest row came, in time that has passed."""

    def hear(self, times: Iterable[int], passed: int) -> None:
        """Take note of the rows of a micro-batch, and that so much time has passed in all."""
        newest = max([self.newest, *times])
        if newest > self.newest:
            self.newest, self.heard = newest, passed

    def silent(self, passed: int, last_needed: int | None) -> None:
        """Go on after a silence, if something is held, but not beyond what that needs."""
        lasted = passed - self.heard
        if self._idle is not None and lasted >= self._idle and last_needed is not None:
            self.reached = max(self.reached, min(_whole(self.newest + lasted), last_needed))

    def is_forgotten(self, passed: int) -> bool:
        """Return True after ten times as long a silence; it counts only if nothing is held."""
        return self._idle is not None and passed - self.heard > 10 * self._idle

    @property
    def time(self) -> int:
        return max(_whole(self.newest), self.reached)


class Passing:
    """How much time has passed, of which no more than a quarter of `idle` counts at once."""

    def __init__(self, idle: int | None) -> None:
        self._idle, self._last, self.passed = idle, 0, 0

    def tick(self, now: int) -> int:
        """Return how much has passed in all."""
        if self._idle is not None:
            self.passed += min(now - self._last, -(-self._idle // 4))
            self._last = now
        return self.passed


def _whole(newest: int) -> int:
    return newest // MS * MS
