"""A stage: the operators that run on rows grouped by one key, and the streams that come in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from latecomer.operators.base import Chunks, NewColumns, Operator, Running

if TYPE_CHECKING:
    from latecomer.clock.watermark import Clock
    from latecomer.operators.temporal.binary import Binary
    from latecomer.operators.window_join.quality_join import QualityJoin
    from latecomer.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class Meeting(Operator):
    """An operator at which a second stream comes in."""

    carries_columns = False

    operator: Binary
    right: Plan
    """Plan of the second stream. Its last stage runs here, in the buckets of the first stream."""
    rows: pa.Schema
    """The columns of the second stream where it is read."""

    @property
    def label(self) -> str:
        """Text that must not change during the life of a checkpoint."""
        ours = (spec.label for stage in self.right.stages for spec in stage.operators)
        return f"{self.operator.label} with [{', '.join(ours)}]"

    @property
    def keyed(self) -> tuple[str, ...] | None:
        """Key of the first stream; rows with equal keys must be in one bucket."""
        return self.operator.keyed

    @property
    def rights(self) -> tuple[Plan, ...]:
        """The stream that comes in."""
        return (self.right,)

    @property
    def brings(self) -> frozenset[str]:
        """New columns from the second stream, if every bucket has all its rows; otherwise none."""
        if not self.operator.everywhere:
            return frozenset()
        names = self.right.output_schema(self.rows).names
        return frozenset(names) - frozenset(self.operator.on.right)

    def with_rights(self, change: Callable[[Plan], Plan]) -> Meeting:
        """Return this meeting with the plan of the second stream changed."""
        return replace(self, right=change(self.right))

    def passes(self, watermark: int) -> int:
        """Return the time up to which the result is complete, given that of both streams."""
        return self.operator.passes(watermark)

    def complete(self, watermark: int, clock: Clock) -> int:
        """Return the time up to which both streams are complete, given that of the first."""
        return min(watermark, self.right.complete(clock, len(self.right.stages)))

    def led(self, lead: int) -> int:
        """Return how far beyond the newest time both streams can be complete."""
        return min(lead, self.right.lead(len(self.right.stages)))

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns of the result."""
        return self.operator.joined_schema(schema, self.right.output_schema(self.rows))

    def describe(self, schema: pa.Schema) -> str:
        """Return a description of the operator and of how rows of the two streams meet."""
        return self.operator.describe(schema)

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Running:
        """Return the running operator."""
        right = self.right.output_schema(self.rows)
        return self.operator.meet(schema, right, chunks, saved)


@dataclass(frozen=True, slots=True)
class Gathering:
    """A join of disordered streams. It has a stage of its own, which has no operators."""

    operator: QualityJoin
    rights: tuple[Plan, ...]
    """Plans of all streams except the first. Each has one stage, which places its rows."""
    rows: tuple[pa.Schema, ...]
    """Columns of each stream, including the first."""

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns of the result, given those of the first stream."""
        return self.operator.output_schema([schema, *self.rows[1:]])


@dataclass(frozen=True, slots=True)
class Stage:
    """Rows grouped by one key, and what runs on them: a sequence of operators, or one join."""

    key: tuple[str, ...]
    operators: tuple[Operator, ...] = ()
    join: Gathering | None = None
    """A join of several disordered streams, in place of operators."""
    everywhere: bool = False
    """Whether every bucket gets all rows, whatever their key."""
    as_read: bool = False
    """Whether rows stay in the order in which they were read, instead of time order."""

    @property
    def is_free(self) -> bool:
        """Whether no operator here needs a key, so that the key may still be chosen."""
        needs_none = all(operator.keyed is None for operator in self.operators)
        return needs_none and all(right.stages[-1].is_free for right in self.rights)

    @property
    def brings(self) -> frozenset[str]:
        """Columns that operators of this stage add, so that rows reach it without them."""
        return frozenset().union(*(operator.brings for operator in self.operators))

    @property
    def labels(self) -> list[str]:
        """Texts that must not change during the life of a checkpoint."""
        if self.join is not None:
            return [self.join.operator.label]
        return [operator.label for operator in self.operators]

    @property
    def new_columns(self) -> NewColumns:
        """Effect on the state of this stage when the source gets another column."""
        found = {"refused"} if self.join else {each.new_columns for each in self.operators}
        return "refused" if "refused" in found else "null" if "null" in found else "unused"

    @property
    def rights(self) -> tuple[Plan, ...]:
        """Plans of the streams that come in at this stage."""
        if self.join is not None:
            return self.join.rights
        return tuple(right for operator in self.operators for right in operator.rights)

    @property
    def branches(self) -> tuple[Stage, ...]:
        """This stage, and the stages of other streams that run in the same buckets."""
        others = (right.stages[-1].branches for right in self.rights)
        return (self, *(stage for branch in others for stage in branch))

    @property
    def width(self) -> int:
        """Number of sets of chunks that this stage needs, including its branches."""
        return 1 if self.join is not None else sum(len(each.operators) for each in self.branches)

    def with_rights(self, change: Callable[[Plan], Plan]) -> Stage:
        """Return this stage with the plans of all streams that come in changed."""
        return replace(self, operators=tuple(each.with_rights(change) for each in self.operators))

    def with_key(self, key: tuple[str, ...]) -> Stage:
        """Return this stage with another key, also for the streams that come in."""
        rekeyed = self.with_rights(lambda right: right.with_last(right.stages[-1].with_key(key)))
        return replace(rekeyed, key=key)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns of the output."""
        if self.join is not None:
            return self.join.output_schema(schema)
        for operator in self.operators:
            schema = operator.output_schema(schema)
        return schema
