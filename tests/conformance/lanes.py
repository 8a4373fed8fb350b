"""Many vectors in one streaming query, one after the other.

A streaming query takes seconds to start, and a vector needs a few micro-batches. Vectors with the
same query are therefore *lanes* of one query:

    micro-batch       0      1      2      3      4      5
    lane 0            rows   rows   rows
    lane 1                                 rows   rows
    end                                                  a row far ahead moves the clock

The times of a lane are shifted to be after those of all lanes before it. So the clock at its start
is before all its times, as at the beginning of a stream. Rows that it still holds when the next
lane begins come out then, as at the end of a stream. The first lane keeps its times.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import latecomer as lc
from latecomer.api.readable import Readable
from tests.support.streaming import PerBatch, source

Row = list[Any]
"""An id, a time in milliseconds, and the other columns."""
Found = dict[str, Any]
Step = dict[str, Any]
"""Rows that arrive, or a watermark."""

CLOCK_ID, CLOCK_LANE = -1, -1
"""Marks of rows that only move the clock."""


@dataclass(slots=True)
class Lane:
    """The micro-batches of one vector, and the output of each."""

    batches: list[list[Row]]
    offset: int = 0
    """The shift of its times."""
    ready: list[list[Found]] = field(default_factory=list)
    late: list[list[Found]] = field(default_factory=list)
    rest: list[Found] = field(default_factory=list)
    """The output after its last micro-batch."""

    @property
    def times(self) -> list[int]:
        """The times of all rows."""
        return [row[1] for batch in self.batches for row in batch]


@contextmanager
def one_partition(session: SparkSession) -> Iterator[None]:
    """Run queries with one task in each stage, because vectors have only a few rows."""
    name = "spark.sql.shuffle.partitions"
    before = session.conf.get(name)
    session.conf.set(name, "1")
    try:
        yield
    finally:
        session.conf.set(name, before)


def led(batches: list[list[Row]]) -> list[list[Row]]:
    """Move the clock to the time of each row one micro-batch before the row.

    An additional first micro-batch moves the clock for the first row.
    """
    firsts = [[CLOCK_ID, batch[0][1]] for batch in batches if batch]
    return [firsts[:1], *([*batch, *firsts[n + 1 : n + 2]] for n, batch in enumerate(batches))]


def times_of(steps: Sequence[Step]) -> list[int]:
    """Return all times and watermarks of a vector."""
    marks = [step["watermark"] for step in steps if step.get("watermark", "inf") != "inf"]
    return marks + [row[1] for step in steps for row in step.get("rows", [])]


def span(steps: Sequence[Step]) -> int:
    """Return a span longer than that between the first and the last time of a vector."""
    times = times_of(steps)
    return max(times, default=0) - min(times, default=0) + 10


class Steps:
    """Rows and watermarks as micro-batches.

    A watermark takes effect one micro-batch after the row that moves the clock. That row therefore
    shares a micro-batch with the rows before it. The rows that the watermark releases come out with
    the rows after it, if there are any; their ids show which rows were held before.
    """

    def __init__(self, steps: Sequence[Step], wait: int, *, apart: bool = False) -> None:
        """Lay out steps, with a wait that is longer than their span.

        With `apart`, each watermark has a micro-batch without rows for its output. Operators need
        that unless they are the first of a stage, which alone gets the clock before the rows.
        """
        self.lane = Lane([])
        self._seen: list[tuple[int, bool]] = []
        batches, can_tell = self.lane.batches, False
        last = max(times_of(steps), default=0) + 1
        for step in steps:
            at = step.get("watermark")
            if at is None:
                self._seen.append((len(batches), True))
                batches.append([*step["rows"]])
                can_tell = True
                continue
            if not can_tell:
                batches.append([])
            batches[-1].append([CLOCK_ID, wait + (last if at == "inf" else at)])
            can_tell = False
            self._seen.append((len(batches), False))
            if apart:
                batches.append([])
                can_tell = True
        if self._seen and self._seen[-1][0] == len(batches):
            batches.append([])

    def step_of(self, micro_batch: int) -> int:
        """Return the step whose rows are in a micro-batch."""
        return self._seen.index((micro_batch, True))

    def told(self) -> tuple[list[list[Found]], list[list[Found]]]:
        """Return the ready rows and the late rows of each step."""
        ready, late = [], []
        for at, brings_rows in self._seen:
            own = {row[0] for row in self.lane.batches[at]}
            is_alone = sum(seen == at for seen, _ in self._seen) == 1
            found = self.lane.ready[at]
            ready.append(
                [row for row in found if is_alone or (row.get("id") in own) == brings_rows]
            )
            late.append(self.lane.late[at] if brings_rows else [])
        return ready, late


def play(
    lanes: Sequence[Lane],
    columns: pa.Schema,
    build: Callable[[DataFrame], Readable],
    *,
    after: int,
    grid: int = 1,
    fails: type[Exception] | None = None,
) -> int | None:
    """Run lanes in one query, and store its output in them.

    Args:
        lanes: The lanes. They are run in order of their first times.
        columns: The columns of their rows.
        build: Returns the stream to start. Rows also have the column `lane`.
        after: The distance from the last row to the clock that releases everything.
        grid: Times are shifted by multiples of this.
        fails: The error that the query is expected to raise.

    Returns:
        The number of the micro-batch that failed.
    """
    schema = pa.schema([("lane", pa.int64()), *columns])
    batches: list[list[Row]] = []
    firsts: dict[int, int] = {}
    newest: int | None = None
    for number, lane in sorted(enumerate(lanes), key=lambda each: min(each[1].times, default=0)):
        firsts[number] = len(batches)
        if newest is not None and lane.times:
            lane.offset = max(0, -(-(newest + 1 - min(lane.times)) // grid) * grid)
        for batch in lane.batches:
            batches.append([_placed(row, number, lane.offset) for row in batch])
            newest = max([newest, *(row[2] for row in batches[-1])], key=_or_least)
    if newest is None:
        for lane in lanes:
            lane.ready, lane.late = ([[] for _ in lane.batches] for _ in range(2))
        return None
    batches[-1].append([CLOCK_LANE, CLOCK_ID, newest + after])
    # Rows that only move the clock have the other columns of any row.
    more = next((row[3:] for batch in batches for row in batch if row[3:]), [])
    tables = [
        pa.table([[[*row, *more][i] for row in batch] for i in range(len(schema))], schema=schema)
        for batch in batches
    ]
    ready, late, failed_at = _streamed(tables, build, fails)
    for number, lane in enumerate(lanes):
        own = range(firsts[number], firsts[number] + len(lane.batches))
        told = [{at: _of(number, rows) for at, rows in found.items()} for found in (ready, late)]
        lane.ready, lane.late = ([found.get(at, []) for at in own] for found in told)
        lane.rest = [row for at in sorted(told[0]) if at >= own.stop for row in told[0][at]]
    return failed_at


def _streamed(
    tables: list[pa.Table],
    build: Callable[[DataFrame], Readable],
    fails: type[Exception] | None,
) -> tuple[PerBatch, PerBatch, int | None]:
    """Run one query; return the ready and the late rows, and which micro-batch failed."""
    session = lc.session()
    ready: PerBatch = {}
    late: PerBatch = {}

    def keep(into: PerBatch) -> Callable[[DataFrame, int], None]:
        def write(df: DataFrame, number: int) -> None:
            into[number] = df.collect()

        return write

    with tempfile.TemporaryDirectory() as directory, one_partition(session):
        query = build(source(session, tables, f"{directory}/rows")).start(
            {"ready": keep(ready), "late": keep(late)},
            checkpoint=f"{directory}/checkpoint",
            trigger={"availableNow": True},
        )
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            if fails is None or fails.__name__ not in str(error):
                raise
            done = [progress["batchId"] for progress in query.recentProgress]
            return ready, late, max(done, default=-1) + 1
    return ready, late, None


def _placed(row: Row, lane: int, offset: int) -> Row:
    return [CLOCK_LANE if row[0] == CLOCK_ID else lane, row[0], row[1] + offset, *row[2:]]


def _or_least(time: int | None) -> float:
    return float("-inf") if time is None else time


def _of(lane: int, rows: list[Any]) -> list[Found]:
    return [row.asDict(recursive=True) for row in rows if row.lane == lane]
