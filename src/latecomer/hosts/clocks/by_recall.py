"""Waits that follow from the recall that is asked for, and a chain for each recall.

    clock ─▶ waits chosen before ─▶ a watermark for each recall ─▶ a chain for each
    rows  ─▶ how long one would have had to wait for each ─▶ what is remembered ─▶ the next waits

**A wait is chosen at the end of a step, and holds for the next.** In a micro-batch the clock comes
first, so it is known exactly how far behind it each row came. So is the wait that would have been
enough: the operator knows the last watermark at which a row is in time (`deadlines`). Rows of the
very first micro-batch have no delay, because there was no clock. `waits.adaptation` chooses the
waits. The wait that is reported is how far the watermark was behind the newest time.

**Each bucket has waits of its own**, which follow from its rows. The same micro-batches give the
same waits and the same results, whichever buckets were awake and wherever the query was restarted.
But with another number of buckets other rows are late.

**Several recalls are several chains**, each with a watermark of its own; the last decides what is
late. Their first operators share what is held (`Operator.start_levels`).

Holds: every row is used by the last level or late, exactly once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, concat
from latecomer.clock.watermark import Clock
from latecomer.hosts.chain import arranged
from latecomer.hosts.clocks.base import RunningPolicy, Turn
from latecomer.hosts.late import found_late
from latecomer.hosts.output import DROPPED, READY, Output
from latecomer.hosts.recall_report import Measured, report
from latecomer.time import FOREVER, NEVER, whole_millis
from latecomer.waits.adaptation import Adaptation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from latecomer.hosts.chain import Chain
    from latecomer.operators.base import Operator
    from latecomer.plan import Plan
    from latecomer.time import Times

_NO_TIMES = np.empty(0, np.int64)


class ByRecall(RunningPolicy):
    """A watermark for each recall, from the waits that the bucket chooses."""

    def __init__(
        self, plan: Plan, first: Operator, schema: pa.Schema, saved: bytes | None = None
    ) -> None:
        super().__init__(plan)
        self._first = first
        self._schema = schema
        self._recalls = plan.clock.recalls
        self._last = len(self._recalls) - 1
        self._adaptation = Adaptation(self._recalls, saved, plan.clock.within)
        self._late: list[Output] = []
        self._micros: Times | None = None
        self._marked_schema = plan.output_schema(schema)
        self._chains: dict[int, Chain] = {}
        self._repeated: dict[int, tuple[pa.Array, pa.Array]] = {}

    def turns(
        self, clock: Clock, inputs: Sequence[Sequence[Batch]], states: Sequence[Batch]
    ) -> Iterator[Turn]:
        """Run all levels. Of the clock, only `newest` and the end of the stream are used."""
        self._micros = None
        until = FOREVER if clock.watermark == FOREVER else clock.newest
        marks = self._adaptation.advance(until)
        # With a horizon, a wait leads to an answer, which late rows correct until the horizon.
        corrected = self._plan.clock.horizon or 0
        clocks = [Clock(clock.newest, _behind(mark, corrected)) for mark in marks]
        early = self._first.early
        if self._last and early is not None and not self._plan.moves_late_rows and inputs[0]:
            # Rows are aggregated once, for all levels.
            rows = concat(arranged(self._plan, 0, inputs[0], self._schema), self._schema)
            inputs = [[]]
            if rows.num_rows:
                states = [early.partial(rows)]
                if self._plan.needs_late_rows:
                    self._late += found_late(self._plan, clocks[-1], rows)
        for level, own in enumerate(clocks):
            yield Turn(level, own, self._needed(level, own, inputs), states)

    def _needed(
        self, level: int, clock: Clock, inputs: Sequence[Sequence[Batch]]
    ) -> Sequence[Sequence[Batch]]:
        """Return the rows that a level must be given; the last one takes in the rows for all."""
        is_last = level == self._last
        if is_last or self._first.levels_take == "all rows" or self._plan.moves_late_rows:
            return inputs
        times = self._times(inputs)
        at = times == clock.watermark
        if not at.any():
            return [[]]
        return [[concat(inputs[0], self._schema).filter(pa.array(at))]]

    def _times(self, inputs: Sequence[Sequence[Batch]]) -> Times:
        """Return the times of the rows of this micro-batch."""
        if self._micros is None:
            parts = [self._plan.source.time.micros(batch) for batch in inputs[0]]
            self._micros = parts[0] if len(parts) == 1 else np.concatenate([_NO_TIMES, *parts])
        return self._micros

    def plan_of(self, slot: int) -> Plan:
        """Return the plan of a level: only the last one emits late rows.

        It may still use rows that the others miss.
        """
        return self._plan if slot == self._last else replace(self._plan, late="drop")

    def ran(self, turn: Turn, chain: Chain) -> None:
        """Record the chain of a level; what it holds is counted after all levels have run."""
        self._chains[turn.slot] = chain

    def output(self, turn: Turn, output: Output) -> Output | None:
        """Mark ready rows with their recall; the last level decides what is late."""
        if output.name == READY:
            return self._marked(output, turn.slot)
        is_late = output.batch is not None or output.name == DROPPED
        return output if turn.slot == self._last and is_late else None

    def after(self, clock: Clock, inputs: Sequence[Sequence[Batch]]) -> Iterator[Output]:
        """Emit the late rows of shared states, learn from all rows, and report."""
        late, self._late = self._late, []
        yield from late
        times = self._times(inputs)
        if len(times):
            yield from self._learn(clock, times)

    def due(self, chains: Mapping[int, Chain]) -> int | None:
        """Return the smallest `newest` at which there will be something to do, if any."""
        # The plan has no wait of its own, so what a chain returns here is a watermark.
        found = [
            min(due + wait, FOREVER)
            for level, wait in enumerate(self._adaptation.waits or ())
            if level in chains and (due := chains[level].due()) is not None
        ]
        return min(found, default=None)

    def save(self) -> bytes:
        """Return the state of the adaptation."""
        return self._adaptation.save()

    def _marked(self, output: Output, level: int) -> Output:
        """Add the recall, its wait and whether it is the last, if there are several recalls."""
        if not self._last or output.batch is None:
            return output
        wait = self._adaptation.waited[level]
        waited = pa.scalar(None if wait is None else whole_millis(wait), pa.int64())
        recall, is_final = self._constants(level, output.rows)
        marks = (recall, pa.repeat(waited, output.rows), is_final)
        rows = pa.table([*output.batch.columns, *marks], schema=self._marked_schema)
        return Output(READY, output.rows, rows)

    def _constants(self, level: int, rows: int) -> tuple[pa.Array, pa.Array]:
        """Return the recall of a level and whether it is the last, once for each row."""
        if level not in self._repeated or len(self._repeated[level][0]) < rows:
            values = (self._recalls[level], level == self._last)
            self._repeated[level] = (pa.repeat(values[0], rows), pa.repeat(values[1], rows))
        recall, is_final = self._repeated[level]
        return recall.slice(0, rows), is_final.slice(0, rows)

    def _learn(self, clock: Clock, times: Times) -> Iterator[Output]:
        """Learn the wait that each row would have needed, and report."""
        ended = [(each.periods, each.short) for each in self._adaptation.reserves]
        late = self._adaptation.observe(clock.newest, times, self._first.deadlines)
        measured = [
            Measured(
                recall,
                wait,
                produced=len(times) - late[level],
                missed=late[level],
                extrapolated=None if wait is None else self._adaptation.extrapolated(level, wait),
                held=self._chains[level].held,
                **self._ended(level, ended),
            )
            for level, (recall, wait) in enumerate(
                zip(self._recalls, self._adaptation.waited, strict=True)
            )
        ]
        yield from report(max(clock.newest, int(times.max())), measured)

    def _ended(self, level: int, before: Sequence[tuple[int, int]]) -> dict[str, int]:
        """Return the periods that have ended since `before`, and those of them that fell short."""
        if not before:
            return {}
        reserve, (periods, short) = self._adaptation.reserves[level], before[level]
        return {"periods": reserve.periods - periods, "short": reserve.short - short}


def _behind(mark: int, by: int) -> int:
    """Return a watermark moved back, unless it has not begun or is at the end."""
    return mark if mark in (NEVER, FOREVER) else max(mark - by, NEVER)
