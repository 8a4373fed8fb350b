"""The join as a host runs it: rows of several streams in, joined rows and late rows out.

Here rows get numbers and an order of arrival, time is cut into intervals, and results become rows
again. What is done with tuples is told in `latecomer.joins.loop`.

A row that comes out of order gives no result of its own, but is met by others as long as its
window has not passed. One whose window has passed cannot take part at all: it is late.

**Elsewhere.** A bucket sees some of the rows, and its streams may be silent while others are not.
`reach` tells it how far all streams have come, so that nothing waits for a row that another
bucket has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.arrays import nested, part, read_arrays, write_arrays
from latecomer.joins.arrival_order import arrivals_of
from latecomer.joins.held_rows import HeldRows
from latecomer.joins.loop import QualityDrivenJoin
from latecomer.joins.quality_join import TIME
from latecomer.time import from_micros

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from latecomer.arrays import Arrays
    from latecomer.batch import Batch
    from latecomer.joins.loop import Wait
    from latecomer.joins.quality_join import QualityJoin
    from latecomer.joins.reordering import Arrivals
    from latecomer.joins.window_join import Probes
    from latecomer.operators.base import Chunks
    from latecomer.time import Times


@dataclass(frozen=True, slots=True, eq=False)
class LateRows:
    """Rows of one stream that are too old for their window."""

    stream: int
    rows: Batch
    newest: Times
    """The newest of the stream when each came."""
    since: Times
    """From where on each could still have been met."""


@dataclass(frozen=True, slots=True)
class Measure:
    """How well the join does."""

    newest: int
    """The newest time of all streams."""
    wait: int
    """How long tuples are held from now on."""
    produced: int | None
    """Results of the last period for which hindsight knows all; None if there is none yet."""
    missed: int | None
    """Results that there should have been as well."""


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """What one step brought out."""

    results: Batch
    late: tuple[LateRows, ...] = ()


class RunningQualityJoin:
    """A running `QualityJoin`. Between calls, it holds the rows of tuples that may be asked for."""

    def __init__(
        self,
        asked: QualityJoin,
        schemas: Sequence[pa.Schema],
        chunks: Chunks,
        saved: bytes | None = None,
    ) -> None:
        """Begin with nothing, or where `saved` left off; see `QualityJoin.start`."""
        self._asked = asked
        self._chunks = chunks
        self._schema = asked.output_schema(schemas)
        columns = asked.needed(schemas)
        self._rows = HeldRows(schemas, columns)
        narrow = [
            pa.schema([schema.field(name) for name in names])
            for schema, names in zip(schemas, columns, strict=True)
        ]
        wait: Wait = asked.quality if asked.wait == "recall" else asked.wait
        counted = asked.quality if asked.counts_missed else None
        self._loop = QualityDrivenJoin(asked.join, narrow, self._rows, wait, counted=counted)
        self._entered = self._told = 0
        self._has_begun = False
        self._measures: list[Measure] = []
        if saved is not None:
            self._load(read_arrays(saved))

    @property
    def held(self) -> int:
        """How many rows are held."""
        return len(self._loop.held)

    def push(self, inputs: Sequence[Batch]) -> Iterator[Joined]:
        """Take in the rows of a micro-batch, those of each stream as they were read."""
        numbers = [self._rows.add(stream, rows) for stream, rows in enumerate(inputs)]
        times = [stream.time for stream in self._asked.streams]
        arrivals = [stream.arrival for stream in self._asked.streams]
        came = arrivals_of(inputs, times, arrivals, numbers)
        for number, some in self._intervals(came):
            if self._has_begun and number != self._entered:
                self._choose()
            self._entered, self._has_begun = number, True
            yield self._as_rows(self._loop.take_in(some))

    def reach(self, newest: int) -> Joined:
        """Take note that all streams have come as far."""
        return self._as_rows(self._loop.reach(newest))

    def finish(self) -> Joined:
        """Take note that nothing will follow."""
        return self._as_rows(self._loop.finish().probes)

    def due(self) -> int | None:
        """Tell how far all streams must come for something to come out, if anything will."""
        return self._loop.due

    def measured(self) -> list[Measure]:
        """Tell how well the join did, once for each interval that has ended since it was asked."""
        measures, self._measures = self._measures, []
        return measures

    def missed(self) -> int:
        """Tell how many more results are known to be missed since it was asked."""
        if self._loop.hindsight is None:
            return 0
        lost = round(self._loop.hindsight.lost)
        more, self._told = max(lost - self._told, 0), max(lost, self._told)
        return more

    def save(self) -> bytes:
        """Write down all that is not in the chunks."""
        self._rows.keep(self._loop.held)
        own = {
            "entered": np.array([self._entered] if self._has_begun else [], np.int64),
            "told": np.array(self._told),
        }
        return write_arrays(
            own | nested("rows", self._rows.save(self._chunks)) | nested("loop", self._loop.save())
        )

    def _load(self, arrays: Arrays) -> None:
        self._has_begun = bool(arrays["entered"].size)
        self._entered = int(arrays["entered"].max(initial=0))
        self._told = int(arrays["told"])
        self._rows.load(part("rows", arrays), self._chunks)
        self._loop.load(part("loop", arrays))

    def _intervals(self, came: Arrivals) -> Iterator[tuple[int, Arrivals]]:
        """Cut tuples where the newest time of all streams enters another interval."""
        if not len(came):
            return
        if self._asked.wait != "recall" and not self._asked.counts_missed:
            # Nothing is measured, so nothing has to be cut.
            yield 0, came
            return
        newest = np.maximum(np.maximum.accumulate(came.times), self._loop.newest)
        entered = newest // self._asked.quality.interval
        cuts = np.flatnonzero(np.diff(entered)) + 1
        for start, stop in zip([0, *cuts], [*cuts, len(came)], strict=True):
            yield int(entered[start]), came.take(slice(int(start), int(stop)))

    def _choose(self) -> None:
        self._loop.choose()
        hindsight = self._loop.hindsight
        counts = hindsight.measured(self._asked.quality.period) if hindsight else None
        produced = missed = None
        if counts is not None:
            produced, missed = round(counts[0]), round(counts[1] - counts[0])
        self._measures.append(Measure(self._loop.newest, self._loop.wait, produced, missed))

    def _as_rows(self, probes: Probes) -> Joined:
        """Gather the rows of results, and those that are late."""
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
