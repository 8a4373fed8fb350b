"""The kinds, on the local host. One unit of a vector is one tick of the clock."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar
from unittest.mock import patch

import numpy as np
import pyarrow as pa

import latecomer as lc
from benchmarks.impatience import impatience, patience_runs
from latecomer import agg
from latecomer.batch import Batch
from latecomer.clock.policy import OneClock
from latecomer.clock.watermark import TICK
from latecomer.hosts.local import LocalHost, MemoryChunks, Step
from latecomer.operators import sort as sorting
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.levels import Levels
from latecomer.operators.sort import Sort
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from latecomer.profile.measures import delay_counts, delays, measure, order_measures
from latecomer.time import FOREVER, NEVER, TimeColumn, parse_duration
from tests.conformance import joins, optimistic
from tests.conformance.applicable import Vector, one_by_one
from tests.conformance.temporal import run as temporal
from tests.conformance.typed import Typed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from latecomer.operators.aggregates.base import Aggregate

Rows = TypeVar("Rows", "DataFrame", pa.Table)

TIME = TimeColumn("time", "us")
SCHEMA = pa.schema({"id": pa.int64(), "time": pa.int64()})


def table(rows: list[list[int]]) -> pa.Table:
    """Return [id, time] pairs as a batch."""
    return pa.table(
        [[row[0] for row in rows], [row[1] * TICK for row in rows]],
        schema=SCHEMA,
    )


def ids(batch: pa.Table) -> list[int]:
    """Return the ids of a batch."""
    return list(batch.column("id").to_pylist())


class RowHost(LocalHost):
    """A host whose clock counts the rows of a batch before it processes them.

    Latecomer's hosts count them afterwards, as Spark does; the vectors have both.
    """

    def step(self, *batches: Batch, now: int | None = None) -> Step:
        """Run one batch."""
        (batch,) = batches
        self._newest = [int(TIME.micros(batch).max(initial=self._newest[0]))]
        return super().step(batch, now=now)


HOSTS = {"batch": LocalHost, "row": RowHost}
"""Hosts by the name of the clock in vectors."""


@patch.object(sorting, "LONG", 0)
def sort(vector: Vector) -> dict[str, Any]:
    """Push explicit rows and watermarks into the sorter.

    The vectors count the runs of the paper's algorithm, which places every ascending piece. By
    default the sorter sorts short pieces before it places them.
    """
    sorter = Sort(TIME).start(SCHEMA, MemoryChunks())
    got: dict[str, Any] = {"ready": [], "late": [], "runs": []}
    for step in vector["input"]["steps"]:
        if "rows" in step:
            emission = sorter.push(table(step["rows"]))
        else:
            at = step["watermark"]
            emission = sorter.advance(FOREVER if at == "inf" else at * TICK)
        got["ready"].append(ids(emission.ready))
        got["late"].append(ids(emission.late))
        got["runs"].append(sorter.runs)
    return got | {"held": ids(sorter.advance(FOREVER).ready)}


def sort_wait(vector: Vector) -> dict[str, Any]:
    """Run batches with a wait on the whole host."""
    params = vector["params"]
    plan = Plan(
        Source(TIME), OneClock((params["wait"] * TICK,)), "divert", (Stage((), (Sort(TIME),)),)
    )
    host = HOSTS[params["clock"]](plan, SCHEMA)
    steps = [host.step(table(batch)) for batch in vector["input"]["batches"]]
    rest = ids(host.finish().ready)
    return {
        "watermark": [None if s.watermark == NEVER else s.watermark // TICK for s in steps],
        "ready": [ids(step.ready) for step in steps],
        "late": [ids(step.late) for step in steps],
        "end": rest if params["end"] else None,
        "held": [] if params["end"] else rest,
    }


def keyed(batches: list[list[list[Any]]], tick: int = 1) -> tuple[list[pa.Table], pa.Schema, Typed]:
    """Return batches of [id, time, key, value], their schema, and the type of their keys."""
    rows = [row for batch in batches for row in batch]
    key = Typed.of((row[2] for row in rows), otherwise=pa.string())
    value = Typed.of((row[3] for row in rows), otherwise=pa.int64())
    schema = pa.schema([*SCHEMA, ("key", key.kind), ("value", value.kind)])
    tables = [
        pa.table(
            [
                [row[0] for row in batch],
                [row[1] * tick for row in batch],
                [key.write(row[2]) for row in batch],
                [row[3] for row in batch],
            ],
            schema=schema,
        )
        for batch in batches
    ]
    return tables, schema, key


def windows(vector: Vector) -> dict[str, Any]:
    """Aggregate tumbling windows of each key, with one or several waits."""
    params = vector["params"]
    waits = tuple(wait * TICK for wait in params["waits"])
    made: dict[str, Aggregate] = {"count": agg.count(), "sum": agg.sum("value")}
    summary = Summary(("key",), tuple((name, made[name]) for name in params["aggregates"]))
    size = params["size"] * TICK
    operator = Aggregation(TIME, Windows(size, size), waits, (summary,))
    plan = Plan(Source(TIME, ("key",)), OneClock(waits), "divert", (Stage(("key",), (operator,)),))
    batches, schema, key = keyed(vector["input"]["batches"], TICK)
    host = HOSTS[params["clock"]](plan, schema)
    steps = [host.step(batch) for batch in batches]
    told = [*enumerate(step.ready for step in steps)]
    if params["end"]:
        told.append(("end", host.finish().ready))
    return {
        "emitted": [
            line
            for step, ready in told
            for line in answers(step, ready.to_pylist(), params, key, lambda time: time // TICK)
        ],
        "late": [ids(step.late) for step in steps],
        "watermarks": [
            [None if s.watermark == NEVER else (s.watermark + waits[-1] - w) // TICK for w in waits]
            for s in steps
        ],
    }


def levels(vector: Vector) -> dict[str, Any]:
    """Sort rows with several waits."""
    params = vector["params"]
    waits = tuple(wait * TICK for wait in params["waits"])
    plan = Plan(Source(TIME), OneClock(waits), "divert", (Stage((), (Levels(TIME, waits),)),))
    host = HOSTS[params["clock"]](plan, SCHEMA)
    steps = [host.step(table(batch)) for batch in vector["input"]["batches"]]
    rest = host.finish().ready if params["end"] else None
    return {
        "levels": [
            {
                "ready": [at_wait(step.ready, wait) for step in steps],
                "end": None if rest is None else at_wait(rest, wait),
            }
            for wait in params["waits"]
        ],
        "late": [ids(step.late) for step in steps],
    }


def at_wait(rows: pa.Table, wait: int) -> list[int]:
    """Return the ids of one level."""
    return [
        row["id"] for row in rows.to_pylist() if parse_duration(row["wait"], "wait") == 1_000 * wait
    ]


def answers(
    step: int | str,
    rows: Iterable[Mapping[str, Any]],
    params: dict[str, Any],
    key: Typed,
    time: Callable[[int], int],
) -> list[dict[str, Any]]:
    """Return the results of windows in the form of vectors, by level, start and key.

    Args:
        step: The step that produced the results.
        rows: The results.
        params: The parameters of the vector.
        key: The type of its keys.
        time: Converts a time to the unit of the vector.
    """
    lines = []
    for row in rows:
        start, end = (time(row["window"][bound]) for bound in ("start", "end"))
        wait = row.get("wait")
        level = 0 if wait is None else params["waits"].index(parse_duration(wait, "wait") // 1_000)
        line = {"step": step, "level": level, "key": key.read(row["key"])}
        line |= {"start": start, "end": end} | {name: row[name] for name in params["aggregates"]}
        lines.append(line | {"changed": row.get("is_changed", True)})
    return sorted(lines, key=lambda line: (line["level"], line["start"], *ranked(line["key"])))


def ranked(key: object) -> tuple[str, Any]:
    """Return a sort key for keys, also of different types."""
    is_number = isinstance(key, int | float)
    return (
        ("", key) if is_number else (type(key).__name__, key if isinstance(key, str) else str(key))
    )


def disorder(vector: Vector) -> dict[str, Any]:
    """Compute all measures of disorder, for times in order of arrival and some waits."""
    times = np.array(vector["input"]["times"], np.int64)
    waits = vector["params"]["waits"]
    seen, behind = measure(times), delays(times).tolist()
    return asdict(order_measures(times)) | {
        "rows": seen.rows,
        "out_of_order": seen.out_of_order,
        "max_delay": seen.largest,
        "sum_of_delays": sum(behind),
        "in_time": [
            list(pair) for pair in zip(waits, delay_counts(times).in_time(waits), strict=True)
        ],
        "delays": behind,
        "newest": [time + delay for time, delay in zip(times.tolist(), behind, strict=True)],
    }


def patience(vector: Vector) -> dict[str, Any]:
    """Place times on the runs of Patience sort, and merge the runs."""
    times = np.array(vector["input"]["times"], np.int64)
    placed = patience_runs(times).tolist()
    runs: list[list[int]] = [[] for _ in range(max(placed, default=-1) + 1)]
    for time, run in zip(times.tolist(), placed, strict=True):
        runs[run].append(time)
    nothing = np.empty(0, np.int64)
    order, _, _ = impatience(times, nothing, nothing, False, False)  # noqa: FBT003  Patience sort
    return {
        "runs": runs,
        "runs_after_each": (np.maximum.accumulate(np.array(placed, np.int64)) + 1).tolist(),
        "sorted": order.tolist(),
    }


def generator(vector: Vector) -> dict[str, Any]:
    """Delay the rows that the vector names."""
    result = in_source_order(disordered(generated(vector), vector), vector)
    return arrived(result) | {"order": ids(result)}


def in_source_order(result: pa.Table, vector: Vector) -> pa.Table:
    """Put rows with the same arrival in the order of the vector.

    If a column contains the arrivals, rows that arrive together have no order in the source.
    """
    if "arrivals" not in vector["input"]:
        return result
    return result.sort_by([("arrival", "ascending"), ("id", "ascending")])


def generated(vector: Vector) -> pa.Table:
    """Return the times of a generator's vector as a batch, with their arrivals if it has them."""
    times, came = vector["input"]["times"], vector["input"].get("arrivals")
    rows = pa.table([range(len(times)), times], schema=SCHEMA)
    return rows if came is None else rows.append_column("arrival", pa.array(came, pa.int64()))


def disordered(rows: Rows, vector: Vector) -> Rows:
    """Delay only the rows that a vector names.

    Overrides do not delay rows that are out of order in the source; an outage does. So if a vector
    has arrivals, each of its delays is an outage; otherwise it is an override.
    """
    params, came = vector["params"], vector["input"].get("arrivals")
    chosen = zip(params["select"], params["delays"], strict=True)
    patterns = [
        lc.Override("id", row, delay=f"uniform:{by}us:{by}us", fraction=1)
        if came is None
        else lc.Outage(f"{came[row] - min(came)}us", f"{by}us", by="id", only=[row])
        for row, by in chosen
    ]
    with warnings.catch_warnings():
        # No other row may be delayed, so the fraction cannot be met.
        warnings.simplefilter("ignore", lc.FractionWarning)
        return lc.inject_disorder(
            rows,
            time="time",
            arrival=None if came is None else "arrival",
            unit="us",
            fraction=0,
            delay="constant:1s",
            patterns=patterns,
        )


def arrived(result: pa.Table) -> dict[str, Any]:
    """Return the measures of rows in order of arrival."""
    seen, behind = measure(TIME.micros(result)), delays(TIME.micros(result)).tolist()
    return {
        "times": result["time"].to_pylist(),
        "arrivals": result["arrival"].to_pylist(),
        "out_of_order": seen.out_of_order,
        "rows": seen.rows,
        "fraction": seen.share,
        "max_delay": seen.largest,
        "delays": behind,
    }


RUNS: dict[str, Callable[[Vector], dict[str, Any]]] = {
    "sort": sort,
    "sort_wait": sort_wait,
    "windows": windows,
    "levels": levels,
    "disorder": disorder,
    "generator": generator,
    "patience_runs": patience,
    "temporal": temporal.run,
    "kslack": joins.k_slack,
    "synchronizer": joins.synchronizer,
    "mswj": joins.window_join,
    "pipeline": joins.pipeline,
    "same_k": joins.same_k,
    "grouping": optimistic.grouping,
    "stateful": optimistic.stateful,
    "barrier": optimistic.barrier,
    "inverted_index": optimistic.inverted_index,
}

KINDS = {kind: one_by_one(run) for kind, run in RUNS.items()}
