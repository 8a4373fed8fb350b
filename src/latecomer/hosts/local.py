"""Run a plan over record batches in this process.

This host is the reference: it is small and has no workers, and the Spark host is tested against it
with the same batches. A step is one batch, like one micro-batch on Spark. On one thread there are
no buckets; on several there is one for each (`hosts.threads`), with the same answers.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import time_ns

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, keep_more_freed_memory
from latecomer.clock.silence import Silence
from latecomer.clock.source_clocks import SourceClocks, told
from latecomer.clock.watermark import Clock
from latecomer.errors import withheld
from latecomer.hosts.entry import admit
from latecomer.hosts.late import late_schema
from latecomer.hosts.output import DROPPED, READY, Output, levels
from latecomer.hosts.recall_report import RECALL, SCHEMA
from latecomer.hosts.stage import RunningStage
from latecomer.hosts.threads import ThreadedStage, is_split
from latecomer.plan import Plan, Stage
from latecomer.time import FOREVER, NEVER, Times


class MemoryChunks:
    """Chunks in a dictionary."""

    def __init__(self) -> None:
        """Begin empty."""
        self.batches: dict[int, Batch] = {}

    def get(self, number: int) -> Batch:
        return self.batches[number]

    def put(self, number: int, rows: Batch) -> None:
        self.batches[number] = rows

    def drop(self, number: int) -> None:
        del self.batches[number]


@dataclass(frozen=True, slots=True)
class Step:
    """The outputs of one batch."""

    watermark: int
    ready: Batch
    lates: tuple[Batch, ...]
    """The late rows of each stream."""
    dropped: int
    in_time: tuple[int, ...]
    """Rows that each wait was the first to include, in windows closed for good."""
    recall: Batch = field(default_factory=SCHEMA.empty_table)
    """Reports of the recall; see `hosts.recall_report`."""

    @property
    def late(self) -> Batch:
        """The late rows of the first stream."""
        return self.lates[0]


class LocalHost:
    """A plan, running in this process."""

    def __init__(self, plan: Plan, *schemas: pa.Schema, threads: int = 1) -> None:
        """Start a plan on rows of this schema, or of these if several streams meet."""
        keep_more_freed_memory()
        self._plan = plan
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, "latecomer")
        self._inputs = plan.inputs
        self._schemas = schemas
        self._newest = [NEVER for _ in self._inputs]
        self._silence = Silence()
        self._sources = SourceClocks()
        self._stages: dict[int, list[RunningStage | ThreadedStage]] = {}
        self._start(plan, schemas[0], len(plan.stages))
        self._is_redacted = plan.is_redacted
        # Empty outputs, which most micro-batches have: making one takes longer than a short sort.
        self._no_ready = plan.output_schema(schemas[0]).empty_table()
        self._no_late = [late_schema(schema).empty_table() for schema in schemas]
        self._no_reports = SCHEMA.empty_table()

    @property
    def held(self) -> int:
        """Number of rows, or states of rows, that are held."""
        return sum(stage.held for stages in self._stages.values() for stage in stages)

    def step(self, *batches: Batch, now: int | None = None) -> Step:
        """Run one batch of each stream through all stages.

        `now` is the wall clock, in microseconds; it is only needed if the plan has `idle`.
        """
        # Streams that meet have one clock, the slowest. It is that of all batches before this one.
        newest = min(self._newest)
        with withheld(if_redacted=self._is_redacted):
            admitted = [
                admit(plan, batch, _arrived(plan, batch))
                for plan, batch in zip(self._inputs, batches, strict=True)
            ]
            for number, (plan, (rows, _)) in enumerate(zip(self._inputs, admitted, strict=True)):
                if plan.first is not None:
                    plan.first.checked(rows, self._newest[number])
                times = plan.source.time.micros(rows)
                self._newest[number] = int(times.max(initial=self._newest[number]))
        if self._plan.idle is not None and now is not None:
            self._silence = self._silence.ticked(newest, now, self._plan.idle)
            newest = self._silence.reached
        if self._plan.clock.columns:
            newest = NEVER
        clock = self._plan.clock.read(newest, self._silence.elapsed)
        if self._plan.clock.is_by_source:
            clock = self._by_sources(admitted[0][0])
        return self._flow(clock, [rows for rows, _ in admitted], [late for _, late in admitted])

    def _by_sources(self, rows: Batch) -> Clock:
        """Return the clock of the slowest source, and update the clocks of all from the rows."""
        policy, elapsed = self._plan.clock, self._silence.elapsed
        clock = self._sources.clock(policy, elapsed)
        self._sources.hear(told(policy, self._plan.source.time, rows), elapsed)
        return clock

    def finish(self) -> Step:
        """Release everything that is held: no row will follow."""
        clock = Clock(min(self._newest), FOREVER)
        nothing = [schema.empty_table() for schema in self._schemas]
        return self._flow(clock, nothing, self._no_late)

    def joined(self, steps: Sequence[Step]) -> Step:
        """Return the outputs of several steps as one, in order."""
        return Step(
            steps[-1].watermark if steps else NEVER,
            _joined([step.ready for step in steps], self._no_ready),
            tuple(
                _joined([step.lates[at] for step in steps], nothing)
                for at, nothing in enumerate(self._no_late)
            ),
            sum(step.dropped for step in steps),
            tuple(map(sum, zip(*(step.in_time for step in steps), strict=True))),
            _joined([step.recall for step in steps], self._no_reports),
        )

    def _start(self, plan: Plan, schema: pa.Schema, upto: int) -> None:
        """Start the first `upto` stages of a plan, and those of the streams that meet it.

        The last stage of such a stream runs inside the stage where the two meet.
        """
        for stage in plan.stages:
            for right in stage.rights:
                rows = self._schemas[right.source.number]
                self._start(right, rows, len(right.stages) - 1)
        running = self._stages[plan.source.number] = []
        for at, stage in enumerate(plan.stages[:upto]):
            running.append(self._started(plan, at, schema))
            schema = stage.output_schema(schema)

    def _started(self, plan: Plan, at: int, schema: pa.Schema) -> RunningStage | ThreadedStage:
        def start() -> RunningStage:
            return RunningStage(plan, at, schema, lambda _number: MemoryChunks())

        if self._threads == 1 or not is_split(plan, at):
            return start()
        return ThreadedStage(plan, start, self._threads, self._pool)

    def _flow(self, clock: Clock, rows: list[Batch], aside: list[Batch]) -> Step:
        late, dropped = [[batch] for batch in aside], 0
        seen = dict.fromkeys(levels(self._plan.clock), 0)
        names = {plan.source.late: late[plan.source.number] for plan in self._inputs}
        outputs: list[Output] = []
        reports: list[Batch] = []
        ready = self._ready(self._plan, len(self._plan.stages), clock, rows, outputs)
        for output in outputs:
            if output.name in names and output.batch is not None:
                names[output.name].append(output.batch)
            elif output.name == RECALL and output.batch is not None:
                reports.append(output.batch)
            elif output.name == DROPPED:
                dropped += output.rows
            elif output.name in seen:
                seen[output.name] += output.rows
        return Step(
            clock.watermark,
            _joined(ready, self._no_ready),
            tuple(map(_joined, late, self._no_late)),
            dropped,
            tuple(seen.values()),
            _joined(reports, self._no_reports),
        )

    def _ready(
        self, plan: Plan, upto: int, clock: Clock, rows: list[Batch], aside: list[Output]
    ) -> list[Batch]:
        """Run the first `upto` stages and return the ready rows; add all else to `aside`."""
        ready = [rows[plan.source.number]]
        for stage, running in zip(
            plan.stages[:upto], self._stages[plan.source.number], strict=True
        ):
            inputs = [ready, *self._coming_in(stage, clock, rows, aside)]
            outputs = list(running.step(plan.clock.of(clock), inputs))
            ready = [o.batch for o in outputs if o.name == READY and o.batch is not None]
            aside += [output for output in outputs if output.name != READY]
        return ready

    def _coming_in(
        self, stage: Stage, clock: Clock, rows: list[Batch], aside: list[Output]
    ) -> Iterator[list[Batch]]:
        for right in stage.rights:
            yield self._ready(right, len(right.stages) - 1, clock, rows, aside)
            yield from self._coming_in(right.stages[-1], clock, rows, aside)


def _joined(parts: Iterable[Batch], nothing: Batch) -> Batch:
    """Return the parts as one; `nothing`, which has the same columns, if there are no rows."""
    found = [part for part in parts if part.num_rows]
    return pa.concat_tables(found) if found else nothing


def _arrived(plan: Plan, batch: Batch) -> Times:
    arrival = plan.source.arrival
    now = time_ns() // 1_000
    return np.full(batch.num_rows, now) if arrival is None else arrival.micros(batch, null=now)


def run(plan: Plan, batches: Iterable[Batch], schema: pa.Schema) -> Step:
    """Run a bounded stream to its end; the result holds all that came out, in order."""
    host = LocalHost(plan, schema)
    return host.joined([*(host.step(batch) for batch in batches), host.finish()])
