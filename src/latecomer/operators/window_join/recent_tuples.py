"""Tuples of the recent past, in the order in which they came."""

import numpy as np

from latecomer.arrays import Arrays
from latecomer.operators.window_join.saving import Savable
from latecomer.operators.window_join.tuples import Tuples
from latecomer.time import NEVER


class RecentTuples(Savable):
    """Tuples since a time. Parts are concatenated only when `tuples` is read."""

    def __init__(self) -> None:
        # The newest time of each part, and the part.
        self._parts: list[tuple[int, Tuples]] = []
        self._since = NEVER

    @property
    def tuples(self) -> Tuples:
        """All tuples since that time."""
        if not self._parts:
            return Tuples.none()
        found = Tuples.together([part for _, part in self._parts])
        return found.take(np.flatnonzero(found.times >= self._since))

    def add(self, tuples: Tuples) -> None:
        """Add tuples after all others."""
        if len(tuples):
            self._parts.append((int(tuples.times.max()), tuples))

    def forget(self, since: int) -> None:
        """Drop tuples before a time."""
        self._since = max(self._since, since)
        gone = 0
        while gone < len(self._parts) and self._parts[gone][0] < self._since:
            gone += 1
        del self._parts[:gone]

    def save(self) -> Arrays:
        return self.tuples.save()

    def load(self, arrays: Arrays) -> None:
        self._parts = []
        self.add(Tuples.saved(arrays))
