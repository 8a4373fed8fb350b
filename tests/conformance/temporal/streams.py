"""Streams of a query, and what all of them have in common."""

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
"""The payload of the right stream, where it must not be called as that of the left one."""

Asked = dict[str, Any]
"""One step of a query."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Operators one after the other."""

    feeds: tuple[int, ...]
    """Which input it reads; then, which ones are read by the streams that come in to it."""
    operators: tuple[Operator, ...]
    groups: tuple[str, ...]

    def then(self, *operators: Operator) -> "Stream":
        """Add operators."""
        return replace(self, operators=(*self.operators, *operators))

    def columns(self, *columns: Column) -> "Stream":
        """Compute columns; those of groups are kept."""
        return self.then(Columns((*columns, *map(same, self.groups))))

    def payloads(self, of: Callable[[Row], list[Any]]) -> "Stream":
        """Make payloads, any number of each row; columns of operators are left behind."""
        return self.then(Payloads(of, self.groups))

    def payload(self, of: Callable[[Row], Any] = payload) -> "Stream":
        """Make the payload of each row, or keep it."""
        return self.payloads(lambda row: [of(row)])


@dataclass(frozen=True, slots=True)
class Builder:
    """Makes streams of inputs."""

    rows: pa.Schema
    """What comes in."""
    reader: Operator
    """Gives rows their lifetimes."""
    late: LatePolicy
    kind: pa.DataType
    """What the values are that are aggregated."""
    inputs: list[list[Event]]
    """The inputs; those that a query makes up are added."""

    def source(self, number: int) -> Stream:
        """Read an input."""
        groups = (KEY,) if KEY in self.rows.names else ()
        return Stream((number,), (Sort(TIME), self.reader), groups)

    def plan(self, stream: Stream) -> Plan:
        """Say the same as a plan."""
        return Plan(Source(TIME), OneClock((0,)), self.late, (Stage((), stream.operators),))

    def meet(self, left: Stream, right: Stream, operator: Binary) -> Stream:
        """Let another stream come in."""
        meeting = Meeting(operator, self.plan(right), self.rows)
        return replace(left.then(meeting), feeds=left.feeds + right.feeds)
