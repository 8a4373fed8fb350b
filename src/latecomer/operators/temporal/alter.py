"""Change lifetimes, row by row: alter, shift, quantize.

    alter(duration)      [start, start + duration), whatever the end was
    shift(by)            [start + by, end + by)
    quantize(size, hop)  from where the last window began, up to where the first one ends

A window of `size` begins every `hop`. A quantized row begins where the last window did that had
begun by its start, and ends where the first window does that ends at or after its end; it lasts for
one window at least. With `hop` equal to `size` these are all windows that the row touches. Windows
that overlap cannot be told apart by instants. There, if rows are points in time and the size is a
multiple of the hop, the rows that count in `[a, a + hop)` are those of the window that ends with
it, `[a + hop − size, a + hop)`.

Nothing has to be held. A shift into the past is known only that much later: `passes` says how far
the result is settled, given how far the rows are.

Paper: Chandramouli et al.: Trill (VLDB 2014), Section 6 (AlterEventLifetime and its relatives).
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch
from latecomer.operators.temporal.edges import FINAL, Edges, later
from latecomer.operators.temporal.stateless import OfRows
from latecomer.operators.windows.grid import Windows, floored
from latecomer.time import FOREVER, NEVER, Times, format_duration


@dataclass(frozen=True, slots=True)
class Alter(OfRows):
    """Give each row a duration."""

    fixed = ("duration",)

    duration: int | str | None
    """In microseconds, or the name of a column of such; None: for ever."""

    def describe(self, schema: pa.Schema) -> str:
        match self.duration:
            case None:
                how = "for ever"
            case int():
                how = f"for {format_duration(self.duration)}"
            case _:
                how = f'for as long as "{self.duration}" says'
        return f"let rows count {how}; nothing is held"

    def of_rows(self, rows: Batch) -> Batch:
        """Change the ends; those that were known, or to follow, do not matter."""
        edges = Edges.of(rows)
        edges = edges.where(~edges.is_end)
        ends = self._ends(edges)
        edges = Edges(edges.at, ends, np.full(len(ends), FINAL), edges.payload)
        return edges.where(ends > edges.at).batch()

    def _ends(self, edges: Edges) -> Times:
        if self.duration is None:
            return np.full(len(edges), FOREVER)
        if isinstance(self.duration, int):
            return edges.at + self.duration
        # A null duration means that the row never ends.
        durations = edges.payload.column(self.duration).cast("int64").fill_null(FOREVER).to_numpy()
        return np.where(durations >= FOREVER - edges.at, FOREVER, edges.at + durations)


@dataclass(frozen=True, slots=True)
class Shift(OfRows):
    """Move lifetimes."""

    fixed = ("by",)

    by: int
    """In microseconds; negative: to the past."""

    def describe(self, schema: pa.Schema) -> str:
        return f"shift lifetimes by {format_duration(self.by)}; nothing is held"

    @property
    def leads(self) -> int:
        """The result is settled as far as the rows are, moved."""
        return self.by

    def passes(self, watermark: int) -> int:
        """The result is settled as far as the rows are, moved."""
        return watermark if watermark in (NEVER, FOREVER) else watermark + self.by

    def of_rows(self, rows: Batch) -> Batch:
        edges = Edges.of(rows)
        moved = later(edges.other, self.by)
        return Edges(edges.at + self.by, moved, edges.id, edges.payload).batch()


@dataclass(frozen=True, slots=True)
class Quantize(OfRows):
    """Let lifetimes begin and end on a grid of windows; see above."""

    fixed = ("size", "hop", "origin")

    size: int
    hop: int
    origin: int = 0

    def describe(self, schema: pa.Schema) -> str:
        return f"round lifetimes to windows of {Windows(self.size, self.hop)}; nothing is held"

    def passes(self, watermark: int) -> int:
        """Rows to come may be rounded down to the grid."""
        if watermark in (NEVER, FOREVER):
            return watermark
        return watermark - (watermark - self.origin) % self.hop

    def of_rows(self, rows: Batch) -> Batch:
        """Round begins down, and ends up."""
        edges = Edges.of(rows)
        is_end = edges.is_end
        start = np.where(is_end, edges.other, edges.at)
        end = np.where(is_end, edges.at, edges.other)
        begin = floored(start, self.hop, self.origin)
        # The first end of a window that is not before the row's, if the row lasts for one at least.
        reach = np.maximum(np.where(end == FOREVER, 0, end) + self.hop - 1, start + self.size)
        stop = floored(reach, self.hop, self.origin + self.size)
        stop = np.where(end == FOREVER, FOREVER, stop)
        at, other = np.where(is_end, stop, begin), np.where(is_end, begin, stop)
        return Edges(at, other, edges.id, edges.payload).batch()
