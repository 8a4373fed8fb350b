"""States in order of their panes, kept in chunks: the leaves of a tree.

    panes      0 … 7      8 … 9      10 … 31      each leaf a chunk; the index is small, and
               leaf 0     leaf 3     leaf 4       always at hand

New states go to the leaf of their pane, which is read, merged and written; a leaf that grows too
large is cut in two or more. Rows arrive roughly in the order of their times, so that a micro-batch
writes the last leaf, and a few others for its stragglers. States of one pane are in one leaf.

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
"""How many states a leaf has at the most, unless all of them are of one pane."""


@dataclass(slots=True)
class Leaf:
    """An entry of the index: which panes are where."""

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
            next_number: What `save` returned first.
            saved: What `save` returned then.
            by: Reads the panes of states; or whatever numbers leaves are to be in order of.
            size: A leaf is cut when it has more states than this; `LEAF_ROWS` if left out.
            read: What is done with a leaf that is read, for example to add columns to it.
        """
        self._chunks, self._by, self._read, self._size = chunks, by, read, size or LEAF_ROWS
        # Several levels may look at a leaf, and then new states go to it: it is read once.
        self._opened: dict[int, Batch] = {}
        self._next_number = next_number
        self.index = [Leaf(*entry) for entry in saved]

    @property
    def rows(self) -> int:
        """Return the number of states that are held."""
        return sum(leaf.rows for leaf in self.index)

    def save(self) -> tuple[int, list[list[int]]]:
        return self._next_number, [list(asdict(leaf).values()) for leaf in self.index]

    def read(self, wanted: Callable[[Leaf], bool]) -> Iterator[Batch]:
        """Read the leaves that are wanted, one after the other."""
        for leaf in self.index:
            if wanted(leaf):
                yield self._open(leaf)

    def drop(self, unwanted: Callable[[Leaf], bool]) -> None:
        """Forget leaves."""
        for leaf in self.index:
            if unwanted(leaf):
                self._drop(leaf)
        self.index = [leaf for leaf in self.index if not unwanted(leaf)]

    def take(self, wanted: Callable[[Leaf], bool], chosen: Callable[[Batch], Mask]) -> list[Batch]:
        """Take states out of the leaves that are wanted: those that are chosen."""
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

    def add(self, states: Batch, merged: Callable[[Batch], Batch]) -> None:
        """Take in states, in order of panes.

        Args:
            states: One or more.
            merged: Makes one state of several, and leaves them in order of panes.
        """
        panes = self._by(states)
        # What comes before the first leaf goes to it, what comes behind the last one to that.
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
            # One piece in memory, or what is stored would grow by a header with every merge.
            self._chunks.put(self._next_number, combined(part))
            yield Leaf(self._next_number, int(panes[start]), int(panes[stop - 1]), part.num_rows)
            self._next_number += 1
            start = stop


def _cuts(panes: Times, size: int) -> Iterator[int]:
    """Cut states into leaves, none within a pane."""
    start = 0
    while len(panes) - start > size:
        # Half a leaf, so that it has room, up to the end of its pane.
        last = panes[start + size // 2 - 1]
        start = int(np.searchsorted(panes, last, side="right"))
        yield start
    if start < len(panes):
        yield len(panes)
