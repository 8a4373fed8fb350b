"""What a stream asks for, as data.

A plan is frozen and small. It is built and checked on the driver, printed by `explain`, and sent
to the workers as it is; a host runs it. Values (filters, new columns) are not part of it: Spark
has computed them before the first stage.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from latecomer.operators.levels import TARGET_FIELDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from latecomer.clock.policy import ClockPolicy
    from latecomer.clock.watermark import Clock
    from latecomer.operators.base import EarlyAggregation, NewColumns, Operator
    from latecomer.plan.source import LatePolicy, Source
    from latecomer.plan.stage import Stage


@dataclass(frozen=True, slots=True)
class Plan:
    """A source, the clock by which its rows are late, and the stages behind it."""

    source: Source
    clock: ClockPolicy
    late: LatePolicy
    stages: tuple[Stage, ...]

    @property
    def targets(self) -> tuple[float | None, ...]:
        """The targets whose recall is reported; None stands for a fixed wait."""
        join = self.stages[0].join
        return self.clock.recalls if join is None else (join.operator.target,)

    @property
    def idle(self) -> int | None:
        """After how long a silence time goes on by itself: the shortest of all streams."""
        found = [plan.clock.idle for plan in self.inputs if plan.clock.idle is not None]
        return min(found, default=None)

    @property
    def first(self) -> Operator | None:
        """The operator that decides which rows are late: the first one."""
        operators = self.stages[0].operators
        return operators[0] if operators else None

    @property
    def carries_columns(self) -> bool:
        """Whether columns that Spark adds to the rows are there behind all operators."""
        operators = (each for stage in self.stages for each in stage.operators)
        return all(each.carries_columns for each in operators)

    @property
    def needs_late_rows(self) -> bool:
        """Whether a late row must still be a row when it is found late; else it is only counted."""
        return self.late != "drop"

    @property
    def moves_late_rows(self) -> bool:
        """Whether late rows take part after all, at another time."""
        return self.late == "adjust"

    @property
    def early(self) -> EarlyAggregation | None:
        """How rows are aggregated where they are read, before those of a key meet; None if not.

        A late row that is to be moved must still be a row, and so must one that moves the clock of
        its key, or by which a bucket decides how long to wait. And where a column says which of two
        rows of equal time came first, only a bucket that has both knows.
        """
        found = None if self.first is None else self.first.early
        if found is None or self.moves_late_rows or not self.clock.is_shared:
            return None
        return None if found.minds_arrival and self.source.arrival else found

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """This plan and those of all streams that come in: one for each source of rows."""
        return (self, *(plan for stage in self.stages for plan in stage.inputs))

    def with_last(self, stage: Stage) -> Plan:
        """Put another stage in the place of the last one."""
        return replace(self, stages=(*self.stages[:-1], stage))

    @property
    def new_columns(self) -> NewColumns:
        """What becomes of what is held when the source gets another column."""
        found = {stage.new_columns for stage in self.stages}
        return "refused" if "refused" in found else "null" if "null" in found else "unused"

    def with_clocks(self, change: Callable[[Plan], ClockPolicy]) -> Plan:
        """Give this stream, and all that come in to it, other clocks."""
        stages = (
            stage.with_rights(lambda right: right.with_clocks(change)) for stage in self.stages
        )
        return replace(self, clock=change(self), stages=tuple(stages))

    def schema_at(self, at: int, schema: pa.Schema) -> pa.Schema:
        """Return the columns of the rows that reach stage `at`, given those that come in."""
        for stage in self.stages[:at]:
            schema = stage.output_schema(schema)
        return schema

    def complete(self, clock: Clock, at: int) -> int:
        """Return how far the rows that reach stage `at` are complete: those of all streams."""
        watermark = self.clock.of(clock).watermark
        for stage in self.stages[:at]:
            for operator in stage.operators:
                watermark = operator.passes(operator.complete(watermark, clock))
        return watermark

    def lead(self, at: int) -> int:
        """Return by how much the rows that reach stage `at` can be complete beyond the newest."""
        lead = -self.clock.wait
        for stage in self.stages[:at]:
            for operator in stage.operators:
                lead = operator.led(lead) + operator.leads
        return lead

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns of the ready rows, given the rows that come in."""
        ready = self.schema_at(len(self.stages), schema)
        return pa.schema([*ready, *TARGET_FIELDS]) if len(self.clock.recalls) > 1 else ready
