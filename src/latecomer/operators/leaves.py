"""States in order of their panes, kept in chunks: the leaves of a tree.

    panes      0 … 7      8 … 9      10 … 31      each leaf a chunk; the index is small, and
               leaf 0     leaf 3     leaf 4       always at hand

New states go to the leaf of their pane, which is read, merged and written. A leaf that grows too
large is cut in two or more. Rows arrive roughly in the order of their times, so a micro-batch
writes the last leaf, and a few others for delayed rows. States of one pane are in one leaf.

Holds: leaves do not overlap, and ascend.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask, combined, concat
from latecomer.operators.aggregates.summary import PANE
from latecomer.operators.base import Chunks
from latecomer.time import Times

LEAF_ROWS = 8_192
"""Largest number of states in a leaf, unless all of them are of one pane."""


@dataclass(slots=True)
class Leaf:
    """An entry of the index: the chunk of a leaf, its first and last pane, its number of states."""

    number: int
    first: int
    last: int
    rows: int


def _panes(states: Batch) -> Times:
    return states.column(PANE).to_numpy()


class Leaves:
    """The states of one operator."""

    def __init__(
        self,
        chunks: Chunks,
        next_number: int = 0,
        saved: Sequence[Sequence[int]] = (),
        *,
        by: Callable[[Batch], Times] = _panes,
        size: int | None = None,
        read: Callable[[Batch], Batch] = lambda states: states,
    ) -> None:
        """Begin with nothing, or where `save` left off.

        Args:
            chunks: Where leaves are kept.
            next_number: The first value that `save` returned.
            saved: The second value that `save` returned.
            by: Returns the panes of states, or any other numbers that order the leaves.
            size: A leaf is cut when it has more states than this; `LEAF_ROWS` if left out.
            read: Applied to each leaf that is read, for example to add columns to it.
        """
        self._chunks, self._by, self._read, self._size = chunks, by, read, size or LEAF_ROWS
        # Leaves read so far: several levels may read a leaf before new states are added to it.
        self._opened: dict[int, Batch] = {}
        self._next_number = next_number
        self.index = [Leaf(*entry) for entry in saved]

    @property
    def rows(self) -> int:
        """Number of states that are held."""
        return sum(leaf.rows for leaf in self.index)

    def save(self) -> tuple[int, list[list[int]]]:
        return self._next_number, [list(asdict(leaf).values()) for leaf in self.index]

    def read(self, wanted: Callable[[Leaf], bool]) -> Iterator[Batch]:
        """Yield the states of the wanted leaves, leaf by leaf."""
        for leaf in self.index:
            if wanted(leaf):
                yield self._open(leaf)

    def drop(self, unwanted: Callable[[Leaf], bool]) -> None:
        """Drop the unwanted leaves."""
        for leaf in self.index:
            if unwanted(leaf):
                self._drop(leaf)
        self.index = [leaf for leaf in self.index if not unwanted(leaf)]

    def take(self, wanted: Callable[[Leaf], bool], chosen: Callable[[Batch], Mask]) -> list[Batch]:
        """Remove the chosen states from the wanted leaves, and return them."""
        taken: list[Batch] = []
        index: list[Leaf] = []
        for leaf in self.index:
            is_chosen = chosen(self._open(leaf)) if wanted(leaf) else np.zeros(0, np.bool_)
            if not is_chosen.any():
                index.append(leaf)
                continue
            states = self._open(leaf)
            taken.append(states.filter(pa.array(is_chosen)))
            self._drop(leaf)
            index += self._written(states.filter(pa.array(~is_chosen)))
        self.index = index
        return taken

    def take_leaves(
        self, wanted: Callable[[Leaf], bool], chosen: Callable[[Batch], Mask]
    ) -> list[Batch]:
        """Remove the wanted leaves that have a chosen state; return all of their states."""
        taken: list[Batch] = []
        index: list[Leaf] = []
        for leaf in self.index:
            if wanted(leaf) and chosen(self._open(leaf)).any():
                taken.append(self._open(leaf))
                self._drop(leaf)
            else:
                index.append(leaf)
        self.index = index
        return taken

    def add(self, states: Batch, merged: Callable[[Batch], Batch]) -> None:
        """Add states, which are in order of panes.

        Args:
            states: One or more states.
            merged: Merges the states of a leaf, and returns them in order of panes.
        """
        panes = self._by(states)
        # States before the first leaf go to it, and states after the last leaf to that one.
        firsts = [leaf.first for leaf in self.index[1:]]
        cuts = [0, *np.searchsorted(panes, firsts).tolist(), len(panes)]
        index: list[Leaf] = []
        for at in range(len(cuts) - 1):
            part = states.slice(cuts[at], cuts[at + 1] - cuts[at])
            leaf = self.index[at] if self.index else None
            if not part.num_rows:
                index += [leaf] if leaf else []
                continue
            if leaf:
                part = concat([self._open(leaf), part], states.schema)
            part = merged(part)
            if leaf:
                self._drop(leaf)
            index += self._written(part)
        self.index = index

    def _open(self, leaf: Leaf) -> Batch:
        if leaf.number not in self._opened:
            self._opened[leaf.number] = self._read(self._chunks.get(leaf.number))
        return self._opened[leaf.number]

    def _drop(self, leaf: Leaf) -> None:
        self._opened.pop(leaf.number, None)
        self._chunks.drop(leaf.number)

    def _written(self, states: Batch) -> Iterator[Leaf]:
        panes = self._by(states)
        start = 0
        for stop in _cuts(panes, self._size):
            part = states.slice(start, stop - start)
            # Combined to one piece in memory, or each merge would add a header to what is stored.
            self._chunks.put(self._next_number, combined(part))
            yield Leaf(self._next_number, int(panes[start]), int(panes[stop - 1]), part.num_rows)
            self._next_number += 1
            start = stop


def _cuts(panes: Times, size: int) -> Iterator[int]:
    """Yield the positions at which to cut states into leaves, never within a pane."""
    start = 0
    while len(panes) - start > size:
        # A leaf begins half full, so that it has room, and ends with the end of a pane.
        last = panes[start + size // 2 - 1]
        start = int(np.searchsorted(panes, last, side="right"))
        yield start
    if start < len(panes):
        yield len(panes)
