"""Aggregate rows by window and key, and answer after each of several waits.

Each row is added once, to the state of its pane and key. A window is answered from these states
once for each wait: level i answers when the watermark of that level reaches the end of the window,
from all rows that have come by then:

    waits 1 s, 1 min     newest − 1 s is after the end: an early answer
                         newest − 1 min is: the answer again, refined; then the states are dropped

Nothing is sorted: which window a row is in does not depend on the rows before it. A row is late
when its window, the last one if it is in several, has closed at the last level. A level that has no
row of a window when it closes gives no answer for it.

Paper: Chandramouli, Goldstein, Li: Impatience Is a Virtue (ICDE 2018), Section V, the advanced
    framework. Symbols: reorder latency -> wait; PIQ -> `Summary.add`; merge -> `Summary.merge`.
Departures: one state for all levels, where the paper has a stream of partial results for each, and
    merges them: which rows a level has seen follows from when it answers.
Holds: a level answers a window once. Between calls a state is held iff its last window is open at
    the last level. A level has changed a window iff its answer is not that of the level before.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask
from latecomer.operators.aggregates.counting import Count
from latecomer.operators.aggregates.summary import (
    FIRST_SEEN,
    PANE,
    ROWS,
    TOUCHED,
    SlottedSummary,
    Summary,
)
from latecomer.operators.base import Chunks, Emission, NewColumns, Operator, Running, by
from latecomer.operators.leaves import Leaves
from latecomer.operators.levels import LEVEL_FIELDS, ahead
from latecomer.operators.ways import OneWay
from latecomer.operators.windows.bounds import WINDOW, window_field
from latecomer.operators.windows.grid import Windows
from latecomer.operators.windows.states import WindowStates
from latecomer.time import NEVER, TimeColumn, Times, format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from latecomer.operators.windows.clocked_aggregate import ClockedAggregator

IS_CHANGED, IS_CORRECTION = "is_changed", "is_correction"


@dataclass(frozen=True, slots=True)
class Aggregation(Operator):
    """Aggregates by window and key, after one or several waits; the specification."""

    fixed = ("time", "windows", "summaries", "merges", "only_changes", "horizon")
    holds = "windows"

    time: TimeColumn
    windows: Windows
    waits: tuple[int, ...]
    """Waits in microseconds, ascending."""
    summaries: tuple[Summary, ...]
    """The first is kept up to date as rows come; each of the others summarises, within a window,
    the results of the one before."""
    merges: bool = False
    """Whether the first summary is the user's partial query. Its results are then held as they
    come, and the other summaries merge all results of a window."""
    only_changes: bool = False
    """Whether answers that a level has not changed are left out."""
    horizon: int | None = None
    """Wait until states are dropped. Until then, rows after the last wait correct its answers."""
    texts: tuple[str, ...] = field(default=(), compare=False)
    """The waits as the user wrote them."""

    @property
    def levels(self) -> tuple[int, ...]:
        """The waits, and the horizon if there is one; the last one decides which rows are late."""
        return self.waits if self.horizon is None else (*self.waits, self.horizon)

    @property
    def first(self) -> Summary:
        """Summary of the rows themselves."""
        return self.summaries[0]

    @property
    def keyed(self) -> tuple[str, ...]:
        """Keys of the last summary, which has the fewest."""
        return self.summaries[-1].keys

    @property
    def early(self) -> Aggregation:
        """The aggregation itself: rows become states anywhere, and states of a key are merged."""
        return self

    @property
    def minds_arrival(self) -> bool:
        """Whether it matters which of two rows of equal time arrived first."""
        return any(aggregate.minds_arrival for _, aggregate in self.first.aggregates)

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that it reads, besides the time."""
        return (*self.first.keys, *(c for _, each in self.first.aggregates for c in each.columns))

    @property
    def about(self) -> tuple[str, ...]:
        """Window and key, which have one result."""
        return (WINDOW, *self.keyed)

    @property
    def portable(self) -> Literal["rows", "states"] | None:
        """States can be folded again, unless they record which of several waits has seen them."""
        return "states" if len(self.levels) == 1 else None

    @property
    def new_columns(self) -> NewColumns:
        """States depend only on the columns that the aggregates read."""
        return "unused"

    def counting(self, name: str) -> Aggregation:
        """Return the aggregation with a count, if there is only one summary."""
        if len(self.summaries) > 1:
            return self
        counted = (*self.first.aggregates, (name, Count("")))
        return replace(self, summaries=(replace(self.first, aggregates=counted),))

    def deadlines(self, times: Times) -> Times:
        """Return the last watermark at which the first window of each row is open."""
        return self.windows.first_ends(self.windows.panes(times)) - 1

    def last_deadlines(self, times: Times) -> Times:
        """Return the last watermark at which the last window of each row is open."""
        return self.windows.last_ends(self.windows.panes(times)) - 1

    def describe(self, schema: pa.Schema) -> str:
        held = (
            "partial results are held as they come, and merged when"
            if self.merges
            else "one state for each pane and key is held until"
        )
        return (
            f"aggregate {self.summaries[-1].names}{by(self.keyed)} in windows of {self.windows}: "
            f"nothing is sorted; {held} the last window with its rows closes{self._corrected}"
        )

    @property
    def _corrected(self) -> str:
        if self.horizon is None:
            return ""
        return f", and late rows correct answers for {format_duration(self.horizon)}"

    def clocked(self, columns: tuple[str, ...]) -> bool:
        """Return True if each state is of one key only, without partial queries or corrections.

        Corrections follow one watermark for all keys.
        """
        is_apart = all(set(columns) <= set(summary.keys) for summary in self.summaries)
        return is_apart and not self.merges and self.horizon is None

    def with_slot(self, columns: tuple[str, ...]) -> Aggregation:
        first, *others = self.summaries
        slotted = SlottedSummary(first.keys, first.aggregates, columns)
        return replace(self, summaries=(slotted, *others))

    def start_clocked(
        self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> ClockedAggregator:
        from latecomer.operators.windows.clocked_aggregate import ClockedAggregator

        return ClockedAggregator(self, schema, chunks, saved)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return window, keys and results.

        With several waits also the wait, whether it is the last, and whether it changed the result;
        with a horizon also whether the row is a correction.
        """
        windows = self.windows
        bounds = window_field(schema, self.time, windows.size, windows.hop, windows.origin)
        for summary in self.summaries:
            schema = summary.result_schema(schema)
        several = (*LEVEL_FIELDS, pa.field(IS_CHANGED, pa.bool_())) if len(self.waits) > 1 else ()
        marks = () if self.horizon is None else (pa.field(IS_CORRECTION, pa.bool_()),)
        return pa.schema([bounds, *schema, *several, *marks])

    def start(
        self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> WindowAggregator:
        return WindowAggregator(self, schema, chunks, saved)

    def start_levels(
        self, schema: pa.Schema, chunks: Sequence[Chunks], saved: Sequence[bytes | None]
    ) -> Sequence[WindowAggregator]:
        last = WindowAggregator(self, schema, chunks[-1], saved[-1])
        others = zip(chunks[:-1], saved[:-1], strict=True)
        return [
            *(WindowAggregator(self, schema, *each, last.window_states) for each in others),
            last,
        ]

    def is_late(self, rows: Batch, watermark: int | Times) -> Mask | None:
        """Mark late rows, whose windows are closed at the last level; return None if no row is.

        Args:
            rows: The rows.
            watermark: The watermark of the last level; one for all rows, or one for each.
        """
        times = self.time.micros(rows)
        if not len(times):
            return None
        earliest = self.windows.panes(times.min(keepdims=True))
        if (self.windows.last_ends(earliest) > watermark).all():
            return None
        return self.windows.last_ends(self.windows.panes(times)) <= watermark

    def partial(self, rows: Batch) -> Batch:
        """Return the states of rows by pane and key; with `merges`, the first summary's results."""
        times = self.time.micros(rows)
        states = self.first.add(rows, self.windows.panes(times), times)
        if not self.merges:
            return states
        results = self.first.finish(states, rows.schema)
        return results.append_column(ROWS, states.column(ROWS))


class WindowAggregator(Running):
    """A running `Aggregation`."""

    def __init__(
        self,
        spec: Aggregation,
        schema: pa.Schema,
        chunks: Chunks,
        saved: bytes | None,
        states: WindowStates | None = None,
    ) -> None:
        """Start with no states, or where `saved` left off.

        With the `states` of another aggregator, this one only answers from them. It has a watermark
        of its own, which is at least as high.
        """
        super().__init__(schema, spec.output_schema(schema))
        self._is_last = states is None
        self._spec = spec
        self._watermark, numbering = NEVER, []
        if saved is not None:
            self._watermark, *numbering = json.loads(saved)
        self.window_states = states or WindowStates(spec, schema, Leaves(chunks, *numbering))
        self._correcting: list[Batch] = []
        """New states of windows that have had their final answer; `corrections` adds them."""

    @property
    def held(self) -> int:
        """Number of states in leaves that are not entirely closed at this watermark."""
        return self.window_states.open_rows(self._watermark)

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Add rows to their windows; return rows whose windows are closed as late."""
        if not self._is_last:
            return self._emission()
        is_late = self._spec.is_late(rows, self._watermark)
        if is_late is None:
            self.fold(self._spec.partial(rows))
            return self._emission()
        read = dict.fromkeys([self._spec.time.name, *self._spec.first.columns])
        self.fold(self._spec.partial(rows.select(list(read)).filter(pa.array(~is_late))))
        return self._emission(late=rows.filter(pa.array(is_late)))

    def fold(self, states: Batch) -> int:
        """Take in states that `Aggregation.partial` made of rows, and leave out the late ones.

        Returns:
            The number of late rows.
        """
        if not self._is_last:
            return 0
        panes = states.column(PANE).to_numpy()
        is_late = self._spec.windows.last_ends(panes) <= self._watermark
        late = 0
        if is_late.any():
            late = int(states.column(ROWS).to_numpy()[is_late].sum())
            states = states.filter(pa.array(~is_late))
        if self._spec.horizon is not None:
            panes = states.column(PANE).to_numpy()
            is_behind = self._spec.windows.first_ends(panes) <= self._answered
            self._correcting.append(states.filter(pa.array(is_behind)))
            states = states.filter(pa.array(~is_behind))
        self._add(states)
        return late

    def states(self) -> list[Batch]:
        """Return the states of open windows in the form that `fold` takes; there is one wait."""
        found, seen = [], FIRST_SEEN.format(0)
        for held in self.window_states.leaves.read(lambda _leaf: True):
            ends = self._spec.windows.last_ends(held.column(PANE).to_numpy())
            held = held.filter(pa.array(ends > self._watermark))  # noqa: PLW2901
            rows = held.column(seen)
            found.append(held.drop_columns([TOUCHED, seen]).append_column(ROWS, rows))
        return found

    def corrections(self) -> Batch | None:
        """Return changed answers of windows that have got rows after their final answer.

        All rows of a micro-batch are taken together, so that a result is corrected at most once.
        """
        late = [states for states in self._correcting if states.num_rows]
        self._correcting = []
        if not late:
            return None
        states = pa.concat_tables(late)
        # Windows that end before the horizon are left out, because some states may be gone.
        starts = self.window_states.ended(states, self._watermark, self._answered)
        before = self.window_states.results(starts)
        self._add(states)
        return self.window_states.corrected(before, self.window_states.results(starts))

    @property
    def _answered(self) -> int:
        """Watermark of the last wait: windows that end up to here have had their final answer."""
        return ahead(self._watermark, self._spec.levels[-1] - self._spec.waits[-1])

    def _add(self, states: Batch) -> None:
        watermarks = np.broadcast_to(np.int64(self._watermark), states.num_rows)
        self.window_states.add(states, watermarks, self._watermark)

    def advance(self, watermark: int) -> Emission:
        """Emit the answers of all windows that close, level by level."""
        watermark = max(watermark, self._watermark)
        way = OneWay(self._watermark, watermark)
        answers = self.window_states.answers(way)
        # Only the last level closes states for good.
        in_time = self.window_states.closing(way) if self._is_last else ()
        self._watermark = watermark
        if self._is_last:
            self.window_states.drop(watermark)
        return Emission(answers, self._given.empty_table(), in_time)

    def due(self) -> int | None:
        """Return the smallest watermark of the last level at which there may be work, if any."""
        return self.window_states.due(self._watermark)

    def save(self) -> bytes:
        numbering = self.window_states.leaves.save() if self._is_last else ()
        return json.dumps([self._watermark, *numbering]).encode()
