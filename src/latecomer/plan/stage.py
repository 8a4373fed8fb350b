"""A stage: what runs on rows grouped by one key, and where other streams come in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from latecomer.operators.base import Operator

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from latecomer.clock.watermark import Clock
    from latecomer.operators.base import Chunks, NewColumns, Running
    from latecomer.operators.temporal.binary import Binary
    from latecomer.operators.window_join.quality_join import QualityJoin
    from latecomer.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class Meeting(Operator):
    """An operator at which a second stream comes in."""

    carries_columns = False

    operator: Binary
    right: Plan
    """The last stage of this plan runs where the meeting is: rows of one key are in one bucket."""
    rows: pa.Schema
    """The columns of the second stream where it is read."""

    @property
    def label(self) -> str:
        """What must not change during the life of a checkpoint."""
        ours = (spec.label for stage in self.right.stages for spec in stage.operators)
        return f"{self.operator.label} with [{', '.join(ours)}]"

    @property
    def keyed(self) -> tuple[str, ...] | None:
        """The key of the first stream whose rows must be together."""
        return self.operator.keyed

    @property
    def rights(self) -> tuple[Plan, ...]:
        """The stream that comes in."""
        return (self.right,)

    @property
    def brings(self) -> frozenset[str]:
        """Columns of the second stream, if all its rows are in all buckets."""
        if not self.operator.everywhere:
            return frozenset()
        names = self.right.output_schema(self.rows).names
        return frozenset(names) - frozenset(self.operator.on.right)

    def with_rights(self, change: Callable[[Plan], Plan]) -> Meeting:
        """Change the plan of the stream that comes in."""
        return replace(self, right=change(self.right))

    def passes(self, watermark: int) -> int:
        """Return how far the result is complete, given how far both streams are."""
        return self.operator.passes(watermark)

    def complete(self, watermark: int, clock: Clock) -> int:
        """Return how far both streams are complete, given how far the first one is."""
        return min(watermark, self.right.complete(clock, len(self.right.stages)))

    def led(self, lead: int) -> int:
        """Return by how much both streams can be complete beyond the newest row."""
        return min(lead, self.right.lead(len(self.right.stages)))

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns of the result."""
        return self.operator.joined_schema(schema, self.right.output_schema(self.rows))

    def describe(self, schema: pa.Schema) -> str:
        """Name the operator, and say how rows of the two streams meet."""
        return self.operator.describe(schema)

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Running:
        """Make the running operator."""
        right = self.right.output_schema(self.rows)
        return self.operator.meet(schema, right, chunks, saved)


@dataclass(frozen=True, slots=True)
class Gathering:
    """A join of disordered streams. It has a stage of its own, in place of operators."""

    operator: QualityJoin
    rights: tuple[Plan, ...]
    """The streams but for the first. Each has one stage, which says where its rows go."""
    rows: tuple[pa.Schema, ...]
    """The columns of each stream, the first one included."""

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns of the result, given those of the first stream."""
        return self.operator.output_schema([schema, *self.rows[1:]])


@dataclass(frozen=True, slots=True)
class Stage:
    """What runs on rows grouped by one key: operators one after the other, or one join."""

    key: tuple[str, ...]
    operators: tuple[Operator, ...] = ()
    join: Gathering | None = None
    """Where several disordered streams come in at once."""
    everywhere: bool = False
    """All rows are in all buckets, whatever their key."""
    as_read: bool = False
    """Rows stay in the order in which they were read, instead of that of time."""

    @property
    def is_free(self) -> bool:
        """Whether what runs here runs in any bucket, so that the key may still be chosen."""
        needs_none = all(operator.keyed is None for operator in self.operators)
        return needs_none and all(right.stages[-1].is_free for right in self.rights)

    @property
    def brings(self) -> frozenset[str]:
        """Columns that rows do not have yet where they reach the stage."""
        return frozenset().union(*(operator.brings for operator in self.operators))

    @property
    def labels(self) -> list[str]:
        """What must not change during the life of a checkpoint."""
        if self.join is not None:
            return [self.join.operator.label]
        return [operator.label for operator in self.operators]

    @property
    def new_columns(self) -> NewColumns:
        """What becomes of what is held here when the source gets another column."""
        found = {"refused"} if self.join else {each.new_columns for each in self.operators}
        return "refused" if "refused" in found else "null" if "null" in found else "unused"

    @property
    def rights(self) -> tuple[Plan, ...]:
        """The plans of the streams that come in here."""
        if self.join is not None:
            return self.join.rights
        return tuple(right for operator in self.operators for right in operator.rights)

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plans of all streams that come in, those that come in to them included."""
        return tuple(plan for right in self.rights for plan in right.inputs)

    @property
    def branches(self) -> tuple[Stage, ...]:
        """This stage, and those that run beside it for streams that come in."""
        others = (right.stages[-1].branches for right in self.rights)
        return (self, *(stage for branch in others for stage in branch))

    @property
    def width(self) -> int:
        """How many sets of chunks what runs here needs, streams that come in included."""
        return 1 if self.join is not None else sum(len(each.operators) for each in self.branches)

    def with_rights(self, change: Callable[[Plan], Plan]) -> Stage:
        """Change the plans of all streams that come in."""
        return replace(self, operators=tuple(each.with_rights(change) for each in self.operators))

    def with_key(self, key: tuple[str, ...]) -> Stage:
        """Give the stage another key, and with it the streams that come in."""
        rekeyed = self.with_rights(lambda right: right.with_last(right.stages[-1].with_key(key)))
        return replace(rekeyed, key=key)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns of what comes out."""
        if self.join is not None:
            return self.join.output_schema(schema)
        for operator in self.operators:
            schema = operator.output_schema(schema)
        return schema
