"""A stage whose wait follows from the recall that is asked for.

    clock ─▶ waits chosen before ─▶ a watermark for each recall ─▶ a RunningStage for each
    rows  ─▶ how long one would have had to wait for each ─▶ what is remembered ─▶ the next waits

**A wait is chosen at the end of a step, and holds for the next.** In a micro-batch the clock comes
first, so how far behind it each row came is known exactly, and so is the wait that would have been
enough: the row's delay; for a row that goes to a window, how far the clock is past the end of the
window, the first one if it is in several. Rows of the very first micro-batch have no delay, because
there was no clock. What follows from it all: `disorder.adaptation`.

**Each bucket has waits of its own**, which follow from its rows. The same micro-batches give the
same waits and the same results, whoever was awake and wherever it was restarted. But with another
number of buckets other rows are late.

**Several recalls are several stages**, each with a watermark of its own; the last decides what is
late. Only what rows are made into before they go to windows is shared.

Holds: every row is used by the last level or late, exactly once.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, concat
from latecomer.clock.watermark import Clock
from latecomer.hosts.envelope import ADAPTING, FORMAT, check_format, check_query, opened
from latecomer.hosts.recall_report import Measured, report
from latecomer.hosts.stage import Output, RunningStage, arranged, late_rows
from latecomer.operators.levels import TARGET_FIELDS
from latecomer.time import FOREVER, NEVER, minus
from latecomer.waits.adaptation import Adaptation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from latecomer.batch import Positions
    from latecomer.operators.base import Chunks
    from latecomer.plan.plan import Plan
    from latecomer.time import Times


class AdaptingStage:
    """The only stage of a plan with recalls; it is driven like a `RunningStage`."""

    def __init__(
        self,
        plan: Plan,
        schema: pa.Schema | None,
        chunks: Callable[[int], Sequence[Chunks]],
        saved: bytes | None = None,
    ) -> None:
        """Begin with nothing known, or where `saved` left off.

        Args:
            plan: What the stream asks for; it has one stage.
            schema: The columns of the rows; None if none have come and the saved ones will do.
            chunks: Makes the chunks of a level, given its number.
            saved: What `save` returned.
        """
        self._plan = plan
        levels = range(len(plan.recalls))
        parts: list[bytes | None] = [None for _ in (None, *levels)]
        if saved is not None:
            parts = self._load(saved)
        self._adaptation = Adaptation(plan.recalls, parts[0])
        # The last level decides what is late; what others miss it may still have.
        dropping = replace(plan, late="drop")
        self._levels = [
            RunningStage(plan if level == levels[-1] else dropping, 0, schema, chunks(level), part)
            for level, part in zip(levels, parts[1:], strict=True)
        ]

    def step(
        self, clock: Clock, inputs: Sequence[Sequence[Batch]], states: Sequence[Batch] = ()
    ) -> Iterator[Output]:
        """Run one micro-batch. Of the clock only what is newest counts, and whether all ended."""
        until = FOREVER if clock.watermark == FOREVER else clock.newest
        marks = self._adaptation.advance(until)
        batches = inputs[0]
        yield from self._run([Clock(clock.newest, mark) for mark in marks], batches)
        if sum(batch.num_rows for batch in batches):
            times = np.concatenate([self._plan.source.time.micros(batch) for batch in batches])
            yield from self._learn(clock, times)

    def due(self) -> int | None:
        """Tell the smallest `newest` at which there will be something to do, if any."""
        # The plan has no wait of its own: a stage tells the watermark at which it has to do.
        found = [
            due + wait
            for stage, wait in zip(self._levels, self._waits, strict=True)
            if wait is not None and (due := stage.due()) is not None
        ]
        return min(found, default=None)

    def save(self) -> bytes:
        """Write down all that is not in the chunks."""
        parts = [self._adaptation.save(), *(stage.save() for stage in self._levels)]
        header = {"format": FORMAT, "query": self._query, "sizes": [len(p) for p in parts]}
        return b"\n".join([ADAPTING, json.dumps(header).encode(), b"".join(parts)])

    @property
    def _waits(self) -> Sequence[int | None]:
        return self._adaptation.waits or [None for _ in self._levels]

    @property
    def _query(self) -> dict[str, list[float]]:
        """What must not change; all else is told by the stages."""
        return {"recall": list(self._plan.recalls)}

    def _load(self, saved: bytes) -> list[bytes | None]:
        first, _, rest = opened(saved, ADAPTING).partition(b"\n")
        header = json.loads(first)
        check_format(header["format"])
        check_query(header["query"], self._query)
        stops = [0, *accumulate(header["sizes"])]
        return [rest[start:stop] for start, stop in pairwise(stops)]

    def _run(self, clocks: list[Clock], batches: Sequence[Batch]) -> Iterator[Output]:
        aggregation, last = self._plan.aggregation, len(self._levels) - 1
        states: list[Batch] = []
        if last and aggregation is not None and self._plan.late != "adjust" and batches:
            # Rows are made into states once, for all levels.
            schema = batches[0].schema
            rows = concat(arranged(self._plan, batches, schema), schema)
            batches = []
            if rows.num_rows:
                states = [aggregation.partial(rows)]
                if self._plan.late != "drop":
                    yield from late_rows(self._plan, clocks[-1], rows)
        for level, (stage, clock) in enumerate(zip(self._levels, clocks, strict=True)):
            for output in stage.step(clock, [batches], states):
                if output.name == "ready":
                    yield self._told(output, level)
                elif level == last and (output.batch is not None or output.name == "dropped"):
                    yield output

    def _told(self, output: Output, level: int) -> Output:
        """Say for which of several recalls rows are ready."""
        last = len(self._levels) - 1
        if not last or output.batch is None:
            return output
        values = (self._plan.recalls[level], self._waits[level], level == last)
        rows = output.batch
        for field, value in zip(TARGET_FIELDS, values, strict=True):
            column = pa.repeat(pa.scalar(value, field.type), output.rows)
            rows = rows.append_column(field, column)
        return replace(output, batch=rows)

    def _learn(self, clock: Clock, times: Times) -> Iterator[Output]:
        """Remember how long one would have had to wait, and report."""
        missed, newest = self._missed(times), int(times.max())
        waits = self._waits
        if clock.newest == NEVER:
            self._adaptation.begin(int(self._needed(newest, times).max()))
            waits = [None for _ in waits]
        else:
            self._adaptation.learn(self._needed(clock.newest, times), missed)
        measured = [
            Measured(
                recall,
                wait,
                produced=int(np.count_nonzero(missed <= level)),
                missed=int(np.count_nonzero(missed > level)),
                extrapolated=None if wait is None else self._adaptation.extrapolated(wait),
            )
            for level, (recall, wait) in enumerate(zip(self._plan.recalls, waits, strict=True))
        ]
        yield from report(max(clock.newest, newest), measured)

    def _missed(self, times: Times) -> Positions:
        """Count, for each row, the levels for which it came too late."""
        aggregation = self._plan.aggregation
        missed = np.zeros(len(times), np.int64)
        for mark in self._adaptation.watermarks:
            if mark == NEVER:
                continue
            missed += (
                times < mark
                if aggregation is None
                else aggregation.windows.first_ends(aggregation.windows.panes(times)) <= mark
            )
        return missed

    def _needed(self, newest: int, times: Times) -> Times:
        """Tell how long one would have had to wait for each row, given what was newest."""
        aggregation = self._plan.aggregation
        if aggregation is None:
            return np.where(times < newest, minus(newest, times), 0)
        ends = aggregation.windows.first_ends(aggregation.windows.panes(times))
        # A window is closed when the watermark reaches its end.
        return np.maximum(minus(newest, ends) + 1, 0)
