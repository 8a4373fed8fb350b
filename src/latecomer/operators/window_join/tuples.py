"""Tuples on their way to the join: of which stream, of what time, how late.

Payload stays behind. A tuple carries the number of its row, and whoever owns the rows gathers them.
"""

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
    """Arrays of one length, by name: a dataclass whose fields are such."""

    __slots__ = ()

    def __len__(self) -> int:
        return len(getattr(self, _names(type(self))[0]))  # type: ignore[arg-type]

    @classmethod
    def none(cls) -> Self:
        """Make arrays of no length."""
        return cls(*(np.empty(0, np.int64) for _ in fields(cls)))  # type: ignore[arg-type]

    def save(self) -> Arrays:
        """Write the arrays down."""
        return {name: getattr(self, name) for name in _names(type(self))}  # type: ignore[arg-type]

    @classmethod
    def saved(cls, arrays: Arrays) -> Self:
        """Read what `save` wrote."""
        return cls(**arrays)

    def take(self, positions: npt.NDArray[np.integer[Any]] | slice) -> Self:
        """Gather some places of all arrays, in that order."""
        return type(self)(*(array[positions] for array in self.save().values()))

    def __add__(self, other: Self) -> Self:
        """Put other arrays behind these."""
        if not len(self) or not len(other):
            return other if len(other) else self
        pairs = zip(self.save().values(), other.save().values(), strict=True)
        return type(self)(*map(np.concatenate, pairs))


@dataclass(frozen=True, slots=True, eq=False)
class Tuples(Aligned):
    """Tuples, in the order in which they come."""

    streams: Positions
    """Of which stream each is, from 0."""
    times: Times
    rows: Positions
    """The number of its row in that stream."""
    delays: Times
    """How far behind the newest of its stream each came."""
