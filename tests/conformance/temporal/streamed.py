"""One vector of temporal operators, as a stream on Spark.

This is for vectors that cannot be a batch: rows are late, a checkpoint is taken, or the stream does
not end. Rows far ahead move Spark's clock, as in `tests.conformance.lanes`. The clock counts
milliseconds, so one unit of the vector is a millisecond.

A micro-batch takes as many rows as one clock is right for. A late row needs the clock at which it
is late. Other rows need a clock that is not after theirs, since the final output does not depend on
when it comes out.
"""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

import latecomer as lc
from latecomer.api.readable import Readable
from latecomer.clock.policy import OneClock
from latecomer.clock.watermark import TICK
from latecomer.generate.micro_batches import write_micro_batches
from latecomer.hosts.spark.spark_clock import SHIFT
from latecomer.operators.temporal.edges import OWN
from latecomer.operators.temporal.stateless import OfRows
from latecomer.operators.temporal.whole import Whole
from latecomer.plan import Plan
from latecomer.time import FOREVER, NEVER
from tests.conformance.applicable import NotApplicableError
from tests.conformance.lanes import one_partition
from tests.conformance.temporal.arrival import CONSTANT, PROMISE, Arrival, Step
from tests.conformance.temporal.events import KEY, PAYLOAD, Lifetime, lifetimes
from tests.conformance.temporal.streams import Builder, Stream

Vector = dict[str, Any]
Rows = list[dict[str, Any]]
SPANS = {
    *("amount", "duration", "end", "limit", "max_duration", "offset"),
    *("period", "progress", "size", "start", "timeout"),
}
"""Names of times and spans in a query."""


def scaled(vector: Vector) -> Vector:
    """Return a vector in microseconds; one unit is a thousand of them."""
    if "point_at_end" in str(vector["query"]):
        raise NotApplicableError("a point lasts a microsecond, and Spark's clock counts thousands")
    policies = {name: _of_policy(of) for name, of in vector["policies"].items()}
    sides = {
        side: [_of_event(event) for event in vector[side]]
        for side in ("inputs", "inputs_right")
        if side in vector
    }
    return {**vector, **sides, "policies": policies, "query": _of_query(vector["query"])}


def _times(value: Any) -> Any:  # noqa: ANN401 - a number, or an expression
    if isinstance(value, str) and value != "inf":
        return f"{TICK} * ({value})"
    return value if value == "inf" else value * TICK


def _of_event(event: dict[str, Any]) -> dict[str, Any]:
    return event | {name: _times(event[name]) for name in ("sync", "other") if name in event}


def _of_policy(policy: Any) -> Any:  # noqa: ANN401 - a word, or what a policy says
    if not isinstance(policy, dict):
        return policy
    spans = ("reorder_latency", "period", "lag")
    return {name: of * TICK if name in spans else of for name, of in policy.items()}


def _of_query(part: Any, name: str = "") -> Any:  # noqa: ANN401 - any part of a query
    if isinstance(part, dict):
        # In a pattern, `start` is a state.
        inside = name if name == "pattern" else None
        return {key: _of_query(value, inside or key) for key, value in part.items()}
    if isinstance(part, list):
        return [_of_query(each, name) for each in part]
    if isinstance(part, str) and part != "inf":
        part = re.sub(r"\bvs\b", f"(vs // {TICK})", part)
    return _times(part) if name in SPANS and part is not None else part


@dataclass(frozen=True, slots=True)
class Shown(OfRows):
    """Copy the columns that are hidden from users: the edge of a row, and its id."""

    fixed: ClassVar[tuple[str, ...]] = ()

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return pa.schema([*schema, *(schema.field(name).with_name(name[4:]) for name in OWN)])

    def of_rows(self, rows: pa.Table) -> pa.Table:
        for name in OWN:
            rows = rows.append_column(name[4:], rows.column(name))
        return rows


@dataclass(slots=True)
class Batch:
    """One micro-batch."""

    rows: dict[int, Rows] = field(default_factory=dict)
    """Rows by input."""
    clock: int = NEVER
    """The clock from the next micro-batch on."""
    is_restarted: bool = False
    """Whether the query is stopped and started again before it."""
    is_shown: bool = True
    """Whether its output is part of the result."""


def laid_out(steps: Iterator[Step]) -> tuple[list[Batch], bool]:
    """Put steps into micro-batches; return them, and whether the stream ends."""
    batches, known, all_steps = [Batch()], NEVER, list(steps)
    ends = bool(all_steps) and all_steps[-1].watermark == FOREVER
    shown = [n for n, step in enumerate(all_steps) if step.flushes and step.watermark != FOREVER]
    for number, step in enumerate(all_steps):
        if step.restarts:
            batches.append(Batch(is_restarted=True))
        if step.row is not None:
            if step.row["time"] < step.watermark and known != step.watermark:
                batches[-1].clock = known = step.watermark
                batches.append(Batch())
            batches[-1].rows.setdefault(step.side, []).append(step.row)
        if not ends and shown and number == shown[-1]:
            batches[-1].clock = known = max(known, step.watermark)
            batches += [Batch(), Batch(is_shown=False)]
    if not ends and not shown:
        for batch in batches:
            batch.is_shown = False
    return batches, ends


def run(
    vector: Vector,
    builder: Builder,
    stream: Stream,
    staged: Callable[[Plan, pa.Schema], Plan],
) -> tuple[list[Lifetime], list[list[Any]]]:
    """Run a scaled vector; return the lifetimes in the output, and the late rows.

    Args:
        vector: The vector.
        builder: The builder of its streams.
        stream: Its query.
        staged: Splits a plan into stages.
    """
    batches, ends = laid_out(Arrival(vector, builder.inputs).steps())
    rows = [row for batch in batches for some in batch.rows.values() for row in some]
    times = [time for row in rows for time in (row["time"], row["end"]) if time is not None]
    wait = 2 * max(times, default=0) + 10 * TICK
    wait += -wait % TICK
    if 3 * wait + SHIFT > FOREVER:
        raise NotApplicableError("times beyond the year 290,000 are beyond Spark's clock")
    is_whole = vector["policies"].get("reshaping") == "CoalesceEndEdges"
    stream = stream.then(Whole(pa.int64(), "us") if is_whole else Shown())
    plan = timed(staged(builder.plan(stream), builder.rows), wait)
    tables = [
        [_table(batch, feed, number, builder.rows, wait) for number, batch in enumerate(batches)]
        for feed in stream.feeds
    ]
    return _streamed(plan, tables, batches, ends=ends)


def run_own_clocks(
    vector: Vector, plan: Plan, schema: pa.Schema
) -> tuple[list[Lifetime], list[list[Any]]]:
    """Run a vector with a clock for each key; each micro-batch has the next row of every key."""
    steps = [*Arrival(vector, [vector["inputs"], []], own_clocks=True).steps()]
    if any(step.watermark not in (NEVER, FOREVER) for step in steps):
        raise NotApplicableError("where each key has a clock, no other clock is asked on Spark")
    batches, rows = [Batch()], Counter[str]()
    for step in steps:
        if step.restarts:
            batches.append(Batch(is_restarted=True))
            rows = Counter(dict.fromkeys(rows, len(batches) - 1))
        if step.row is not None:
            at = rows[step.row[KEY]]
            batches += [Batch() for _ in range(at + 1 - len(batches))]
            batches[at].rows.setdefault(0, []).append(step.row)
            rows[step.row[KEY]] += 1
    (stage,) = plan.stages
    source = replace(plan.source, before_1970=True)
    plan = replace(plan, source=source).with_last(
        replace(stage, operators=(*stage.operators, Shown()))
    )
    tables = [_table(batch, 0, number, schema, 0) for number, batch in enumerate(batches)]
    return _streamed(plan, [tables], batches, ends=True)


def timed(plan: Plan, wait: int) -> Plan:
    """Return a plan whose wait, and that of joined streams, is longer than all times."""
    stages = tuple(stage.with_rights(lambda right: timed(right, wait)) for stage in plan.stages)
    source = replace(plan.source, before_1970=True)
    return replace(plan, source=source, clock=OneClock((wait,)), stages=stages)


def _streamed(
    plan: Plan, tables: list[list[pa.Table]], batches: list[Batch], *, ends: bool
) -> tuple[list[Lifetime], list[list[Any]]]:
    """Run a plan on the tables of its inputs, one table for each micro-batch."""
    session = lc.session()
    ready: dict[int, pa.Table] = {}
    late: dict[int, Rows] = {}

    def keep_ready(df: DataFrame, number: int) -> None:
        ready[number] = df.toArrow()

    def keep_late(df: DataFrame, number: int) -> None:
        late[number] = [row.asDict() for row in df.collect()]

    sinks: dict[str, Any] = {"ready": keep_ready}
    if plan.late == "divert":
        sinks |= {each.source.late: keep_late for each in plan.inputs}
    starts = [n for n, batch in enumerate(batches) if batch.is_restarted or not n]
    with tempfile.TemporaryDirectory() as directory, one_partition(session):
        paths = [f"{directory}/{number}" for number in range(len(tables))]
        for first, stop in zip(starts, [*starts[1:], len(batches)], strict=True):
            for path, of_input in zip(paths, tables, strict=True):
                for number in range(first, stop):
                    write_micro_batches(of_input[number], path, 1, first=number)
            dfs = tuple(_source(path) for path in paths)
            is_flushed = ends and stop == len(batches)
            Readable(dfs, plan, None).start(
                sinks,
                checkpoint=f"{directory}/checkpoint",
                trigger={"availableNow": True},
                end="flush" if is_flushed else "keep",
            ).awaitTermination()
    hidden = {number for number, batch in enumerate(batches) if not batch.is_shown}
    last = len(batches) if not ends else FOREVER
    shown = [_told(ready[n]) for n in sorted(ready) if n not in hidden and n < last]
    found = [_unscaled(each) for each in lifetimes(shown)]
    dropped = [row for number in sorted(late) for row in late[number] if row[PAYLOAD] != PROMISE]
    return found, [[row["time"] // TICK, json.loads(row[PAYLOAD])] for row in dropped]


def _told(rows: pa.Table) -> pa.Table:
    """Undo `Shown`, and remove rows that only move a clock."""
    names = {name[4:]: name for name in OWN if name[4:] in rows.column_names}
    return rows.rename_columns(names).filter(pc.field(PAYLOAD) != PROMISE)


def _table(batch: Batch, feed: int, number: int, schema: pa.Schema, wait: int) -> pa.Table:
    """Return the rows of an input, and a row that moves the clock."""
    rows = [*batch.rows.get(feed, [])]
    # An input that the query adds itself is complete from the beginning.
    clock = wait if feed >= CONSTANT and not number else batch.clock
    if clock != NEVER:
        time = clock + wait
        rows.append({"time": time, "end": time + 1, "id": -1, PAYLOAD: PROMISE, "key": PROMISE})
    return pa.Table.from_pylist(rows, schema)


def _source(path: str) -> DataFrame:
    session = lc.session()
    schema = session.read.parquet(path).schema
    return session.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(path)


def _unscaled(found: Lifetime) -> Lifetime:
    end = found["end"] if found["end"] == "inf" else found["end"] // TICK
    return found | {"start": found["start"] // TICK, "end": end}
