"""Push rows and watermarks into an operator, and record its output.

A row is written as a number, its time. It can have a name too, to distinguish rows of equal time:
`rows((5, "a"), (5, "b"))`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from latecomer.batch import Batch
from latecomer.clock.policy import OneClock
from latecomer.clock.watermark import TICK
from latecomer.hosts.local import LocalHost, MemoryChunks
from latecomer.operators.base import Operator
from latecomer.plan import LatePolicy, Plan, Source, Stage
from latecomer.time import TimeColumn

TIME = TimeColumn("time", "us")
"""The time column of the rows that `rows` makes."""

Mark = int | tuple[int, str]
"""A row: its time, or its time and its name."""

_SCHEMA = pa.schema({"time": pa.int64(), "name": pa.string()})


@dataclass(frozen=True, slots=True)
class _Marks:
    marks: tuple[Mark, ...]


class Rows(_Marks):
    """Rows that arrive together."""


@dataclass(frozen=True, slots=True)
class Watermark:
    """The promise that no row before this time follows."""

    at: int


class Ready(_Marks):
    """Rows that were emitted, in this order."""


class Late(_Marks):
    """Rows that were returned as late."""


def rows(*marks: Mark) -> Rows:
    """Return rows with these times that arrive together."""
    return Rows(marks)


def watermark(at: int) -> Watermark:
    """Return the promise that no row before `at` follows."""
    return Watermark(at)


def ready(*marks: Mark) -> Ready:
    """Return the expectation that these rows are emitted."""
    return Ready(marks)


def late(*marks: Mark) -> Late:
    """Return the expectation that these rows are returned as late."""
    return Late(marks)


def play(operator: Operator, *steps: Rows | Watermark) -> list[Ready | Late]:
    """Run an operator through the steps, and return its output; late rows come last in a step."""
    running = operator.start(_SCHEMA, MemoryChunks(), None)
    seen: list[Ready | Late] = []
    for step in steps:
        if isinstance(step, Watermark):
            emission = running.advance(step.at)
        else:
            emission = running.push(as_batch(step.marks))
        if emission.ready.num_rows:
            seen.append(Ready(as_marks(emission.ready)))
        if emission.late.num_rows:
            seen.append(Late(as_marks(emission.late)))
    return seen


@dataclass(slots=True)
class Seen:
    """The output of a replay, in order."""

    ready: list[Mark] = field(default_factory=list)
    late: list[Mark] = field(default_factory=list)


def replay(
    operator: Operator, batches: Iterable[Sequence[Mark]], *, wait: int, late: LatePolicy = "divert"
) -> Seen:
    """Run batches of rows through an operator on the local host, to the end of the stream.

    Times and waits are in ticks of the clock, which are milliseconds: `wait=5` waits for rows up
    to 5 ms behind the newest.
    """
    plan = Plan(Source(TIME), OneClock((wait * TICK,)), late, (Stage((), (operator,)),))
    host = LocalHost(plan, _SCHEMA)
    seen = Seen()
    steps = [host.step(as_batch(batch, TICK)) for batch in batches]
    for step in [*steps, host.finish()]:
        seen.ready += as_marks(step.ready, TICK)
        seen.late += as_marks(step.late, TICK)
    return seen


def as_batch(marks: Iterable[Mark], scale: int = 1) -> Batch:
    """Return rows as a batch, with times multiplied by `scale`."""
    pairs = [mark if isinstance(mark, tuple) else (mark, None) for mark in marks]
    times = [time * scale for time, _ in pairs]
    return pa.table([times, [name for _, name in pairs]], schema=_SCHEMA)


def as_marks(batch: Batch, scale: int = 1) -> tuple[Mark, ...]:
    """Return the rows of a batch, with times divided by `scale`."""
    times, names = batch.column("time").to_pylist(), batch.column("name").to_pylist()
    return tuple(
        time // scale if name is None else (time // scale, name)
        for time, name in zip(times, names, strict=True)
    )
