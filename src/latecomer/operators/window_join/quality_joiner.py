"""The join as a host runs it: rows of several streams in, joined rows and late rows out.

This module gives rows their numbers and an order of arrival, cuts time into intervals, and turns
results into rows. `latecomer.operators.window_join.loop` processes the tuples.

A row that comes out of order gives no result of its own, but others can meet it until its window
has passed. A row whose window has passed cannot take part at all: it is late.

**Other buckets.** A bucket sees some of the rows, and its streams may be silent while those of
other buckets are not. `reach` moves its streams to the time reached in all buckets, so that it does
not wait for a row that another bucket has.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.arrays import Arrays, nested, part, read_arrays, write_arrays
from latecomer.batch import Batch
from latecomer.operators.base import Chunks
from latecomer.operators.window_join.arrival_order import arrivals_of
from latecomer.operators.window_join.buffer_size_manager import Quality
from latecomer.operators.window_join.held_rows import HeldRows
from latecomer.operators.window_join.joiner import Probes, together
from latecomer.operators.window_join.loop import JoinLoop, Wait, intervals
from latecomer.operators.window_join.quality_join import TIME, QualityJoin
from latecomer.time import FOREVER, Times, from_micros

UNTIL_THE_END = FOREVER // 2
"""A wait that never ends."""
AT_ONCE = 65_536
"""Number of results from which on they are not held back for those of the next interval."""


@dataclass(frozen=True, slots=True, eq=False)
class LateRows:
    """Rows of one stream that are too old for their window."""

    stream: int
    rows: Batch
    newest: Times
    """Newest time of the stream when each row came."""
    since: Times
    """Earliest time at which each row would not have been late."""


@dataclass(frozen=True, slots=True)
class Measure:
    """The wait and the recall of the join in an interval."""

    newest: int
    """Newest time of all streams."""
    wait: int | None
    """Wait in microseconds; None if tuples are held until the end."""
    produced: int
    """Number of results since the last measure, as far as hindsight has counted."""
    missed: int
    """Number of results that were missed in that time."""
    extrapolated: float
    """Recall that the model expects of this wait."""


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """The joined rows and the late rows of one step."""

    results: Batch
    late: tuple[LateRows, ...] = ()


class QualityJoiner:
    """A running `QualityJoin`. Between calls, it holds the rows that may still be needed."""

    def __init__(
        self,
        asked: QualityJoin,
        schemas: Sequence[pa.Schema],
        chunks: Chunks,
        saved: bytes | None = None,
    ) -> None:
        self._asked = asked
        self._chunks = chunks
        self._schema = asked.output_schema(schemas)
        self._rows = HeldRows(schemas, asked.needed(schemas))
        wait: Wait = asked.quality if asked.wait == "recall" else asked.wait
        counted: Quality | None = asked.quality
        if asked.is_whole:
            wait, counted = UNTIL_THE_END, None
        self._loop = JoinLoop(asked.join, self._rows, wait, counted=counted)
        self._entered = 0
        self._has_begun = False
        # The totals reported so far: results produced, and those that there should have been.
        self._told = np.zeros(2)
        self._measures: list[Measure] = []
        if saved is not None:
            self._load(read_arrays(saved))

    @property
    def held(self) -> int:
        return len(self._loop.held)

    def push(self, inputs: Sequence[Batch]) -> Iterator[Joined]:
        """Join the rows of a micro-batch, those of each stream in the order they were read."""
        numbers = [self._rows.add(stream, rows) for stream, rows in enumerate(inputs)]
        times = [stream.time for stream in self._asked.streams]
        arrivals = [stream.arrival for stream in self._asked.streams]
        came = arrivals_of(inputs, times, arrivals, numbers)
        if self._asked.is_whole:
            self._has_begun |= len(came) > 0
            yield self._as_rows(self._loop.take_in(came))
            return
        interval = self._asked.quality.interval
        waiting: list[Probes] = []
        for some in intervals(came, interval, self._loop.newest):
            entered = max(self._loop.newest, int(some.times.max())) // interval
            if self._has_begun and entered != self._entered:
                self._choose()
            self._entered, self._has_begun = entered, True
            waiting.append(self._loop.take_in(some))
            # An interval often has few results, and each table of them costs as much as many rows.
            if sum(len(each.times) for each in waiting) >= AT_ONCE:
                yield self._as_rows(together(waiting))
                waiting = []
        if waiting:
            yield self._as_rows(together(waiting))
        self._rows.keep(self._loop.held)

    def reach(self, newest: int) -> Joined:
        """Move all streams ahead to a time reached in other buckets."""
        return self._as_rows(self._loop.reach(newest))

    def finish(self) -> Joined:
        probes = self._loop.finish()
        if self._loop.hindsight:
            self._measure(self._loop.wait, self._loop.hindsight.settled(is_over=True))
        else:
            self._measure(None, (len(probes.times), len(probes.times)))
        return self._as_rows(probes)

    @property
    def undecided(self) -> int:
        """Number of held rows whose results are not counted yet."""
        return self._loop.undecided

    def due(self) -> int | None:
        """Return the time that all streams must reach to release a held row; None if none is."""
        return self._loop.due

    def measured(self) -> list[Measure]:
        """Return the measures of the intervals that have ended since the last call."""
        measures, self._measures = self._measures, []
        return measures

    def save(self) -> bytes:
        own = {
            "entered": np.array([self._entered] if self._has_begun else [], np.int64),
            "told": self._told,
        }
        return write_arrays(
            own | nested("rows", self._rows.save(self._chunks)) | nested("loop", self._loop.save())
        )

    def _load(self, arrays: Arrays) -> None:
        self._has_begun = bool(arrays["entered"].size)
        self._entered = next(iter(arrays["entered"].tolist()), 0)
        self._told = arrays["told"]
        self._rows.load(part("rows", arrays), self._chunks)
        self._loop.load(part("loop", arrays))

    def _choose(self) -> None:
        if self._loop.hindsight:
            self._measure(self._loop.wait, self._loop.hindsight.settled())
        self._loop.choose()

    def _measure(self, wait: int | None, counts: tuple[float, float]) -> None:
        if not self._has_begun:
            return
        produced, true = counts
        # The join may find a result before hindsight counts it. A reported miss is not taken back.
        known = max(self._told[1] - self._told[0], 0)
        missed = max(true - produced, known)
        found = round(produced - self._told[0]), round(missed - known)
        self._told = np.array([produced, produced + missed])
        expected = 1.0 if wait is None else self._loop.extrapolated()
        self._measures.append(Measure(self._loop.newest, wait, *found, expected))

    def _as_rows(self, probes: Probes) -> Joined:
        """Return the rows of results, and the late rows."""
        late = []
        is_late = probes.tuples.times < probes.since
        for stream in np.unique(probes.tuples.streams[is_late]).tolist():
            at = np.flatnonzero(is_late & (probes.tuples.streams == stream))
            tuples = probes.tuples.take(at)
            rows = self._rows.gather(stream, tuples.rows)
            late.append(LateRows(stream, rows, tuples.times + tuples.delays, probes.since[at]))
        if not len(probes.times):
            return Joined(self._schema.empty_table(), tuple(late))
        kind, unit = self._schema.field(TIME).type, self._asked.streams[0].time.unit
        columns: list[pa.Array | pa.ChunkedArray] = [from_micros(probes.times, kind, unit)]
        for stream in range(len(self._asked.streams)):
            columns += self._rows.gather(stream, probes.results[:, stream]).columns
        return Joined(pa.table(columns, schema=self._schema), tuple(late))
