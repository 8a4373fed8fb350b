"""The operators of one stage, driven through one micro-batch by one watermark.

The order within a step is the boundary rule of the library. In the *first* stage the clock comes
first: the operator advances to the watermark, then takes the rows of the batch. Whether a row is
late depends on the row and its batch alone, never on which bucket was awake.

Behind another operator the rows come first. An operator that advances to a watermark releases
everything up to it and nothing after it. So the next operator takes these rows and then advances
to the same watermark:

    first      advance 10 ─▶ rows 7 9     push 12 10 ─▶ row 10
    next                     push 7 9                   push 10    advance 10
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, cast

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, concat, gather
from latecomer.clock.watermark import Clock
from latecomer.hosts.envelope import joined, parts
from latecomer.hosts.late import late_outputs, moved, only_counted
from latecomer.hosts.output import READY, Output, levels
from latecomer.kernels.order import stable_order
from latecomer.operators.base import Chunks, Emission, Running
from latecomer.plan import Meeting, Plan
from latecomer.time import FOREVER


class Chain(Protocol):
    """Operators that a stage drives: rows and a clock go in, outputs come out."""

    @property
    def held(self) -> int:
        """Number of rows, or states of rows, that are held."""

    def step(
        self, clock: Clock, inputs: Sequence[Sequence[Batch]], states: Sequence[Batch] = ()
    ) -> Iterator[Output]:
        """Run one micro-batch.

        Args:
            clock: The newest time and the watermark of this micro-batch.
            inputs: The rows, in order of arrival: those of this stream, then those of the streams
                that meet it.
            states: Aggregates of rows that were computed before the shuffle.
        """

    def due(self) -> int | None:
        """Return the smallest `newest` at which there will be something to do, if any."""

    def save(self) -> bytes:
        """Return the state that is not in the chunks."""


class OperatorChain:
    """Operators that run one after the other, and the chains of streams that meet this one."""

    def __init__(
        self,
        plan: Plan,
        at: int,
        schema: pa.Schema,
        chunks: Sequence[Chunks],
        saved: bytes | None = None,
        first: Running | None = None,
    ) -> None:
        """Start stage number `at` of the plan, from nothing or where `saved` left off.

        `chunks` are those of each operator, then those of the streams that meet this one. `first`
        is the first operator, if it is running already.
        """
        self._plan = plan
        self._at = at
        self._is_first = at == 0
        self._schema = schema
        self._specs = specs = plan.stages[at].operators
        meetings = [number for number, spec in enumerate(specs) if spec.rights]
        written: Sequence[bytes | None] = [None] * (len(specs) + len(meetings))
        if saved is not None:
            written = parts(saved)
        self._operators: list[Running] = []
        for spec, own, part in zip(specs, chunks, written, strict=False):
            running = None if self._operators else first
            self._operators.append(running or spec.start(schema, own, part))
            schema = spec.output_schema(schema)
        self._branches: dict[int, OperatorChain] = {}
        chunks = chunks[len(specs) :]
        for number, part in zip(meetings, written[len(specs) :], strict=True):
            meeting = cast("Meeting", specs[number])
            right, last = meeting.right, len(meeting.right.stages) - 1
            rows = right.schema_at(last, meeting.rows)
            self._branches[number] = OperatorChain(right, last, rows, chunks, part)
            chunks = chunks[right.stages[last].width :]

    @property
    def held(self) -> int:
        others = (branch.held for branch in self._branches.values())
        return sum(running.held for running in self._operators) + sum(others)

    def step(
        self, clock: Clock, inputs: Sequence[Sequence[Batch]], states: Sequence[Batch] = ()
    ) -> Iterator[Output]:
        complete = self._plan.complete(clock, self._at)
        if self._is_first:
            yield from self._advance(0, complete, clock)
        given = inputs[0]
        if self._is_first and self._plan.moves_late_rows:
            given = [self._moved(batch, clock.watermark) for batch in given]
        for batch in arranged(self._plan, self._at, given, self._schema):
            yield from self._push(0, batch, clock)
        for part in states:
            yield from self._fold(part)
        if self._operators and (corrected := self._operators[0].corrections()) is not None:
            yield from self._push(1, corrected, clock)
        others = inputs[1:]
        for at, spec in enumerate(self._specs):
            if branch := self._branches.get(at):
                used = len(branch.plan.stages[-1].branches)
                yield from self._meet(at, branch, clock, others[:used])
                others = others[used:]
                complete = spec.complete(complete, clock)
            if at > 0 or not self._is_first:
                yield from self._advance(at, complete, clock)
            complete = spec.passes(complete)

    def states(self) -> list[Batch]:
        """Return the open states that the only operator holds; see `Running.states`."""
        return self._operators[0].states()

    @property
    def plan(self) -> Plan:
        """The plan that this chain belongs to."""
        return self._plan

    def due(self) -> int | None:
        found = [due for branch in self._branches.values() if (due := branch.due()) is not None]
        # Too early does no harm: a stage that finds nothing to do goes back to sleep.
        lead = self._plan.lead(self._at)
        for spec, running in zip(self._specs, self._operators, strict=True):
            lead = spec.led(lead)
            if (due := running.due()) is not None:
                found.append(due - lead)
            lead += spec.leads
        return min(found, default=None)

    def save(self) -> bytes:
        own = [running.save() for running in self._operators]
        return joined([*own, *(branch.save() for branch in self._branches.values())])

    def _push(self, at: int, batch: Batch, clock: Clock) -> Iterator[Output]:
        if not batch.num_rows:
            return
        if at == len(self._operators):
            yield Output(READY, batch.num_rows, batch)
            return
        emission = self._operators[at].push(batch)
        if emission.late.num_rows:
            reason = self._specs[at].late_reason
            yield from late_outputs(
                self._plan, emission.late, clock.newest, clock.watermark, reason
            )
        yield from self._emitted(at, emission, clock)

    def _fold(self, states: Batch) -> Iterator[Output]:
        late = self._operators[0].fold(states)
        # If late rows are needed as rows, `found_late` emits them.
        if late and not self._plan.needs_late_rows:
            yield only_counted(self._plan, late)

    def _meet(
        self, at: int, branch: OperatorChain, clock: Clock, inputs: Sequence[Sequence[Batch]]
    ) -> Iterator[Output]:
        """Run the other stream, and pass its rows to the operator where both meet."""
        for output in branch.step(branch.plan.clock.of(clock), inputs):
            if output.name != READY or output.batch is None:
                yield output
                continue
            emission = self._operators[at].push(output.batch, 1)
            yield from self._push(at + 1, emission.ready, clock)

    def _advance(self, at: int, watermark: int, clock: Clock) -> Iterator[Output]:
        for stop in self._operators[at].stops(watermark):
            yield from self._emitted(at, self._operators[at].advance(stop), clock)

    def _emitted(self, at: int, emission: Emission, clock: Clock) -> Iterator[Output]:
        yield from self._push(at + 1, emission.ready, clock)
        yield from counted(self._plan, emission)

    def _moved(self, rows: Batch, watermark: int) -> Batch:
        deadlines = self._specs[0].last_deadlines(self._plan.source.time.micros(rows))
        return moved(self._plan, rows, deadlines < watermark, watermark)


def counted(plan: Plan, emission: Emission) -> Iterator[Output]:
    """Yield the number of rows that were in time for each wait."""
    for name, rows in zip(levels(plan.clock), emission.in_time, strict=False):
        if rows:
            yield Output(name, rows, None)


def arranged(plan: Plan, at: int, batches: Sequence[Batch], schema: pa.Schema) -> Sequence[Batch]:
    """Return the rows of a stage in the form that its first operator takes.

    In the first stage, rows of equal time are in order of arrival if the stream has an arrival
    column. An operator that takes rows in order gets those of several partitions merged.
    """
    operators = plan.stages[at].operators
    takes = operators[0].takes if operators else "batches"
    if takes == "one batch":
        # Changes that cancel out within a micro-batch must be in the same batch.
        batches = [concat(batches, schema)]
    arrival = plan.source.arrival
    is_merged = takes == "in order" and (len(batches) > 1 or arrival is not None)
    is_first_with_arrival = at == 0 and arrival is not None
    if not batches or not (is_merged or is_first_with_arrival):
        return batches
    rows = concat(batches, schema)
    times = plan.source.time.micros(rows)
    if arrival is None:
        return [gather(rows, stable_order(times))]
    return [gather(rows, np.lexsort((arrival.micros(rows, null=FOREVER), times)))]
