"""Tuples on their way to the join: the stream, the time and the delay of each.

A tuple has only the number of its row. Rows themselves are in `held_rows`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from latecomer.arrays import Arrays
from latecomer.batch import Positions
from latecomer.time import Times


@cache
def _names(kind: Any) -> tuple[str, ...]:  # noqa: ANN401 - a dataclass
    return tuple(field.name for field in fields(kind))


class Aligned:
    """A dataclass whose fields are arrays of one length."""

    __slots__ = ()

    def __len__(self) -> int:
        return len(getattr(self, _names(type(self))[0]))  # type: ignore[arg-type]

    @classmethod
    def none(cls) -> Self:
        """Return empty arrays."""
        return cls(*(np.empty(0, np.int64) for _ in fields(cls)))  # type: ignore[arg-type]

    def save(self) -> Arrays:
        """Return the arrays by name."""
        return {name: getattr(self, name) for name in _names(type(self))}  # type: ignore[arg-type]

    @classmethod
    def saved(cls, arrays: Arrays) -> Self:
        """Return the arrays that `save` returned."""
        return cls(**arrays)

    @classmethod
    def together(cls, parts: Sequence[Self]) -> Self:
        """Return the arrays of several parts, one part after the other; there is at least one."""
        columns = zip(*(part.save().values() for part in parts), strict=True)
        return cls(*map(np.concatenate, columns))

    def take(self, positions: npt.NDArray[np.integer[Any]] | slice) -> Self:
        """Return the values at `positions` of all arrays, in that order."""
        return type(self)(*(array[positions] for array in self.save().values()))

    def __add__(self, other: Self) -> Self:
        """Return these arrays, followed by the others."""
        if not len(self) or not len(other):
            return other if len(other) else self
        return self.together([self, other])


@dataclass(frozen=True, slots=True, eq=False)
class Tuples(Aligned):
    """Tuples, in the order in which they come."""

    streams: Positions
    """Stream of each tuple, from 0."""
    times: Times
    rows: Positions
    """Number of each tuple's row in its stream."""
    delays: Times
    """Delay of each tuple, behind the newest of its stream."""
