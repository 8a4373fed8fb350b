"""Drive the operators of one stage through one micro-batch, for one bucket.

Both hosts do this and nothing else with operators, so that a row has the same fate on both.

The order within a step is the boundary rule of the library. In the *first* stage the clock comes
first: what the watermark closes is closed, then the rows of the batch are looked at. Whether a row
is late depends on the row and its batch alone, never on which bucket was awake.

Behind another operator the rows come first. What an operator releases when it advances to a
watermark is not after that watermark, and everything up to it has been released, so the next
operator takes the rows and then advances just as far:

    first      advance 10 ─▶ rows 7 9     push 12 10 ─▶ row 10
    next                     push 7 9                   push 10    advance 10
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, concat, gather
from latecomer.clock.watermark import Clock
from latecomer.hosts.envelope import FORMAT, check_columns, check_format, check_query, opened
from latecomer.hosts.late import behind_the_watermark, refuse, unusable
from latecomer.kernels.order import stable_order
from latecomer.operators.base import NO_BEGIN, Chunks, Emission
from latecomer.operators.distinct import Distinct
from latecomer.operators.optimistic.specification import Optimistic
from latecomer.operators.patterns.detect import Detect
from latecomer.operators.temporal.paired import Paired
from latecomer.operators.windows.aggregate import WindowAggregator
from latecomer.plan.plan import Meeting, Plan, Stage, led
from latecomer.time import FOREVER

IN_TIME = "in_time_"


def in_time(wait: int) -> str:
    """Name the count of rows that were in time for a wait, and too late for the one before."""
    return f"{IN_TIME}{wait}"


@dataclass(frozen=True, slots=True)
class Output:
    """Rows for one of the outputs of a stream.

    Dropped rows, and rows in time for a wait, are counted, not carried.
    """

    name: str
    rows: int
    batch: Batch | None


class RunningStage:
    """The operators of one stage, running on one bucket."""

    def __init__(
        self,
        plan: Plan,
        at: int,
        schema: pa.Schema | None,
        chunks: Sequence[Chunks],
        saved: bytes | None = None,
    ) -> None:
        """Start stage number `at` of the plan, from nothing or where `saved` left off.

        Args:
            plan: What the stream asks for.
            at: Which of its stages this is.
            schema: The columns of the rows; None if none have come and the saved ones will do.
            chunks: The chunks of each operator; those of streams that come in follow.
            saved: What `save` returned.
        """
        self._plan = plan
        self._at = at
        self._is_first = at == 0
        self._specs = specs = plan.stages[at].operators
        self._query = query(plan, at)
        meetings = plan.stages[at].meetings
        parts: Sequence[bytes | None] = [None] * (len(specs) + len(meetings))
        if saved is not None:
            schema, parts = self._load(saved, schema)
        if schema is None and plan.source.rows is not None:
            schema = plan.schema_at(at, plan.source.rows)
        if schema is None:
            message = "a stage without rows and without a saved state"
            raise AssertionError(message)
        self._schema = schema
        self._operators = []
        for spec, own, part in zip(specs, chunks, parts, strict=False):
            self._operators.append(spec.start(schema, own, part))
            schema = spec.output_schema(schema)
        self._branches: dict[int, RunningStage] = {}
        chunks = chunks[len(specs) :]
        for (number, meeting), part in zip(meetings.items(), parts[len(specs) :], strict=True):
            self._branches[number] = branch = RunningStage.of_branch(meeting, chunks, part)
            chunks = chunks[branch.width :]

    @classmethod
    def of_branch(
        cls, meeting: Meeting, chunks: Sequence[Chunks], saved: bytes | None
    ) -> "RunningStage":
        """Start the stage of a stream that comes in; the first of the chunks are its own."""
        at = len(meeting.right.stages) - 1
        schema = meeting.right.schema_at(at, meeting.rows)
        return cls(meeting.right, at, schema, chunks, saved)

    @property
    def width(self) -> int:
        """How many operators run here, those of streams that come in included."""
        return len(self._specs) + sum(branch.width for branch in self._branches.values())

    def step(
        self, clock: Clock, inputs: Sequence[Sequence[Batch]], states: Sequence[Batch] = ()
    ) -> Iterator[Output]:
        """Run one micro-batch.

        Args:
            clock: What is known about time.
            inputs: The rows, in order of arrival: those of this stream, then those of the streams
                that come in.
            states: What the rows were turned into already, where they are aggregated.
        """
        complete = self._plan.complete(clock, self._at)
        if self._is_first:
            yield from self._advance(0, complete, clock)
        for batch in self._arranged(inputs[0]):
            yield from self._push(0, batch, clock)
        for part in states:
            yield from self._fold(part)
        others = inputs[1:]
        for at, spec in enumerate(self._specs):
            if branch := self._branches.get(at):
                used = len(branch.stage.branches)
                yield from self._meet(at, branch, clock, others[:used])
                others = others[used:]
                complete = min(complete, branch.plan.complete(clock, len(branch.plan.stages)))
            if at > 0 or not self._is_first:
                yield from self._advance(at, complete, clock)
            complete = spec.passes(complete)

    @property
    def plan(self) -> Plan:
        """What the stream asks for."""
        return self._plan

    @property
    def stage(self) -> Stage:
        """What runs here."""
        return self._plan.stages[self._at]

    @property
    def held(self) -> int:
        """How many rows, or states of rows, are held."""
        others = (branch.held for branch in self._branches.values())
        return sum(running.held for running in self._operators) + sum(others)

    def due(self) -> int | None:
        """Tell the smallest `newest` at which there will be something to do, if any."""
        found = [due for branch in self._branches.values() if (due := branch.due()) is not None]
        # Rather too early than too late: a stage that finds nothing to do sleeps on.
        lead = self._plan.lead(self._at)
        for spec, running in zip(self._specs, self._operators, strict=True):
            if isinstance(spec, Meeting):
                lead = led(spec, lead)
            if (due := running.due()) is not None:
                found.append(due - lead)
            lead = led(spec, lead)
        return min(found, default=None)

    def save(self) -> bytes:
        """Write down all that is not in the chunks."""
        schema = self._schema.serialize().to_pybytes()
        parts = [schema, *(running.save() for running in self._operators)]
        parts += [branch.save() for branch in self._branches.values()]
        header = {"format": FORMAT, "query": self._query, "sizes": [len(p) for p in parts]}
        return json.dumps(header).encode() + b"\n" + b"".join(parts)

    def _load(self, saved: bytes, schema: pa.Schema | None) -> tuple[pa.Schema, list[bytes]]:
        first, _, rest = opened(saved, None).partition(b"\n")
        header = json.loads(first)
        check_format(header["format"])
        check_query(header["query"], self._query)
        stops = [0, *accumulate(header["sizes"])]
        held, *parts = (rest[start:stop] for start, stop in pairwise(stops))
        held_schema = pa.ipc.read_schema(pa.py_buffer(held))
        check_columns(held_schema, schema)
        return held_schema, parts

    def _arranged(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        """Put rows in order where nobody behind will, and they come from several buckets."""
        needs_order = bool(self._specs) and isinstance(self._specs[0], Detect | Distinct)
        if self._is_first or needs_order:
            batches = arranged(self._plan, batches, self._schema, is_sorted=not needs_order)
        if self._specs and isinstance(self._specs[0], Optimistic):
            # What is said and taken back in one micro-batch must meet before it is sent on.
            return [concat(batches, self._schema)]
        return batches

    def _push(self, at: int, batch: Batch, clock: Clock) -> Iterator[Output]:
        if not batch.num_rows:
            return
        if at == len(self._operators):
            yield Output("ready", batch.num_rows, batch)
            return
        emission = self._operators[at].push(batch)
        if emission.late.num_rows:
            yield from self._late(at, emission.late, clock)
        yield from self._push(at + 1, emission.ready, clock)
        yield from self._counted(emission)

    def _fold(self, states: Batch) -> Iterator[Output]:
        first = self._operators[0]
        if not isinstance(first, WindowAggregator):
            message = f"states for {first}, which aggregates nothing"
            raise TypeError(message)
        late = first.fold(states)
        # Where late rows are not dropped, they come out of `late_rows`, as rows.
        if late and self._plan.late == "drop":
            yield Output("dropped", late, None)

    def _meet(
        self, at: int, branch: "RunningStage", clock: Clock, inputs: Sequence[Sequence[Batch]]
    ) -> Iterator[Output]:
        """Run the stream that comes in, and let it meet this one."""
        for output in branch.step(clock.with_wait(branch.plan.wait), inputs):
            if output.name != "ready" or output.batch is None:
                yield output
                continue
            emission = self._operators[at].push(output.batch, 1)
            yield from self._push(at + 1, emission.ready, clock)

    def _advance(self, at: int, watermark: int, clock: Clock) -> Iterator[Output]:
        for stop in self._operators[at].stops(watermark):
            emission = self._operators[at].advance(stop)
            yield from self._push(at + 1, emission.ready, clock)
            yield from self._counted(emission)

    def _counted(self, emission: Emission) -> Iterator[Output]:
        for wait, rows in zip(self._plan.waits, emission.in_time, strict=False):
            if rows:
                yield Output(in_time(wait), rows, None)

    def _late(self, at: int, rows: Batch, clock: Clock) -> Iterator[Output]:
        time = self._plan.source.time
        if self._plan.late == "adjust":
            yield from self._push(at, time.replaced(rows, [clock.watermark] * rows.num_rows), clock)
        elif self._plan.late == "drop":
            yield Output("dropped", rows.num_rows, None)
        else:
            late = (
                unusable(rows, NO_BEGIN)
                if isinstance(self._specs[at], Paired)
                else behind_the_watermark(rows, time, clock.newest, clock.watermark)
            )
            if self._plan.late == "raise":
                refuse(late, time)
            yield Output(self._plan.source.late, late.num_rows, late)


def query(plan: Plan, at: int) -> dict[str, Any]:
    """Tell what of a plan must not change during the life of a checkpoint."""
    return {
        "operators": [spec.label for spec in plan.stages[at].operators],
        "time": [plan.source.time.name, plan.source.time.unit],
        "key": list(plan.stages[at].key),
        "wait": plan.wait if len(plan.waits) == 1 else list(plan.waits),
    }


def arranged(
    plan: Plan, batches: Sequence[Batch], schema: pa.Schema, *, is_sorted: bool = True
) -> Sequence[Batch]:
    """Put rows of equal time in order of arrival, where the stream says when that was.

    Rows that nobody sorts later are merged, where they come from several partitions.
    """
    arrival = plan.source.arrival
    is_merged = (plan.in_order is not None or not is_sorted) and len(batches) > 1
    if not batches or (arrival is None and not is_merged):
        return batches
    rows = concat(batches, schema)
    times = plan.source.time.micros(rows)
    if arrival is None:
        return [gather(rows, stable_order(times))]
    return [gather(rows, np.lexsort((arrival.micros(rows, null=FOREVER), times)))]


def late_rows(plan: Plan, clock: Clock, rows: Batch) -> Iterator[Output]:
    """Find the late ones of rows that go to their windows as states, which cannot be taken apart.

    Whether a row is late depends on the row and the clock alone, so any bucket can tell.
    """
    if plan.aggregation is None:
        message = "rows to look through, in a plan that aggregates nothing"
        raise AssertionError(message)
    is_late = plan.aggregation.is_late(rows, clock.watermark)
    if is_late is not None and is_late.any():
        rows = rows.filter(pa.array(is_late))
        late = behind_the_watermark(rows, plan.source.time, clock.newest, clock.watermark)
        if plan.late == "raise":
            refuse(late, plan.source.time)
        yield Output("late", late.num_rows, late)
