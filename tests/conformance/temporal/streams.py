"""Streams of a query, and their builder."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from latecomer.clock.policy import OneClock
from latecomer.operators.base import Operator
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.binary import Binary
from latecomer.plan import LatePolicy, Meeting, Plan, Source, Stage
from latecomer.time import TimeColumn
from tests.conformance.temporal.events import KEY, Event
from tests.conformance.temporal.rows import Column, Columns, Payloads, Row, payload, same

TIME, END = TimeColumn("time", "us"), TimeColumn("end", "us")
LATE: dict[str, LatePolicy] = {"Throw": "raise", "Drop": "divert", "Adjust": "adjust"}
RIGHT = "r"
"""The payload of the right stream, if it needs another name than that of the left stream."""

Asked = dict[str, Any]
"""One step of a query."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A chain of operators."""

    feeds: tuple[int, ...]
    """The input that it reads, followed by the inputs of the streams that join it."""
    operators: tuple[Operator, ...]
    groups: tuple[str, ...]

    def then(self, *operators: Operator) -> "Stream":
        """Add operators."""
        return replace(self, operators=(*self.operators, *operators))

    def columns(self, *columns: Column) -> "Stream":
        """Compute columns, and keep those of groups."""
        return self.then(Columns((*columns, *map(same, self.groups))))

    def payloads(self, of: Callable[[Row], list[Any]]) -> "Stream":
        """Compute any number of payloads for each row; columns of operators are removed."""
        return self.then(Payloads(of, self.groups))

    def payload(self, of: Callable[[Row], Any] = payload) -> "Stream":
        """Compute the payload of each row, or keep it."""
        return self.payloads(lambda row: [of(row)])


@dataclass(frozen=True, slots=True)
class Builder:
    """Makes streams from inputs."""

    rows: pa.Schema
    """The schema of the input."""
    reader: Operator
    """Gives rows their lifetimes."""
    late: LatePolicy
    kind: pa.DataType
    """The type of aggregated values."""
    inputs: list[list[Event]]
    """The inputs, followed by those that the query adds itself."""

    def source(self, number: int) -> Stream:
        """Return a stream of an input."""
        groups = (KEY,) if KEY in self.rows.names else ()
        return Stream((number,), (Sort(TIME), self.reader), groups)

    def plan(self, stream: Stream) -> Plan:
        """Return a stream as a plan."""
        return Plan(Source(TIME), OneClock((0,)), self.late, (Stage((), stream.operators),))

    def meet(self, left: Stream, right: Stream, operator: Binary) -> Stream:
        """Join another stream to a stream."""
        meeting = Meeting(operator, self.plan(right), self.rows)
        return replace(left.then(meeting), feeds=left.feeds + right.feeds)
