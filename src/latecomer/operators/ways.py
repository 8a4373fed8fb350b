"""The way of a watermark in one step: its value before and now, for all keys or for each key.

    one for all         before 10    now 15

    one for each key    slot      0     1      2
                        before   10     3  NEVER
                        now      15     3     12

Where each key has a watermark of its own, the slot of a held row or state identifies its key.

Holds: no watermark falls; `lowest` and `highest` enclose the ways of all watermarks that move.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from latecomer.batch import Batch, Positions
from latecomer.operators.aggregates.summary import SLOT
from latecomer.operators.levels import ahead
from latecomer.time import FOREVER, NEVER, Times

if TYPE_CHECKING:
    from collections.abc import Sequence

    from latecomer.operators.base import Operator


class Way(Protocol):
    """The watermarks before and after a step."""

    @property
    def lowest(self) -> int:
        """Lowest watermark before the step, of those that move."""

    @property
    def highest(self) -> int:
        """Highest watermark after the step, of those that move; `lowest` if none does."""

    @property
    def is_final(self) -> bool:
        """Whether the stream has ended."""

    def ahead(self, by: int) -> Way:
        """Return the way moved ahead."""

    def now(self, held: Batch) -> Times:
        """Return the watermark after the step: of each held row or state, or one for all."""

    def of(self, held: Batch) -> tuple[Times, Times]:
        """Return the watermark before the step and now, for each held row or state."""


@dataclass(frozen=True, slots=True)
class OneWay:
    """The way of one watermark."""

    lowest: int
    highest: int

    @property
    def is_final(self) -> bool:
        return self.highest == FOREVER

    def ahead(self, by: int) -> OneWay:
        """Return the way moved ahead."""
        return OneWay(ahead(self.lowest, by), ahead(self.highest, by))

    def now(self, held: Batch) -> Times:
        """Return the watermark after the step, as an array without dimensions."""
        return np.array(self.highest)

    def of(self, held: Batch) -> tuple[Times, Times]:
        """Return the same two watermarks for each row or state, without copies."""
        before, now = np.int64(self.lowest), np.int64(self.highest)
        return np.broadcast_to(before, held.num_rows), np.broadcast_to(now, held.num_rows)


class KeyWays:
    """The ways of the watermarks of all keys."""

    def __init__(self, before: Times, now: Times) -> None:
        """Take the watermarks of all slots; that of an unused slot does not move."""
        self._before, self._now = before, now
        moves = now > before
        self.lowest = int(before[moves].min()) if moves.any() else FOREVER
        self.highest = int(now[moves].max()) if moves.any() else FOREVER

    def ahead(self, by: int) -> KeyWays:
        """Return all ways moved ahead."""
        if not by:
            return self
        return KeyWays(_ahead(self._before, by), _ahead(self._now, by))

    def each_ahead(self, leads: Sequence[int]) -> KeyWays:
        """Return several ways for each slot, side by side, each moved ahead by one of `leads`."""
        if not any(leads):
            return self
        ways = (self._before, self._now)
        return KeyWays(*(np.ravel([_ahead(way, by) for by in leads], "F") for way in ways))

    @property
    def is_final(self) -> bool:
        # The stream ends for all keys together, and no promise reaches as far.
        return bool((self._now == FOREVER).any())

    @property
    def moves(self) -> bool:
        """Whether any watermark moves."""
        return self.lowest < self.highest

    def through(self, spec: Operator) -> KeyWays:
        """Return the ways behind an operator."""
        return KeyWays(spec.passed(self._before), spec.passed(self._now))

    def at(self, slots: Positions) -> Times:
        """Return the watermarks of some slots after the step."""
        now: Times = self._now[slots]
        return now

    def of(self, held: Batch) -> tuple[Times, Times]:
        """Return the watermarks of the key of each row or state."""
        slots = held.column(SLOT).to_numpy()
        return self._before[slots], self._now[slots]

    def now(self, held: Batch) -> Times:
        """Return the watermark after the step, for each held row or state."""
        now: Times = self._now[held.column(SLOT).to_numpy()]
        return now


def _ahead(watermarks: Times, by: int) -> Times:
    """Return watermarks moved ahead, each as by `levels.ahead`."""
    moved = np.where(watermarks > FOREVER - by, FOREVER, watermarks + by)
    return np.where(watermarks == NEVER, NEVER, moved)
