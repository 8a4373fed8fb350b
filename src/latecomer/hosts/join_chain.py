"""A join of disordered streams, driven through one micro-batch.

The rows are not sorted before: the join has buffers of its own, and chooses how long they wait
(`operators.window_join.loop`). So there is no watermark here. The clock says how far the slowest
stream has come in all buckets. A step first releases what waits for that time, then takes the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from latecomer.batch import Batch, concat
from latecomer.clock.watermark import Clock
from latecomer.hosts.late import late_outputs
from latecomer.hosts.output import READY, Output
from latecomer.hosts.recall_report import Measured, reports
from latecomer.operators.base import Chunks
from latecomer.plan import Gathering, Plan
from latecomer.time import FOREVER, NEVER

if TYPE_CHECKING:
    from latecomer.operators.window_join.quality_joiner import Joined


class JoinChain:
    """A running join of disordered streams."""

    def __init__(
        self, plan: Plan, join: Gathering, chunks: Chunks, saved: bytes | None = None
    ) -> None:
        """Start the only stage of a plan, from nothing or where `saved` left off."""
        self._inputs = plan.inputs
        self._schemas = join.rows
        self._target = join.operator.target
        self._join = join.operator.start(self._schemas, chunks, saved)

    @property
    def held(self) -> int:
        return self._join.held

    def step(
        self, clock: Clock, inputs: Sequence[Sequence[Batch]], states: Sequence[Batch] = ()
    ) -> Iterator[Output]:
        if clock.newest > NEVER:
            yield from self._outputs(self._join.reach(clock.newest))
        rows = [
            concat(batches, schema) for batches, schema in zip(inputs, self._schemas, strict=True)
        ]
        for joined in self._join.push(rows):
            yield from self._outputs(joined)
        if clock.watermark == FOREVER:
            yield from self._outputs(self._join.finish())
        yield from reports([*self._measured()])

    def _measured(self) -> Iterator[tuple[int, Measured]]:
        measures = self._join.measured()
        for left, each in zip(reversed(range(len(measures))), measures, strict=True):
            counts = (each.produced, each.missed, each.extrapolated)
            held = None if left else self._join.undecided
            yield each.newest, Measured(self._target, each.wait, *counts, held)

    def due(self) -> int | None:
        due = self._join.due()
        return None if due is None else min(due, FOREVER)

    def save(self) -> bytes:
        return self._join.save()

    def _outputs(self, joined: Joined) -> Iterator[Output]:
        if joined.results.num_rows:
            yield Output(READY, joined.results.num_rows, joined.results)
        for late in joined.late:
            yield from late_outputs(self._inputs[late.stream], late.rows, late.newest, late.since)
