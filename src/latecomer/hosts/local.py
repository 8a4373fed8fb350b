"""Run a plan over record batches in this process.

This host is the reference: it is small, it has no buckets and no workers, and the Spark host is
tested by giving it the same batches. A step is one batch, as one micro-batch is on Spark.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from time import time_ns
from typing import Literal

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, concat
from latecomer.disorder.watermark import Clock
from latecomer.hosts.entry import admit
from latecomer.hosts.late import late_schema
from latecomer.hosts.stage import Output, RunningStage, in_time
from latecomer.plan import Plan
from latecomer.time import FOREVER, NEVER, Times

ClockMode = Literal["batch", "row"]


class MemoryChunks:
    """Chunks in a dictionary."""

    def __init__(self) -> None:
        """Begin empty."""
        self.batches: dict[int, Batch] = {}

    def get(self, number: int) -> Batch:
        """Read a chunk."""
        return self.batches[number]

    def put(self, number: int, rows: Batch) -> None:
        """Write a chunk."""
        self.batches[number] = rows

    def drop(self, number: int) -> None:
        """Forget a chunk."""
        del self.batches[number]


@dataclass(frozen=True, slots=True)
class Step:
    """What one batch brought out."""

    watermark: int
    ready: Batch
    late: Batch
    dropped: int
    in_time: tuple[int, ...]
    """How many rows, of windows closed for good, each wait was the first to see."""


class LocalHost:
    """A plan, running in this process."""

    def __init__(self, plan: Plan, schema: pa.Schema, clock: ClockMode = "batch") -> None:
        """Start a plan on rows of this schema.

        Args:
            plan: What to run.
            schema: The columns of the rows.
            clock: With "batch", `newest` is the largest time of all batches before, as on
                Spark. With "row" it counts the rows of the batch itself too.
        """
        self._plan = plan
        self._schema = schema
        self._mode = clock
        self._newest = NEVER
        self._stages = []
        for at, stage in enumerate(plan.stages):
            chunks = [MemoryChunks() for _ in stage.operators]
            self._stages.append(RunningStage(plan, at, schema, chunks))
            for operator in stage.operators:
                schema = operator.output_schema(schema)
        self._ready_schema = schema

    def step(self, batch: Batch) -> Step:
        """Run one batch through all stages."""
        rows, aside = admit(self._plan, batch, self._arrived(batch))
        newest = int(self._plan.source.time.micros(rows).max(initial=self._newest))
        clock = Clock.at(newest if self._mode == "row" else self._newest, self._plan.wait)
        self._newest = newest
        return self._flow(clock, rows, aside)

    def finish(self) -> Step:
        """Release everything that is held: no row will follow."""
        clock = Clock(self._newest, FOREVER)
        nothing = self._schema.empty_table()
        return self._flow(clock, nothing, late_schema(self._schema).empty_table())

    def _arrived(self, batch: Batch) -> Times | None:
        arrival = self._plan.source.arrival
        now = time_ns() // 1_000
        return np.full(batch.num_rows, now) if arrival is None else arrival.micros(batch, null=now)

    def _flow(self, clock: Clock, rows: Batch, aside: Batch) -> Step:
        late, dropped = [aside], 0
        seen = dict.fromkeys(map(in_time, self._plan.waits), 0)
        batches = [rows]
        for stage in self._stages:
            outputs: list[Output] = list(stage.step(clock, batches))
            batches = [o.batch for o in outputs if o.name == "ready" and o.batch is not None]
            late += [o.batch for o in outputs if o.name == "late" and o.batch is not None]
            dropped += sum(o.rows for o in outputs if o.name == "dropped")
            for output in outputs:
                if output.name in seen:
                    seen[output.name] += output.rows
        return Step(
            clock.watermark,
            concat(batches, self._ready_schema),
            concat(late, late_schema(self._schema)),
            dropped,
            tuple(seen.values()),
        )


def run(plan: Plan, batches: Iterable[Batch], schema: pa.Schema) -> Step:
    """Run a bounded stream to its end; the result holds all that came out, in order."""
    host = LocalHost(plan, schema)
    steps = [*(host.step(batch) for batch in batches), host.finish()]
    return Step(
        FOREVER,
        concat([step.ready for step in steps], plan.output_schema(schema)),
        concat([step.late for step in steps], late_schema(schema)),
        sum(step.dropped for step in steps),
        tuple(map(sum, zip(*(step.in_time for step in steps), strict=True))),
    )
