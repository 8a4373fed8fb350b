"""Windows as the vectors have them: changes of lifetimes.

Latecomer has windows of its own, labelled by their start. These here are told by their end: a row
counts from the first instant of the grid that is not before it, for as long as the window is.
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
    """Let each row count in the windows that it belongs to, once they have ended."""

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
        # Where windows leave gaps, what is in a gap is in none of them.
        return result.where(starts - edges.at < self.size).batch()

    def _up(self, times: Times) -> Times:
        return times + (self.origin - times) % self.period


@dataclass(frozen=True, slots=True)
class QuantizeProgressively(OfRows):
    """Quantize lifetimes, but let them begin on a finer grid."""

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
