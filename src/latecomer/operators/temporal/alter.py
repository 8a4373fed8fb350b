"""Change lifetimes, row by row: alter, shift, quantize, point_at_end.

    alter(duration)      [start, start + duration), whatever the end was
    shift(by)            [start + by, end + by)
    quantize(size, hop)  from where the last window began, up to where the first one ends
    point_at_end()       the instant at which the lifetime ends

A window of `size` begins every `hop`. A quantized row begins with the last window that begins at or
before its start, and ends with the first window that ends at or after its end. It lasts for at
least one window. With `hop` equal to `size` it covers all windows that the row touches. Windows
that overlap share their instants. There, if rows are points in time and the size is a multiple of
the hop, the rows that count in `[a, a + hop)` are those of the window `[a + hop − size, a + hop)`.

Nothing is held. After a shift into the past the result is complete only up to an earlier time:
`passes` returns that time, given the watermark of the rows.

Paper: Chandramouli et al.: Trill (VLDB 2014), Section 6 (AlterEventLifetime and its relatives).
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch
from latecomer.operators.temporal.edges import FINAL, Edges, later
from latecomer.operators.temporal.lifetimes import POINT
from latecomer.operators.temporal.stateless import OfRows
from latecomer.operators.windows.grid import Windows, floored
from latecomer.time import FOREVER, NEVER, Times, format_duration


@dataclass(frozen=True, slots=True)
class Alter(OfRows):
    """Give each row a duration."""

    duration: int | str | None
    """Duration in microseconds, or the name of a column with durations; None: for ever."""

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
        """Return the begins with new ends. The old ends do not matter, known or still to come."""
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
    """Move lifetimes in time."""

    by: int
    """Distance in microseconds; negative: into the past."""

    def describe(self, schema: pa.Schema) -> str:
        return f"shift lifetimes by {format_duration(self.by)}; nothing is held"

    @property
    def leads(self) -> int:
        """Lead of the output over the input: the distance of the shift."""
        return self.by

    def of_rows(self, rows: Batch) -> Batch:
        edges = Edges.of(rows)
        moved = later(edges.other, self.by)
        return Edges(edges.at + self.by, moved, edges.id, edges.payload).batch()


@dataclass(frozen=True, slots=True)
class Quantize(OfRows):
    """Round lifetimes to a grid of windows; see above."""

    size: int
    hop: int
    origin: int = 0

    def describe(self, schema: pa.Schema) -> str:
        return f"round lifetimes to windows of {Windows(self.size, self.hop)}; nothing is held"

    def passes(self, watermark: int) -> int:
        """Return the watermark rounded down to the grid, as the begins of later rows may be."""
        return int(self.passed(np.array([watermark]))[0])

    def passed(self, watermarks: Times) -> Times:
        is_bound = (watermarks == NEVER) | (watermarks == FOREVER)
        return np.where(is_bound, watermarks, floored(watermarks, self.hop, self.origin))

    def needed(self, watermarks: Times) -> Times:
        is_bound = (watermarks == NEVER) | (watermarks == FOREVER)
        upward = floored(watermarks + (self.hop - 1), self.hop, self.origin)
        return np.where(is_bound, watermarks, upward)

    def of_rows(self, rows: Batch) -> Batch:
        """Return rows whose begins are rounded down, and whose ends are rounded up."""
        edges = Edges.of(rows)
        is_end = edges.is_end
        start = np.where(is_end, edges.other, edges.at)
        end = np.where(is_end, edges.at, edges.other)
        begin = floored(start, self.hop, self.origin)
        # The first window end at or after the row's end, and at least one window after its begin.
        reach = np.maximum(np.where(end == FOREVER, 0, end) + self.hop - 1, start + self.size)
        stop = floored(reach, self.hop, self.origin + self.size)
        stop = np.where(end == FOREVER, FOREVER, stop)
        at, other = np.where(is_end, stop, begin), np.where(is_end, begin, stop)
        return Edges(at, other, edges.id, edges.payload).batch()


@dataclass(frozen=True, slots=True)
class PointAtEnd(OfRows):
    """Let each row count only at its end; rows that never end are left out."""

    words = "let rows count at their ends only; nothing is held"

    def of_rows(self, rows: Batch) -> Batch:
        """Return an instant for each known end. Ends in the future wait at the next operator."""
        edges = Edges.of(rows)
        ends = np.where(edges.is_end, edges.at, edges.other)
        points = Edges(ends, ends + POINT, np.full(len(ends), FINAL), edges.payload)
        return points.where(ends < FOREVER).batch()
