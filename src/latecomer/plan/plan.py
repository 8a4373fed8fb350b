"""What a stream asks for, as data.

A plan is frozen and small. It is built and checked on the driver, printed by `explain`, and sent
to the workers as it is; a host runs it. Values (filters, new columns) are not part of it: Spark
has computed them before the first stage.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import pyarrow as pa

from latecomer.clock.watermark import Clock
from latecomer.operators.base import Chunks, Operator, Running
from latecomer.operators.in_order import InOrder
from latecomer.operators.levels import TARGET_FIELDS
from latecomer.operators.temporal.binary import Binary
from latecomer.operators.temporal.specification import Temporal
from latecomer.operators.window_join.quality_join import QualityJoin
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.time import TimeColumn

LatePolicy = Literal["divert", "drop", "adjust", "raise"]
LATE_POLICIES: tuple[LatePolicy, ...] = get_args(LatePolicy)


@dataclass(frozen=True, slots=True)
class Source:
    """How to read the rows of a disordered stream."""

    time: TimeColumn
    key: tuple[str, ...] = ()
    arrival: TimeColumn | None = None
    ahead: int | None = None
    """Rows further ahead of their arrival than this do not move the clock."""
    end: TimeColumn | None = None
    """Where lifetimes end."""
    begin: TimeColumn | None = None
    """Where lifetimes begin, if begins and ends are rows of their own; `time` is then the one or
    the other."""
    rows: pa.Schema | None = None
    """What rows look like, where that must be known before the first has come."""
    number: int = 0
    """Which of the streams that meet in a query this is."""
    clock: tuple[str, ...] = ()
    """Columns whose every value has a clock of its own; none if there is one clock for all."""
    idle: int | None = None
    """After how long a silence time goes on by itself. And a key with a clock of its own is no
    further than this behind the newest of all keys."""

    @property
    def late(self) -> str:
        """Name the output of its late rows."""
        return f"late_{self.number}" if self.number else "late"


@dataclass(frozen=True, slots=True)
class Meeting(Operator):
    """An operator at which a second stream comes in; an operator like any other."""

    carries_columns = False

    operator: Binary
    right: "Plan"
    """The last stage of this plan runs where the meeting is: rows of one key are in one bucket."""
    rows: pa.Schema
    """What the rows of the second stream look like where they are read."""

    @property
    def label(self) -> str:
        """What must not change during the life of a checkpoint."""
        ours = [spec.label for stage in self.right.stages for spec in stage.operators]
        return f"{self.operator.label} with {ours}"

    @property
    def keyed(self) -> tuple[str, ...] | None:
        """The key of the first stream; the second one has columns of its own for it."""
        return self.operator.keyed

    def describe(self, schema: pa.Schema) -> str:
        """Say how the streams meet."""
        return self.operator.describe(schema)

    def passes(self, watermark: int) -> int:
        """Tell up to where the result is complete, given up to where both streams are."""
        return self.operator.passes(watermark)

    def complete(self, clock: Clock) -> int:
        """Tell up to where the stream that comes in is complete."""
        return self.right.complete(clock, len(self.right.stages))

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Say what comes out."""
        return self.operator.joined_schema(schema, self.right.output_schema(self.rows))

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Running:
        """Make the running operator."""
        right = self.right.output_schema(self.rows)
        return self.operator.meet(schema, right, chunks, saved)


@dataclass(frozen=True, slots=True)
class Gathering(Operator):
    """An operator at which disordered streams come in, all at once; nothing is before it."""

    operator: QualityJoin
    rights: tuple["Plan", ...]
    """The streams but for the first. Each has one stage, which says where its rows go."""
    rows: tuple[pa.Schema, ...]
    """What the rows of each stream look like, the first one included."""

    @property
    def label(self) -> str:
        """What must not change during the life of a checkpoint."""
        return self.operator.label

    def passes(self, watermark: int) -> int:
        """Tell up to where the result is complete: a recall promises nothing."""
        return watermark

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Say what comes out."""
        return self.operator.output_schema([schema, *self.rows[1:]])

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Running:
        """Refuse: it takes a stage of its own, `latecomer.hosts.gathered`."""
        message = f"{self.label} is not driven by watermarks"
        raise AssertionError(message)


@dataclass(frozen=True, slots=True)
class Stage:
    """Operators that run one after the other on rows grouped by one key."""

    key: tuple[str, ...]
    operators: tuple[Operator, ...]
    everywhere: bool = False
    """All rows are in all buckets, whatever their key."""
    as_read: bool = False
    """Rows stay in the order in which they were read, instead of that of time."""

    @property
    def gathering(self) -> Gathering | None:
        """Where several disordered streams come in at once, if they do."""
        first = self.operators[:1]
        return first[0] if first and isinstance(first[0], Gathering) else None

    @property
    def rights(self) -> tuple["Plan", ...]:
        """The plans of the streams that come in here."""
        if self.gathering is not None:
            return self.gathering.rights
        return tuple(meeting.right for meeting in self.meetings.values())

    @property
    def meetings(self) -> dict[int, Meeting]:
        """Where other streams come in: the number of the operator, and what it is."""
        found = enumerate(self.operators)
        return {at: operator for at, operator in found if isinstance(operator, Meeting)}

    @property
    def inputs(self) -> tuple["Plan", ...]:
        """The plans of all streams that come in, those that come in to them included."""
        return tuple(plan for right in self.rights for plan in right.inputs)

    @property
    def branches(self) -> tuple["Stage", ...]:
        """This stage, and those that run beside it for streams that come in."""
        others = (right.stages[-1].branches for right in self.rights)
        return (self, *(stage for branch in others for stage in branch))


@dataclass(frozen=True, slots=True)
class Plan:
    """A source, one or several waits, and the stages behind it."""

    source: Source
    waits: tuple[int, ...]
    """Ascending. The last one decides what is late."""
    late: LatePolicy
    stages: tuple[Stage, ...]
    recalls: tuple[float, ...] = ()
    """Ascending. Instead of waits, what share of the rows is to be in time: `hosts.adapting`."""

    @property
    def targets(self) -> tuple[float | None, ...]:
        """Tell of which targets the recall is reported; None stands for a fixed wait."""
        gathering = self.stages[0].gathering
        return self.recalls if gathering is None else (gathering.operator.target,)

    @property
    def has_levels(self) -> bool:
        """Tell whether there are several answers: after several waits, or for several recalls."""
        return max(len(self.waits), len(self.recalls)) > 1

    @property
    def wait(self) -> int:
        """The last wait."""
        return self.waits[-1]

    @property
    def idle(self) -> int | None:
        """After how long a silence time goes on by itself: the shortest of all streams."""
        found = [plan.source.idle for plan in self.inputs if plan.source.idle is not None]
        return min(found, default=None)

    @property
    def in_order(self) -> InOrder | None:
        """What checks that rows come in order, if they are said to."""
        first = self.stages[0].operators[:1]
        return first[0] if first and isinstance(first[0], InOrder) else None

    @property
    def aggregation(self) -> Aggregation | None:
        """What rows are aggregated by, if that is what is done with them first."""
        first = self.stages[0].operators[:1]
        return first[0] if first and isinstance(first[0], Aggregation) else None

    @property
    def before_shuffle(self) -> Aggregation | None:
        """What rows can be aggregated by where they are read, before those of a key meet.

        A late row that is to be moved must still be a row, and so must one that moves the clock of
        its key, or where the bucket decides how long to wait. And where a column says which of two
        rows of equal time came first, only who has both can tell.
        """
        found = self.aggregation
        if found is None or self.late == "adjust" or self.source.clock or self.recalls:
            return None
        minds = any(aggregate.minds_arrival for _, aggregate in found.first.aggregates)
        return None if minds and self.source.arrival else found

    @property
    def inputs(self) -> tuple["Plan", ...]:
        """This plan and those of all streams that come in: one for each source of rows."""
        return (self, *(plan for stage in self.stages for plan in stage.inputs))

    def schema_at(self, at: int, schema: pa.Schema) -> pa.Schema:
        """Say what the rows that reach stage `at` look like, given the rows that come in."""
        for stage in self.stages[:at]:
            for operator in stage.operators:
                schema = operator.output_schema(schema)
        return schema

    def complete(self, clock: Clock, at: int) -> int:
        """Tell up to where the rows that reach stage `at` are complete: those of all streams."""
        watermark = clock.watermark if self.recalls else clock.with_wait(self.wait).watermark
        for stage in self.stages[:at]:
            for operator in stage.operators:
                if isinstance(operator, Meeting):
                    watermark = min(watermark, operator.complete(clock))
                watermark = operator.passes(watermark)
        return watermark

    def lead(self, at: int) -> int:
        """Tell by how much the rows that reach stage `at` can be complete beyond the newest."""
        lead = -self.wait
        for stage in self.stages[:at]:
            for operator in stage.operators:
                lead = led(operator, lead)
        return lead

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Say what the ready rows look like, given the rows that come in."""
        ready = self.schema_at(len(self.stages), schema)
        return pa.schema([*ready, *TARGET_FIELDS]) if len(self.recalls) > 1 else ready


def led(operator: Operator, lead: int) -> int:
    """Tell by how much what an operator puts out can be complete beyond the newest."""
    if isinstance(operator, Meeting):
        return min(lead, operator.right.lead(len(operator.right.stages)))
    return lead + operator.leads if isinstance(operator, Temporal) else lead
