"""A plan: the specification of a stream, as data.

A plan is frozen and small. It is built and checked on the driver, printed by `explain`, sent to the
workers unchanged, and run by a host. Filters and computed columns are not part of it: Spark
evaluates them before the first stage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from latecomer.operators.base import EarlyAggregation, NewColumns, Operator
from latecomer.operators.levels import TARGET_FIELDS

if TYPE_CHECKING:
    from latecomer.clock.policy import ClockPolicy
    from latecomer.clock.watermark import Clock
    from latecomer.plan.source import LatePolicy, Source
    from latecomer.plan.stage import Stage


@dataclass(frozen=True, slots=True)
class Plan:
    """A source, the clock that decides which of its rows are late, and the stages behind it."""

    source: Source
    clock: ClockPolicy
    late: LatePolicy
    stages: tuple[Stage, ...]
    is_late_read: bool = True
    """Whether anyone reads the late rows that are diverted; if not, they may be only counted."""

    @property
    def targets(self) -> tuple[float | None, ...]:
        """The recalls asked for, each of which is reported; None stands for a fixed wait."""
        join = self.stages[0].join
        return self.clock.recalls if join is None else (join.operator.target,)

    @property
    def idle(self) -> int | None:
        """Shortest silence, of all streams, after which the clock advances by itself."""
        found = [plan.clock.idle for plan in self.inputs if plan.clock.idle is not None]
        return min(found, default=None)

    @property
    def first(self) -> Operator | None:
        """The first operator, which decides which rows are late; None if there is none."""
        operators = self.stages[0].operators
        return operators[0] if operators else None

    @property
    def carries_columns(self) -> bool:
        """Whether columns that Spark adds to the rows are still in the output of all operators."""
        operators = (each for stage in self.stages for each in stage.operators)
        return all(each.carries_columns for each in operators)

    @property
    def needs_late_rows(self) -> bool:
        """Whether late rows are needed as rows. If not, they are only counted."""
        return self.late != "drop" and (self.is_late_read or self.late != "divert")

    @property
    def moves_late_rows(self) -> bool:
        """Whether late rows are moved to a later time, and then take part."""
        return self.late == "adjust"

    @property
    def early(self) -> EarlyAggregation | None:
        """Aggregation of rows before the shuffle; None if it is not possible.

        It is not possible where a bucket needs the single rows: to move late ones, to advance the
        clock of their key, or to choose its wait. Nor is it where an arrival column decides which
        of two rows of equal time came first, because only the bucket has both.
        """
        found = None if self.first is None else self.first.early
        if found is None or self.moves_late_rows or not self.clock.is_shared:
            return None
        return None if found.minds_arrival and self.source.arrival else found

    @property
    def with_ready_only(self) -> Plan:
        """This plan if only its ready rows are read.

        Where rows are aggregated before the shuffle, the late ones are then counted, and no row
        travels. Elsewhere rows travel anyway, and nothing changes.
        """
        return self if self.early is None else replace(self, is_late_read=False)

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """This plan and those of all streams that come in, one for each source."""
        rights = (right for stage in self.stages for right in stage.rights)
        return (self, *(plan for right in rights for plan in right.inputs))

    @property
    def is_redacted(self) -> bool:
        """Whether errors and reports must not show rows of any stream that comes in."""
        return any(plan.source.redact for plan in self.inputs)

    def with_last(self, stage: Stage) -> Plan:
        """Return this plan with its last stage replaced."""
        return replace(self, stages=(*self.stages[:-1], stage))

    @property
    def new_columns(self) -> NewColumns:
        """Effect on the state of all stages when the source gets another column."""
        found = {stage.new_columns for stage in self.stages}
        return "refused" if "refused" in found else "null" if "null" in found else "unused"

    def with_clocks(self, change: Callable[[Plan], ClockPolicy]) -> Plan:
        """Return this plan with other clocks for its stream and for all that come in."""
        stages = (
            stage.with_rights(lambda right: right.with_clocks(change)) for stage in self.stages
        )
        return replace(self, clock=change(self), stages=tuple(stages))

    def schema_at(self, at: int, schema: pa.Schema) -> pa.Schema:
        """Return the columns of the rows that reach stage `at`, given those of the source."""
        for stage in self.stages[:at]:
            schema = stage.output_schema(schema)
        return schema

    def complete(self, clock: Clock, at: int) -> int:
        """Return the time up to which rows that reach stage `at` are complete, in all streams."""
        watermark = self.clock.of(clock).watermark
        for stage in self.stages[:at]:
            for operator in stage.operators:
                watermark = operator.passes(operator.complete(watermark, clock))
        return watermark

    def lead(self, at: int) -> int:
        """Return how far beyond the newest time the rows that reach stage `at` can be complete."""
        lead = -self.clock.wait
        for stage in self.stages[:at]:
            for operator in stage.operators:
                lead = operator.led(lead) + operator.leads
        return lead

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns of the ready rows, given those of the source."""
        ready = self.schema_at(len(self.stages), schema)
        return pa.schema([*ready, *TARGET_FIELDS]) if len(self.clock.recalls) > 1 else ready
