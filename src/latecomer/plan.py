"""What a stream asks for, as data.

A plan is frozen and small. It is built and checked on the driver, printed by `explain`, and sent
to the workers as it is; a host runs it. Values (filters, new columns) are not part of it: Spark
has computed them before the first stage.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import pyarrow as pa

from latecomer.operators.aggregate import Aggregation
from latecomer.operators.base import Operator
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


@dataclass(frozen=True, slots=True)
class Stage:
    """Operators that run one after the other on rows grouped by one key."""

    key: tuple[str, ...]
    operators: tuple[Operator, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A source, one or several waits, and the stages behind it."""

    source: Source
    waits: tuple[int, ...]
    """Ascending. The last one decides what is late."""
    late: LatePolicy
    stages: tuple[Stage, ...]

    @property
    def wait(self) -> int:
        """The last wait."""
        return self.waits[-1]

    @property
    def aggregation(self) -> Aggregation | None:
        """What rows are aggregated by, if that is what is done with them first."""
        first = self.stages[0].operators[:1]
        return first[0] if first and isinstance(first[0], Aggregation) else None

    @property
    def before_shuffle(self) -> Aggregation | None:
        """What rows can be aggregated by where they are read, before those of a key meet.

        A late row that is to be moved must still be a row. And where a column says which of two
        rows of equal time came first, only who has both can tell.
        """
        found = self.aggregation
        if found is None or self.late == "adjust":
            return None
        minds = any(aggregate.minds_arrival for _, aggregate in found.first.aggregates)
        return None if minds and self.source.arrival else found

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Say what the ready rows look like, given the rows that come in."""
        for stage in self.stages:
            for operator in stage.operators:
                schema = operator.output_schema(schema)
        return schema
