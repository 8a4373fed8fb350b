"""Which columns of which streams have to be equal.

A pair says it of two streams: `Pair(0, "a1", 1, "a1")` is S1.a1 = S2.a1. Any pairs do. Of two
forms results can be counted without being found: one *key* common to all streams, and a *star*,
where each stream shares a column with one centre.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from latecomer.batch import Positions
from latecomer.labels import Labelled


@dataclass(frozen=True, slots=True)
class Pair(Labelled):
    """Two columns that have to be equal, of two different streams."""

    fixed = ("left", "left_column", "right", "right_column")

    left: int
    left_column: str
    right: int
    right_column: str


@dataclass(frozen=True, slots=True)
class Equalities(Labelled):
    """What has to be equal in rows of so many streams. Without pairs this is the cross join."""

    fixed = ("streams", "pairs", "key")

    streams: int
    pairs: tuple[Pair, ...] = ()
    key: tuple[str, ...] = ()
    """The column of each stream, if one key is common to all."""

    @classmethod
    def common(cls, *columns: str) -> Equalities:
        """Join by one key; name its column in each stream."""
        pairs = (Pair(0, columns[0], i, column) for i, column in enumerate(columns) if i)
        return cls(len(columns), tuple(pairs), columns)

    @classmethod
    def of(cls, streams: int, pairs: Sequence[Pair]) -> Equalities:
        """Join by pairs, and see whether they say that one key is common to all streams."""
        found = cls(streams, tuple(pairs))
        keys = found.common_keys()
        is_all = len(keys) == 1 and all(len(found.columns(i)) == 1 for i in range(streams))
        return cls.common(*keys[0]) if is_all else found

    def common_keys(self) -> list[tuple[str, ...]]:
        """Find keys that all streams have in common; for each the column of every stream.

        Rows that join are equal in them, so that they can be brought together by a hash.
        """
        ends = [
            ((pair.left, pair.left_column), (pair.right, pair.right_column)) for pair in self.pairs
        ]
        # Columns that are equal to one another, by way of others too.
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
        """Name the columns of a stream that have to equal others, each once."""
        ours = [
            pair.left_column if pair.left == stream else pair.right_column
            for pair in self.pairs
            if self._of(pair, stream)
        ]
        return tuple(dict.fromkeys(ours))

    @property
    def centre(self) -> int | None:
        """The stream with which each other shares just one column, if there is one."""
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
        """Say, for each stream, in which order to look into the others, and by which equality.

        A step is a stream, the number of a pair, and the stream of which the key is taken. A pair
        with a stream that was looked into already comes before none at all, which is written as
        the number of pairs. A key of all streams counts as one pair.
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
