"""The chains of a join, and how it searches them.

`latecomer.kernels.window_probes` explains what a chain is, and how results are counted and found.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from latecomer.kernels.window_probes import BY_KEY, FOUND, STAR, Codes, Join
from latecomer.operators.window_join.equalities import Equalities


class Layout:
    """The chains of a join, independent of its rows."""

    def __init__(
        self,
        on: Equalities,
        windows: Sequence[int],
        answer: Literal["results", "counts"],
        *,
        has_condition: bool,
    ) -> None:
        """Choose how results are counted, or found.

        Args:
            on: The columns that have to be equal.
            windows: The length of each stream's window.
            answer: Whether to find the results, or only to count them.
            has_condition: Whether there is a condition besides the equalities, so that results
                have to be found.
        """
        self._windows = np.array(windows, np.int64)
        is_alike = bool(on.key) or not on.pairs
        is_countable = not has_condition and (is_alike or on.centre is not None)
        self.how = FOUND
        """Way to count results: by a key of all streams, around a centre, or by finding them."""
        if answer == "counts" and is_countable:
            self.how = BY_KEY if is_alike else STAR
        equalities = 1 if on.key else len(on.pairs)
        self.lines = equalities + 1
        """Number of lines: one for each equality, and one for all rows."""
        # With one key for all streams, all rows of a chain have it, and no pair needs a check.
        ends = [] if on.key else [(pair.left, pair.right) for pair in on.pairs]
        self._pairs = np.array(ends, np.int64).reshape(-1, 2)
        self._walks = on.walks()
        self._has_chains = np.zeros((on.streams, self.lines), np.bool_)
        self._has_chains[:, 0] = bool(on.key)
        for line, both in enumerate(self._pairs):
            self._has_chains[both, line] = True
        # The chain of all rows of a stream is needed where no equality leads to them.
        self._has_chains[:, -1] = (self._walks[:, :, 1] == equalities).any()
        self._is_linked = self._has_chains & (self.how == FOUND)
        self._arms = np.full(on.streams, 0 if on.key else equalities)
        if self.how == STAR and on.centre is not None:
            self._arms[on.centre] = -1
            self._is_linked[on.centre, :-1] = True
            for line, pair in enumerate(on.pairs):
                self._arms[pair.left + pair.right - on.centre] = line

    def of(self, codes: Codes) -> tuple[Join, int]:
        """Return the join for rows with these codes, and its number of chains."""
        sizes = np.ones(self.lines, np.int64)
        if codes.size:
            sizes[:-1] = codes.max(axis=1) + 1
        bases, chains = np.full((*self._has_chains.shape, 3), -1), 0
        for stream, line in np.argwhere(self._has_chains).tolist():
            bases[stream, line, :2] = chains, self._is_linked[stream, line]
            chains += int(sizes[line])
        for line, both in enumerate(self._pairs):
            bases[both, line, 2] = bases[both[::-1], line, 0]
        join = (codes, self._windows, bases, self._pairs, self._arms, self._walks)
        # The last chain is always empty.
        return join, chains + 1
