"""Equality conditions between columns of the joined streams.

A pair names two columns of two streams: `Pair(0, "a1", 1, "a1")` is S1.a1 = S2.a1. Any combination
of pairs is possible. For two forms, results can be counted without being found: one *key* common to
all streams, and a *star*, where each stream shares a column with one centre.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from latecomer.batch import Positions
from latecomer.labels import Labelled


@dataclass(frozen=True, slots=True)
class Pair(Labelled):
    """Two columns of two different streams that have to be equal."""

    left: int
    left_column: str
    right: int
    right_column: str


@dataclass(frozen=True, slots=True)
class Equalities(Labelled):
    """The columns of several streams that have to be equal; without pairs, a cross join."""

    streams: int
    pairs: tuple[Pair, ...] = ()
    key: tuple[str, ...] = ()
    """Column of each stream, if one key is common to all."""

    @classmethod
    def common(cls, *columns: str) -> Equalities:
        """Return equalities for one key, given its column in each stream."""
        pairs = (Pair(0, columns[0], i, column) for i, column in enumerate(columns) if i)
        return cls(len(columns), tuple(pairs), columns)

    @classmethod
    def of(cls, streams: int, pairs: Sequence[Pair]) -> Equalities:
        """Return equalities for pairs, with a common key if the pairs amount to one."""
        found = cls(streams, tuple(pairs))
        keys = found.common_keys()
        is_all = len(keys) == 1 and all(len(found.columns(i)) == 1 for i in range(streams))
        return cls.common(*keys[0]) if is_all else found

    def common_keys(self) -> list[tuple[str, ...]]:
        """Return the keys that all streams have in common, each with its column in every stream.

        Rows that join have equal keys, so that a hash of the key can bring them together.
        """
        ends = [
            ((pair.left, pair.left_column), (pair.right, pair.right_column)) for pair in self.pairs
        ]
        # Sets of columns that are equal to one another, directly or through others.
        classes: list[set[tuple[int, str]]] = []
        for pair in ends:
            touched = [each for each in classes if not each.isdisjoint(pair)]
            classes = [each for each in classes if each not in touched]
            classes.append({*pair, *(column for each in touched for column in each)})
        keys = []
        for each in classes:
            columns = dict(sorted(each, reverse=True))
            if len(columns) == self.streams:
                keys.append(tuple(columns[stream] for stream in range(self.streams)))
        return keys

    def columns(self, stream: int) -> tuple[str, ...]:
        """Return the columns of a stream that have to equal others, each once."""
        ours = [
            pair.left_column if pair.left == stream else pair.right_column
            for pair in self.pairs
            if self._of(pair, stream)
        ]
        return tuple(dict.fromkeys(ours))

    @property
    def centre(self) -> int | None:
        """The stream with which every other stream shares exactly one column; None if none."""
        if self.streams - 1 != len(self.pairs):
            return None
        for stream in range(self.streams):
            others = {
                each.left + each.right - stream for each in self.pairs if self._of(each, stream)
            }
            if len(others) == len(self.pairs):
                return stream
        return None

    def walks(self) -> Positions:
        """Return, for each stream, the order in which to search the others, and by which equality.

        A step is a stream, the number of a pair, and the stream whose key is looked up. Streams
        that a pair connects with one already searched come first. For the others there is no pair,
        and its number is the number of pairs. A key of all streams counts as one pair.
        """
        found = np.empty((self.streams, self.streams - 1, 3), np.int64)
        for stream in range(self.streams):
            seen = [stream]
            for depth in range(self.streams - 1):
                found[stream, depth] = step = self._next(seen)
                seen.append(step[0])
        return found

    def _next(self, seen: list[int]) -> tuple[int, int, int]:
        if self.key:
            return next(i for i in range(self.streams) if i not in seen), 0, seen[0]
        for number, pair in enumerate(self.pairs):
            if (pair.left in seen) != (pair.right in seen):
                ends = (pair.right, pair.left) if pair.left in seen else (pair.left, pair.right)
                return ends[0], number, ends[1]
        return next(i for i in range(self.streams) if i not in seen), len(self.pairs), seen[0]

    @staticmethod
    def _of(pair: Pair, stream: int) -> bool:
        return stream in (pair.left, pair.right)
