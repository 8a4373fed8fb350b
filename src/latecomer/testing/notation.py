"""Play rows and watermarks into an operator, and write down what comes out.

Rows are numbers: their times. A row can carry a name too, to tell rows of equal time apart:
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
    """The promise that nothing before this time follows."""

    at: int


class Ready(_Marks):
    """Rows that came out, in this order."""


class Late(_Marks):
    """Rows that were handed back as late."""


def rows(*marks: Mark) -> Rows:
    """Let rows with these times arrive together."""
    return Rows(marks)


def watermark(at: int) -> Watermark:
    """Promise that nothing before `at` follows."""
    return Watermark(at)


def ready(*marks: Mark) -> Ready:
    """Expect these rows to come out."""
    return Ready(marks)


def late(*marks: Mark) -> Late:
    """Expect these rows to be handed back as late."""
    return Late(marks)


def play(operator: Operator, *steps: Rows | Watermark) -> list[Ready | Late]:
    """Run an operator through the steps; write down whatever comes out, late rows last."""
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
    """All that came out of a replay, in order."""

    ready: list[Mark] = field(default_factory=list)
    late: list[Mark] = field(default_factory=list)


def replay(
    operator: Operator, batches: Iterable[Sequence[Mark]], *, wait: int, late: LatePolicy = "divert"
) -> Seen:
    """Run batches of rows through an operator on the local host, to the end of the stream.

    One is a tick of the clock, a millisecond: `wait=5` waits for rows up to 5 behind the newest.
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
    """Write rows as a batch."""
    pairs = [mark if isinstance(mark, tuple) else (mark, None) for mark in marks]
    times = [time * scale for time, _ in pairs]
    return pa.table([times, [name for _, name in pairs]], schema=_SCHEMA)


def as_marks(batch: Batch, scale: int = 1) -> tuple[Mark, ...]:
    """Read rows from a batch."""
    times, names = batch.column("time").to_pylist(), batch.column("name").to_pylist()
    return tuple(
        time // scale if name is None else (time // scale, name)
        for time, name in zip(times, names, strict=True)
    )
