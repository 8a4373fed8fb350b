"""Join streams within windows of time, in the order in which their tuples come.

A tuple that is not behind any before it meets, of every other stream, those within that
stream's window, and each combination that passes the condition is a result, at its own time. One
that comes out of order meets nobody: results would not be in order of time any more. But it is
put into its window, if it is not too old for it, for others to meet.

    S1, window 5      3           9
    S2, window 5          6   4       11      6 meets 3; 4 is behind 6, and only inserted;
                                              9 meets 6 and 4; 11 meets 9

Paper: Ji, Sun, Nica, Jerzak, Hackenbroich, Fetzer: Quality-Driven Disorder Handling for m-way
    Sliding Window Stream Joins (ICDE 2016), Algorithm 2.
Symbols: onT → `clock`, W_i → `windows`, n×(e) → `Probes.cross`, n⋈(e) → `Probes.joined`.
Departures: an out-of-order tuple is inserted if its time is at least clock − window, as the text
    says, not only after it, as line 9 does. The clock starts before every time, not at 0.
Holds: results come out in order of time, each once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from latecomer.batch import Batch, Mask, Positions, concat, gather
from latecomer.errors import OptionError
from latecomer.kernels.window_counts import Counts, count_results
from latecomer.kernels.window_results import find_results
from latecomer.labels import Labelled
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.window_join.equalities import Equalities
from latecomer.operators.window_join.reordering import Rows
from latecomer.operators.window_join.saving import Savable
from latecomer.operators.window_join.tuples import Tuples
from latecomer.time import NEVER, Times

AT_ONCE = 1 << 18
"""Combinations that are held to ask a condition of them."""


@dataclass(frozen=True, slots=True)
class WindowJoin(Labelled):
    """A join of two streams or more."""

    fixed = ("windows", "on", "where")

    windows: tuple[int, ...]
    """How far before a tuple one of each stream may be, in microseconds."""
    on: Equalities
    where: Condition | None = None
    """What else must be true of the rows of a result, besides the equalities."""

    def __post_init__(self) -> None:
        if len(self.windows) < 2 or len(self.windows) != self.on.streams:  # noqa: PLR2004
            raise OptionError(
                f"a window join needs two streams or more, and a window for each; got "
                f"{len(self.windows)} windows for {self.on.streams} streams.\n"
                "Hint: name each stream, and how far its rows may be from the others."
            )
        if min(self.windows) < 0:
            message = f"a window cannot be negative; got {min(self.windows)} microseconds."
            raise OptionError(message + "\nHint: a window of 0 joins rows of equal time.")

    def start(
        self, schemas: Sequence[pa.Schema], answer: Literal["results", "counts"] = "results"
    ) -> WindowJoiner:
        """Make the running join.

        Args:
            schemas: What the rows of each stream look like.
            answer: Whether to find the results or, which is faster by far, to count them.
        """
        return WindowJoiner(self, schemas, answer)


@dataclass(frozen=True, slots=True, eq=False)
class Probes:
    """What became of tuples that the join received, in that order."""

    tuples: Tuples
    in_order: Mask
    since: Times
    """The oldest time that the window of each tuple's stream reached back to when it came. What is
    before it is too late even to be met."""
    cross: Counts
    """Results of the cross join that each would give; 0 if it is out of order."""
    joined: Counts
    """Results that it gave."""
    times: Times
    """When the results found are, ascending."""
    results: Positions
    """For each of them the numbers of its rows, stream by stream."""


class WindowJoiner(Savable):
    """A running `WindowJoin`. Between calls, it holds the rows that are within a window."""

    saves = ("clock", "held")

    def __init__(
        self, asked: WindowJoin, schemas: Sequence[pa.Schema], answer: Literal["results", "counts"]
    ) -> None:
        self._asked, self._answer = asked, answer
        self._windows = np.array(asked.windows, np.int64)
        self._schemas = list(schemas)
        self.held = Tuples.none()
        """What is in the windows."""
        self._rows: list[Batch] = [schema.empty_table() for schema in schemas]
        self.clock = NEVER

    def refill(self, rows: Rows) -> None:
        """Gather the rows of what is in the windows, which are not written down here."""
        self._rows = list(rows(self.held))

    def push(self, tuples: Tuples, rows: Sequence[Batch]) -> Probes:
        """Take in tuples in the order in which the synchronizer lets them out.

        Args:
            tuples: The tuples.
            rows: For each stream, the rows of its tuples, in the same order.
        """
        everything = self.held + tuples
        self._rows = [
            concat(pair, schema)
            for *pair, schema in zip(self._rows, rows, self._schemas, strict=True)
        ]
        first = len(self.held)
        clock = (
            np.maximum(np.maximum.accumulate(tuples.times), self.clock)
            if len(tuples)
            else tuples.times
        )
        before = np.concatenate([[self.clock], clock[:-1]]) if len(tuples) else clock
        in_order = tuples.times >= before
        probes = np.concatenate([np.zeros(first, np.bool_), in_order])
        # Never too old before there is a clock, whatever the window.
        since = np.maximum(clock, NEVER + self._windows.max()) - self._windows[tuples.streams]
        is_inserted = np.concatenate([np.ones(first, np.bool_), tuples.times >= since])
        found = self._find(everything, first, probes, is_inserted)
        if len(clock):
            self.clock = int(clock[-1])
        self._forget(everything, is_inserted)
        return Probes(tuples, in_order, since, *found)

    def _find(
        self, rows: Tuples, first: int, probes: Mask, is_inserted: Mask
    ) -> tuple[Counts, Counts, Times, Positions]:
        on = self._asked.on
        pairs = self._codes(rows)
        codes = self._by_stream(pairs)
        is_countable = codes is not None and self._asked.where is None
        if codes is None:
            codes = np.zeros((on.streams, len(rows)), np.int64)
        centre = -1 if on.key or on.centre is None else on.centre
        by_time = np.argsort(rows.times, kind="stable")
        cross, joined = count_results(
            (rows.streams, rows.times, by_time),
            (first, probes, is_inserted),
            self._windows,
            codes,
            centre,
        )
        if self._answer == "counts" and is_countable:
            none = np.empty((0, len(self._windows)), np.int64)
            return cross, joined, none[:, 0], none
        results = self._results(rows, pairs, (first, probes, is_inserted))
        last = rows.times[results].max(axis=1, initial=NEVER)
        probing = results.max(axis=1, initial=0) - first
        joined = np.bincount(probing, minlength=len(rows) - first).astype(np.float64)
        numbers = rows.rows[results]
        return cross, joined, last, numbers

    def _by_stream(self, pairs: Positions) -> Positions | None:
        """Arrange the codes as they are counted, a line for each stream; None if they cannot be."""
        on = self._asked.on
        if not on.pairs:
            return np.zeros((on.streams, pairs.shape[1]), np.int64)
        if on.key:
            return np.broadcast_to(pairs[0], (on.streams, pairs.shape[1])).copy()
        if on.centre is None:
            return None
        codes = np.full((on.streams, pairs.shape[1]), -1)
        for line, pair in zip(pairs, on.pairs, strict=True):
            codes[pair.left + pair.right - on.centre] = line
        return codes

    def _codes(self, rows: Tuples) -> Positions:
        """Number the keys: for each pair, rows with equal numbers have equal keys."""
        on = self._asked.on
        at = [np.flatnonzero(rows.streams == stream) for stream in range(on.streams)]
        codes = np.full((len(on.pairs), len(rows)), -1)
        if on.key:
            # All pairs have one key, so a value must have one number in all of them.
            sides = [(stream, column) for stream, column in enumerate(on.key)]
            codes[0] = self._numbered(sides, at, len(rows))
            codes[1:] = codes[0]
            return codes
        for line, pair in zip(codes, on.pairs, strict=True):
            sides = [(pair.left, pair.left_column), (pair.right, pair.right_column)]
            line[:] = self._numbered(sides, at, len(rows))
        return codes

    def _numbered(self, sides: list[tuple[int, str]], at: list[Positions], count: int) -> Positions:
        values = [self._rows[stream].column(column) for stream, column in sides]
        kind = values[0].type
        alike = [each if each.type == kind else each.cast(kind) for each in values]
        together = pa.chunked_array([c for each in alike for c in each.chunks], kind)
        if pa.types.is_floating(kind):
            # As Spark has it, and the hash: 0.0 equals -0.0, and a NaN any other.
            together = pc.if_else(pc.is_nan(together), float("nan"), pc.add(together, 0.0))
            together = together.cast(kind)
        indices = together.combine_chunks().dictionary_encode().indices
        if indices.null_count:
            indices = indices.fill_null(-1)
        line = np.full(count, -1)
        line[np.concatenate([at[stream] for stream, _ in sides])] = indices.to_numpy()
        return line

    def _results(self, rows: Tuples, pairs: Positions, fresh: tuple[int, Mask, Mask]) -> Positions:
        first, probes, is_inserted = fresh
        on = self._asked.on
        codes = np.concatenate([pairs, np.zeros((1, len(rows)), np.int64)])
        # The last line is that of every stream with itself: whoever is sought, nobody is bound.
        ends = np.array([*((pair.left, pair.right) for pair in on.pairs), (0, 0)], np.int64)
        ends = ends.reshape(-1, 2)
        shape = (on.streams, len(codes), int(codes.max(initial=0)) + 1)
        chains = np.full(shape, -1), np.full(shape, -1), np.full(codes.shape, -1)
        walks = on.walks()
        found, p = [np.empty((0, on.streams), np.int64)], 0
        while p < len(rows):
            p, some = find_results(
                (rows.streams, rows.times, codes, ends),
                (p, first, probes, is_inserted),
                self._windows,
                walks,
                chains,
                AT_ONCE,
            )
            found.append(some[self._holds(rows, some)] if self._asked.where else some)
        return np.concatenate(found)

    def _holds(self, rows: Tuples, results: Positions) -> Mask:
        """Ask the condition of combinations of rows."""
        assert self._asked.where is not None  # noqa: S101 - or there is nothing to ask
        ranks = np.empty(len(rows), np.int64)
        for stream in range(len(self._windows)):
            at = np.flatnonzero(rows.streams == stream)
            ranks[at] = np.arange(len(at))
        gathered = (gather(each, ranks[results[:, i]]) for i, each in enumerate(self._rows))
        return self._asked.where.holds(*gathered)

    def _forget(self, rows: Tuples, is_inserted: Mask) -> None:
        """Keep what a tuple at the clock could still meet."""
        since = max(self.clock, NEVER + int(self._windows.max())) - self._windows
        is_kept = is_inserted & (rows.times >= since[rows.streams])
        for stream, each in enumerate(self._rows):
            kept = np.flatnonzero(is_kept[rows.streams == stream])
            self._rows[stream] = gather(each, kept)
        self.held = rows.take(np.flatnonzero(is_kept))
