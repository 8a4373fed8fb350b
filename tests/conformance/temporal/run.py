"""Run one vector of temporal operators on the local host."""

import json
from operator import itemgetter
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from latecomer.batch import Batch
from latecomer.clock.watermark import Clock
from latecomer.errors import LateRowError
from latecomer.hosts.local import MemoryChunks
from latecomer.hosts.stage import RunningStage
from latecomer.operators.temporal.edges import Edges, edge_schema
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.operators.temporal.stateless import OfRows
from latecomer.operators.temporal.whole import Whole
from latecomer.plan import Plan
from latecomer.time import FOREVER
from tests.conformance.temporal.arrival import PROMISE, Arrival, OwnClocksError, Step
from tests.conformance.temporal.events import (
    KEY,
    PAYLOAD,
    Event,
    Lifetime,
    comparable,
    lifetimes,
)
from tests.conformance.temporal.own_clocks import OwnClocks
from tests.conformance.temporal.query import made
from tests.conformance.temporal.rows import UnfitError
from tests.conformance.temporal.streams import END, LATE, TIME, Builder, Stream

Vector = dict[str, Any]

KINDS = (pa.int64(), pa.float64(), pa.string())
"""Types of aggregated values; the first that fits is used."""


class GivenEdges(OfRows):
    """Read begins and ends that arrive as single rows, and remove rows that only move the clock."""

    fixed: ClassVar[tuple[str, ...]] = ()

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return edge_schema(pa.schema([field for field in schema if field.name in (PAYLOAD, KEY)]))

    def of_rows(self, rows: Batch) -> Batch:
        names = [name for name in (PAYLOAD, KEY) if name in rows.column_names]
        rows = rows.filter(pc.field(PAYLOAD) != PROMISE)
        other, number = END.micros(rows, null=FOREVER), rows["id"].to_numpy()
        edges = Edges(TIME.micros(rows), other, number, rows.select(names))
        # A row whose start was moved to its end or beyond is removed.
        return edges.where(edges.is_end & (number >= 0) | (other > edges.at)).batch()


def expected(vector: Vector) -> dict[str, Any]:
    """Return the expected results of a vector, in the form of `run`."""
    if vector["compare"] == "error":
        return {"error": "LateRowError"}
    told: dict[str, Any] = {"lifetimes": comparable(vector["expected_logical"])}
    if "expected_diagnostics" in vector and vector["policies"]["disorder"]["type"] == "Drop":
        dropped = [entry["event"] for entry in vector["expected_diagnostics"]]
        told["dropped"] = [[event["sync"], event["payload"]] for event in dropped]
    return told


def run(vector: Vector) -> dict[str, Any]:
    """Run a vector, with one clock if that is enough."""
    try:
        return fitted(vector)[1]
    except OwnClocksError:
        if not may_have_own_clocks(vector):
            raise
        return _run_own_clocks(vector)


def fitted(vector: Vector) -> tuple[pa.DataType, dict[str, Any]]:
    """Run a vector with the first type of values that fits; return the type and the results."""
    unfit = None
    for kind in KINDS:
        try:
            return kind, _run(vector, kind)
        except UnfitError as error:
            unfit = error
        except LateRowError:
            return kind, {"error": "LateRowError"}
    raise AssertionError("no kind of values fits") from unfit


def _run(vector: Vector, kind: pa.DataType) -> dict[str, Any]:
    builder, stream = query(vector, kind)
    if vector["policies"].get("reshaping") == "CoalesceEndEdges":
        stream = stream.then(Whole(pa.int64(), "us"))
    running = Running(builder.plan(stream), builder.rows, stream.feeds)
    for step in Arrival(vector, builder.inputs).steps():
        running.step(step)
    found = lifetimes(running.flushed)
    return {"lifetimes": answer(vector, found), "dropped": running.dropped}


def _run_own_clocks(vector: Vector) -> dict[str, Any]:
    inputs = [vector["inputs"], []]
    running = OwnClocks(vector, KEYED)
    try:
        for step in Arrival(vector, inputs, own_clocks=True).steps():
            running.step(step)
    except LateRowError:
        return {"error": "LateRowError"}
    dropped = {"dropped": running.dropped}
    if not vector["query"]:
        return {"lifetimes": answer(vector, running.found)} | dropped
    return fitted(admitted(vector, running.found))[1] | dropped


def may_have_own_clocks(vector: Vector) -> bool:
    """Return True for one stream without separate ends, whose keys may have clocks of their own."""
    return not vector.get("inputs_right") and not has_ends([vector["inputs"]])


def admitted(vector: Vector, found: list[Lifetime]) -> Vector:
    """Return a vector whose inputs are the rows that the clocks of their keys let in."""
    policies = {name: of for name, of in vector["policies"].items() if name == "reshaping"}
    events = [_event(each) for each in sorted(found, key=itemgetter("start"))]
    return {**vector, "policies": policies, "inputs": events}


def _event(found: Lifetime) -> Event:
    kind = "start" if found["end"] == "inf" else "interval"
    times = {"sync": found["start"], "other": found["end"]}
    return {"kind": kind, **times, "payload": found["payload"], KEY: found[KEY]}


def query(vector: Vector, kind: pa.DataType, *, as_edges: bool = False) -> tuple[Builder, Stream]:
    """Return the stream of a vector's query, and its builder.

    Args:
        vector: The vector.
        kind: The type of aggregated values.
        as_edges: Whether rows are read as begins and ends, even if there are no separate ends.
    """
    inputs: list[list[Event]] = [vector["inputs"], vector.get("inputs_right", [])]
    with_ends = as_edges or has_ends(inputs)
    rows = _schema(has_ends=with_ends, has_keys=Arrival(vector, inputs).is_partitioned)
    reader = GivenEdges() if with_ends else Lifetimes(TIME, END)
    late = LATE[vector["policies"].get("disorder", {}).get("type", "Throw")]
    builder = Builder(rows, reader, late, kind, inputs)
    return builder, made(builder, builder.source(0), vector["query"])


def has_ends(inputs: list[list[Event]]) -> bool:
    """Return True if begins and ends arrive as separate rows."""
    return any(event["kind"] == "end" for events in inputs for event in events)


def answer(vector: Vector, found: list[Lifetime]) -> list[str]:
    """Return the output in the form in which it is compared."""
    if vector["compare"] == "data_logical_key_0":
        found = [lifetime for lifetime in found if lifetime[KEY] == 0]
    return comparable(found)


def _schema(*, has_ends: bool, has_keys: bool) -> pa.Schema:
    times = {TIME.name: pa.int64(), END.name: pa.int64()} | ({"id": pa.int64()} if has_ends else {})
    return pa.schema(times | {PAYLOAD: pa.string()} | ({KEY: pa.string()} if has_keys else {}))


KEYED = _schema(has_ends=False, has_keys=True)
"""The columns of rows whose keys have clocks of their own."""


class Running:
    """A running plan, and its output so far."""

    def __init__(self, plan: Plan, rows: pa.Schema, feeds: tuple[int, ...]) -> None:
        """Start the plan.

        Args:
            plan: The plan, which has one stage.
            rows: The schema of the input.
            feeds: The input that each source of the plan reads.
        """
        self._plan, self._rows, self._feeds = plan, rows, feeds
        (stage,) = plan.stages
        self._chunks = [MemoryChunks() for branch in stage.branches for _ in branch.operators]
        self._stage = RunningStage(plan, 0, rows, self._chunks.__getitem__)
        self._pending: list[Batch] = []
        self.flushed: list[Batch] = []
        self.dropped: list[list[Any]] = []
        """The time and the payload of each late row."""

    def step(self, step: Step) -> None:
        """Run one event."""
        if step.restarts:
            self._restart()
        batch = self._rows.empty_table()
        if step.row is not None:
            batch = pa.Table.from_pylist([step.row], self._rows)
        inputs = [[batch] if feed == step.side and len(batch) else [] for feed in self._feeds]
        for output in self._stage.step(Clock(step.watermark, step.watermark), inputs):
            if output.batch is None:
                continue
            if output.name == "ready":
                self._pending.append(output.batch)
            elif output.name == "late":
                late = output.batch.to_pylist()
                self.dropped += [[row[TIME.name], json.loads(row[PAYLOAD])] for row in late]
        if step.flushes:
            self.flushed += self._pending
            self._pending = []

    def _restart(self) -> None:
        """Save the stage, and restore it."""
        saved, before = self._stage.save(), self._chunks
        self._chunks = [MemoryChunks() for _ in before]
        for chunks, old in zip(self._chunks, before, strict=True):
            chunks.batches = dict(old.batches)
        self._stage = RunningStage(self._plan, 0, self._rows, self._chunks.__getitem__, saved)
