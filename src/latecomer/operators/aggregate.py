"""Aggregate rows by window and key, and answer after each of several waits.

Each row is added once, to the state of its pane and key. The answer of a window is made of these
states as often as there are waits; level i gives it when the window's end is at or before the
watermark of that level, from all rows that have come by then:

    waits 1 s, 1 min     newest − 1 s is after the end: an early answer
                         newest − 1 min is: the answer again, refined; then the states are dropped

Nothing is sorted: which window a row is in does not depend on the rows before it. A row is late
when its window, the last one if it is in several, has closed at the last level. A level that had no
row of a window by then does not speak of it.

Paper: Chandramouli, Goldstein, Li: Impatience Is a Virtue (ICDE 2018), Section V, the advanced
    framework. Symbols: reorder latency -> wait; PIQ -> `Summary.add`; merge -> `Summary.merge`.
Departures: one state for all levels, where the paper has a stream of partial results for each, and
    merges them: which rows a level has seen follows from when it speaks.
Holds: a level speaks of a window once. Between calls a state is held iff its last window is open at
    the last level. A level has changed a window iff rows came to it after the level before spoke.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, concat, gather
from latecomer.operators.base import Chunks, Emission
from latecomer.operators.bounds import WINDOW, window_column, window_field
from latecomer.operators.leaves import Leaf, Leaves
from latecomer.operators.levels import IS_FINAL, WAIT, ahead
from latecomer.operators.summary import FIRST_SEEN, PANE, ROWS, TOUCHED, Summary, names_of
from latecomer.time import NEVER, TimeColumn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from latecomer.operators.windows import Windows

IS_CHANGED = "is_changed"


@dataclass(frozen=True, slots=True)
class Aggregation:
    """Aggregates by window and key, after one or several waits; the specification."""

    time: TimeColumn
    windows: Windows
    waits: tuple[int, ...]
    """Ascending."""
    summaries: tuple[Summary, ...]
    """The first is kept up to date as rows come; each of the others summarises, within a window,
    the results of the one before."""
    merges: bool = False
    """The first summary is the user's partial query: its results are held as they come, and the
    others, which merge them, are run over all of a window."""
    only_changes: bool = False
    """Leave out what a level has not changed."""

    @property
    def first(self) -> Summary:
        """What is made of the rows."""
        return self.summaries[0]

    @property
    def label(self) -> str:
        """What must not change during the life of a checkpoint."""
        return repr(self)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Window, keys and results; with several waits also which it is, and what it says."""
        bounds = window_field(schema, self.time)
        for summary in self.summaries:
            schema = summary.result_schema(schema)
        levels = [
            pa.field(WAIT, pa.duration("us")),
            pa.field(IS_FINAL, pa.bool_()),
            pa.field(IS_CHANGED, pa.bool_()),
        ]
        several = levels if len(self.waits) > 1 else []
        return pa.schema([bounds, *schema, *several])

    def passes(self, watermark: int) -> int:
        """All that is due at a watermark comes out at it."""
        return watermark

    def start(
        self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> RunningAggregation:
        """Make the running operator for rows of this schema."""
        return RunningAggregation(self, schema, chunks, saved)

    def is_late(self, rows: Batch, watermark: int) -> np.ndarray | None:
        """Tell which rows are late: their windows are closed at the last level. None: no row is."""
        times = self.time.micros(rows)
        if not len(times):
            return None
        earliest = self.windows.panes(times.min(keepdims=True))
        if (self.windows.last_ends(earliest) > watermark).all():
            return None
        return self.windows.last_ends(self.windows.panes(times)) <= watermark

    def partial(self, rows: Batch) -> Batch:
        """Make states of rows, before they are sent to where all states of their keys are held."""
        times = self.time.micros(rows)
        states = self.first.add(rows, self.windows.panes(times), times)
        if not self.merges:
            return states
        results = self.first.finish(states, rows.schema)
        return results.append_column(ROWS, states.column(ROWS))


class RunningAggregation:
    """A running `Aggregation`."""

    def __init__(
        self, spec: Aggregation, schema: pa.Schema, chunks: Chunks, saved: bytes | None
    ) -> None:
        """Begin with nothing held, or where `saved` left off."""
        self._spec = spec
        self._schema = schema
        self._windows = spec.windows
        self._out = spec.output_schema(schema)
        self._watermark, numbering = NEVER, []
        if saved is not None:
            self._watermark, *numbering = json.loads(saved)
        self._leaves = Leaves(chunks, *numbering)

    @property
    def held(self) -> int:
        """How many states are held."""
        return self._leaves.rows

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Add rows to their windows; hand back those whose windows are closed."""
        is_late = self._spec.is_late(rows, self._watermark)
        if is_late is None:
            self.fold(self._spec.partial(rows))
            return Emission(self._out.empty_table(), self._schema.empty_table())
        read = dict.fromkeys([self._spec.time.name, *self._spec.first.columns])
        self.fold(self._spec.partial(rows.select(list(read)).filter(pa.array(~is_late))))
        return Emission(self._out.empty_table(), rows.filter(pa.array(is_late)))

    def fold(self, states: Batch) -> int:
        """Take in states that `Aggregation.partial` made of rows, and leave out the late ones.

        Returns:
            How many rows were late.
        """
        is_late = self._windows.last_ends(states.column(PANE).to_numpy()) <= self._watermark
        late = 0
        if is_late.any():
            late = int(states.column(ROWS).to_numpy()[is_late].sum())
            states = states.filter(pa.array(~is_late))
        if states.num_rows:
            states = gather(states, np.argsort(states.column(PANE).to_numpy(), kind="stable"))
            self._leaves.add(self._dated(states), self._merged)
        return late

    def advance(self, watermark: int) -> Emission:
        """Answer for all windows that close, level by level."""
        watermark = max(watermark, self._watermark)
        answers = [
            answer
            for level in range(len(self._spec.waits))
            for answer in self._answers(
                level, self._at(level, self._watermark), self._at(level, watermark)
            )
        ]
        in_time = self._closing(watermark)
        self._watermark = watermark
        self._leaves.drop(lambda leaf: self._last_end(leaf) <= watermark)
        return Emission(concat(answers, self._out), self._schema.empty_table(), in_time)

    def stops(self, watermark: int) -> list[int]:
        """Answers are small: they need no stops on the way."""
        return [watermark]

    def due(self) -> int | None:
        """The smallest watermark of the last level at which some level may have an answer."""
        found = []
        for level in range(len(self._spec.waits)):
            reached = self._at(level, self._watermark)
            ahead = self._at(level, 0)
            for leaf in self._leaves.index:
                if self._last_end(leaf) > reached:
                    first = int(self._windows.first_ends(np.array([leaf.first]))[0])
                    found.append(max(first, self._windows.next_end(reached)) - ahead)
        return min(found, default=None)

    def save(self) -> bytes:
        """Write down the watermark and the index of the leaves."""
        return json.dumps([self._watermark, *self._leaves.save()]).encode()

    def _at(self, level: int, watermark: int) -> int:
        """Tell the watermark of a level, given that of the last one."""
        return ahead(watermark, self._spec.waits[-1] - self._spec.waits[level])

    def _last_end(self, leaf: Leaf) -> int:
        return int(self._windows.last_ends(np.array([leaf.last]))[0])

    def _dated(self, states: Batch) -> Batch:
        """Note when states came: how new the newest row was, and for which level in time."""
        newest = self._watermark
        if newest != NEVER:
            newest += self._spec.waits[-1]
        ends = self._windows.first_ends(states.column(PANE).to_numpy())
        levels = len(self._spec.waits)
        missed = sum(
            (ends <= self._at(level, self._watermark)).astype(np.int64)
            for level in range(levels - 1)
        )
        rows = states.column(ROWS).to_numpy()
        states = states.drop_columns([ROWS])
        states = states.append_column(TOUCHED, pa.array(np.full(len(rows), newest, np.int64)))
        for level in range(levels):
            in_time = np.where(missed == level, rows, 0)
            states = states.append_column(FIRST_SEEN.format(level), pa.array(in_time, pa.int64()))
        return states

    def _merged(self, states: Batch) -> Batch:
        """Merge the states of a leaf, without those that nobody will ask for."""
        panes = states.column(PANE).to_numpy()
        is_open = self._windows.last_ends(panes) > self._watermark
        if not is_open.all():
            states, panes = states.filter(pa.array(is_open)), panes[is_open]
        if self._spec.merges:
            return gather(states, np.argsort(panes, kind="stable"))
        return self._spec.first.merge(states, self._schema)

    def _closing(self, watermark: int) -> tuple[int, ...]:
        """Count, for what is now closed for good, the rows that each level was the first to see."""
        totals = np.zeros(len(self._spec.waits), np.int64)
        for states in self._leaves.read(lambda leaf: self._first_end(leaf) <= watermark):
            ends = self._windows.last_ends(states.column(PANE).to_numpy())
            closes = (ends > self._watermark) & (ends <= watermark)
            for level in range(len(totals)):
                totals[level] += states.column(FIRST_SEEN.format(level)).to_numpy()[closes].sum()
        return tuple(totals.tolist())

    def _answers(self, level: int, before: int, now: int) -> Iterator[Batch]:
        """Answer for the windows that a level closes, leaf by leaf if windows do not overlap."""
        if before >= now:
            return
        due = self._leaves.read(
            lambda leaf: self._last_end(leaf) > before and self._first_end(leaf) <= now
        )
        groups = [[states] for states in due] if self._windows.overlap == 1 else [list(due)]
        for group in groups:
            parts = [part for states in group for part in self._due_windows(states, before, now)]
            if not parts:
                continue
            states = concat(parts, parts[0].schema)
            if self._windows.overlap > 1 and not self._spec.merges:
                states = self._spec.first.merge(states, self._schema)
            yield self._told(states, level)

    def _first_end(self, leaf: Leaf) -> int:
        return int(self._windows.first_ends(np.array([leaf.first]))[0])

    def _due_windows(self, states: Batch, before: int, now: int) -> Iterator[Batch]:
        """List the states of windows that end after `before`, up to `now`; panes become windows."""
        at = states.schema.get_field_index(PANE)
        for starts, which in self._windows.starts(states.column(PANE).to_numpy()):
            ends = self._windows.ends(starts)
            is_due = (ends > before) & (ends <= now)
            if is_due.all() and len(is_due) == states.num_rows:
                yield states.set_column(at, PANE, pa.array(starts))
            elif is_due.any():
                some = gather(states, which[is_due])
                yield some.set_column(at, PANE, pa.array(starts[is_due]))

    def _told(self, states: Batch, level: int) -> Batch:
        """Make the answers of a level out of the states of windows."""
        waits = self._spec.waits
        results = self._summarised(states)
        touched = results.column(TOUCHED).to_numpy()
        starts = results.column(PANE).to_numpy()
        ends = self._windows.ends(starts)
        is_changed = np.ones(len(ends), np.bool_)
        if level:
            is_changed = (touched != NEVER) & (touched - ends >= waits[level - 1])
        names = names_of(self._spec.summaries)
        field, time = self._out.field(WINDOW), self._spec.time
        columns = [window_column(self._windows.instants(starts), ends, field, time)]
        columns += [results.column(name) for name in names]
        if len(waits) > 1:
            columns += [
                pa.array(np.full(len(ends), waits[level])).view(pa.duration("us")),
                pa.array(np.full(len(ends), level == len(waits) - 1)),
                pa.array(is_changed),
            ]
        answers = pa.table(columns, self._out)
        return answers.filter(pa.array(is_changed)) if self._spec.only_changes else answers

    def _summarised(self, states: Batch) -> Batch:
        """Make results of states: pane, keys, results, and when they were last touched."""
        first, *others = self._spec.summaries
        schema = self._schema
        results = states if self._spec.merges else first.finish(states, schema)
        touched = states.column(TOUCHED)
        for summary, before in zip(others, self._spec.summaries, strict=False):
            schema = before.result_schema(schema)
            starts = results.column(PANE).to_numpy()
            rows = results.select(schema.names).append_column(TOUCHED, touched)
            made = summary.add(rows, starts, starts)
            results, touched = summary.finish(made, schema), made.column(TOUCHED)
        return (
            results.append_column(TOUCHED, touched)
            if TOUCHED not in results.column_names
            else results
        )
