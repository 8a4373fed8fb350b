"""Windows in the form of vectors: changes of lifetimes.

Latecomer's own windows are labelled by their start. Windows of vectors are labelled by their end: a
row counts for the length of a window, from the first instant of the grid at or after it.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from latecomer.batch import Batch
from latecomer.operators.temporal.alter import Quantize
from latecomer.operators.temporal.edges import FINAL, Edges
from latecomer.operators.temporal.stateless import OfRows
from latecomer.time import FOREVER, NEVER, Times


@dataclass(frozen=True, slots=True)
class Hop(OfRows):
    """Make each row count in its windows, once they have ended."""

    fixed: ClassVar[tuple[str, ...]] = ()

    size: int
    period: int
    origin: int = 0

    def of_rows(self, rows: Batch) -> Batch:
        edges = Edges.of(rows)
        edges = edges.where(~edges.is_end)
        starts = self._up(edges.at)
        is_even = self.size % self.period == 0 or self.period > self.size
        ends = starts + self.size if is_even else self._up(edges.at + self.size)
        result = Edges(starts, ends, np.full(len(edges), FINAL), edges.payload)
        # If there are gaps between windows, a row in a gap is in none of them.
        return result.where(starts - edges.at < self.size).batch()

    def _up(self, times: Times) -> Times:
        return times + (self.origin - times) % self.period


@dataclass(frozen=True, slots=True)
class QuantizeProgressively(OfRows):
    """Quantize lifetimes, with starts on a finer grid."""

    fixed: ClassVar[tuple[str, ...]] = ()

    ends: Quantize
    progress: int

    def passes(self, watermark: int) -> int:
        return (
            watermark
            if watermark in (NEVER, FOREVER)
            else watermark - (watermark - self.ends.origin) % self.progress
        )

    def of_rows(self, rows: Batch) -> Batch:
        edges, result = Edges.of(rows), Edges.of(self.ends.of_rows(rows))
        is_end = edges.is_end
        at = np.where(is_end, result.at, self._down(edges.at))
        other = np.where(is_end, self._down(edges.other), result.other)
        return Edges(at, other, edges.id, edges.payload).batch()

    def _down(self, times: Times) -> Times:
        return times - (times - self.ends.origin) % self.progress
