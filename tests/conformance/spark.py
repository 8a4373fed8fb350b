"""The kinds, on Spark: each vector is a streaming query, each of its steps a micro-batch.

Spark's clock is what the rows before said it is. A vector of kind `sort` names its watermarks, so
each is turned into a row that moves the clock there: with a wait longer than the vector, a row at
`watermark + wait` does that and is itself never released.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

import latecomer as lc
from latecomer.clock.watermark import TICK
from latecomer.hosts.spark.spark_clock import SHIFT
from latecomer.time import FOREVER
from tests.conformance import local, optimistic
from tests.conformance.applicable import NotApplicableError
from tests.conformance.temporal import on_spark
from tests.support.streaming import PerBatch
from tests.support.streaming import stream as run_stream

CLOCK_ID = -1
"""The id of rows that only move the clock."""

Rows = list[list[int]]


def stream(batches: list[Rows], wait: int) -> tuple[list[list[int]], list[list[int]]]:
    """Run micro-batches of [id, time], in milliseconds; get the ids, ready and late, of each."""
    schema = pa.schema({"id": pa.int64(), "time": pa.timestamp("ms", "UTC")})
    tables = [
        pa.table([[row[0] for row in rows], [row[1] for row in rows]], schema=schema)
        for rows in batches
    ]

    is_early = any(row[1] < 0 for rows in batches for row in rows)

    def build(df: DataFrame) -> lc.OrderedStream:
        events = lc.disordered(df, time="time", before_1970=is_early)
        return events.sort(wait=f"{wait} milliseconds")

    ready, late = run_stream(lc.session(), tables, build)

    def ids(rows: PerBatch) -> list[list[int]]:
        return [[r.id for r in rows[i] if r.id != CLOCK_ID] for i in range(len(batches))]

    # Late rows have no promised order on Spark; ids are given in order of arrival.
    return ids(ready), [sorted(batch) for batch in ids(late)]


def far(rows: Rows) -> int:
    """A span longer than all times of a vector."""
    return 2 * max([abs(row[1]) for row in rows], default=0) + 10


def sort(vector: dict[str, Any]) -> dict[str, Any]:
    """Explicit rows and watermarks, each watermark as a row far ahead that moves the clock."""
    steps = vector["input"]["steps"]
    marks = [[0, s["watermark"]] for s in steps if s.get("watermark", "inf") != "inf"]
    wait = far([*(row for step in steps for row in step.get("rows", [])), *marks])
    if (2 * wait * TICK) + SHIFT > FOREVER:
        raise NotApplicableError("times beyond the year 290,000 are beyond Spark's clock")
    batches: list[Rows] = []
    shown = []
    for step in [*steps, {"watermark": "inf"}]:
        at = step.get("watermark")
        if at is None:
            batches.append(step["rows"])
        else:
            # What a row says of the clock is known one batch later.
            batches += [[[CLOCK_ID, wait + (wait if at == "inf" else at)]], []]
        shown.append(len(batches) - 1)
    ready, late = stream(batches, wait)
    *until, end = shown
    return {
        "ready": [ready[at] for at in until],
        "late": [late[at] for at in until],
        "held": ready[end],
    }


def sort_wait(vector: dict[str, Any]) -> dict[str, Any]:
    """Batches and a wait; a row far ahead ends the stream."""
    batches, params = vector["input"]["batches"], vector["params"]
    last = far([row for batch in batches for row in batch]) + params["wait"]
    ready, late = stream([*batches, [[CLOCK_ID, last]], []], params["wait"])
    count = len(batches)
    rest = [number for found in ready[count:] for number in found]
    return {
        "ready": ready[:count],
        "late": late[:count],
        "end": rest if params["end"] else None,
        "held": [] if params["end"] else rest,
    }


CLOCK_KEY = "clock"
"""The key of rows that only move the clock."""


def windows(vector: dict[str, Any]) -> dict[str, Any]:
    """Tumbling windows per key; a row far ahead ends the stream."""
    batches, params = vector["input"]["batches"], vector["params"]
    last = far([row for batch in batches for row in batch]) + 2 * max(params["waits"])
    end = [[[CLOCK_ID, last + params["size"], CLOCK_KEY, 0]], []] if params["end"] else []
    schema = pa.schema([("id", "int64"), ("time", "int64"), ("key", "string"), ("value", "int64")])
    tables = [
        pa.table([[row[i] for row in batch] for i in range(4)], schema=schema)
        for batch in [*batches, *end]
    ]
    made = {"count": lc.agg.count(), "sum": lc.agg.sum("value")}

    def build(df: DataFrame) -> lc.AggregatedStream:
        events = lc.disordered(df, time="time", unit="ms", before_1970=True)
        events = events.tumbling(f"{params['size']} ms")
        ordered = events.wait([f"{wait} ms" for wait in params["waits"]])
        grouped = ordered.group_by("key")
        return grouped.aggregate(**{name: made[name] for name in params["aggregates"]})

    ready, late = run_stream(lc.session(), tables, build)
    count = len(batches)
    rest = [row for step, rows in ready.items() if step >= count for row in rows]
    told = [(step, ready.get(step, [])) for step in range(count)]
    told += [("end", rest)] if params["end"] else []
    lines = [
        line
        for step, rows in told
        for line in local.answers(step, [row.asDict() for row in rows], params)
    ]
    return {
        "emitted": [line for line in lines if line["key"] != CLOCK_KEY],
        "late": [sorted(row.id for row in late.get(step, [])) for step in range(count)],
    }


def levels(vector: dict[str, Any]) -> dict[str, Any]:
    """Rows after several waits; a row far ahead ends the stream."""
    batches, params = vector["input"]["batches"], vector["params"]
    last = far([row for batch in batches for row in batch]) + 2 * max(params["waits"])
    end = [[[CLOCK_ID, last]], []] if params["end"] else []
    schema = pa.schema([("id", "int64"), ("time", "int64")])
    tables = [
        pa.table([[row[i] for row in batch] for i in range(2)], schema=schema)
        for batch in [*batches, *end]
    ]

    def build(df: DataFrame) -> lc.OrderedStream:
        waits = [f"{wait} ms" for wait in params["waits"]]
        return lc.disordered(df, time="time", unit="ms", before_1970=True).sort(wait=waits)

    ready, late = run_stream(lc.session(), tables, build)
    count = len(batches)

    def of(step: int, wait: int) -> list[int]:
        found = [r for r in ready.get(step, []) if r.wait == timedelta(milliseconds=wait)]
        return [row.id for row in found if row.id != CLOCK_ID]

    return {
        "levels": [
            {
                "ready": [of(step, wait) for step in range(count)],
                "end": [i for step in sorted(ready) if step >= count for i in of(step, wait)]
                if params["end"]
                else None,
            }
            for wait in params["waits"]
        ],
        "late": [sorted(row.id for row in late.get(step, [])) for step in range(count)],
    }


def generator(vector: dict[str, Any]) -> dict[str, Any]:
    """The order of rows of equal time is left out: a DataFrame has none to keep."""
    rows = lc.session().createDataFrame(local.generated(vector))
    return local.arrived(local.disordered(rows, vector).toArrow())


def inverted_index(vector: dict[str, Any]) -> dict[str, Any]:
    """Documents to words, words to postings; each document is a micro-batch."""
    documents = vector["input"]["documents"]
    schema = pa.schema([("time", pa.int64()), ("id", pa.string()), ("text", pa.string())])
    postings = "array<struct<doc: string, positions: array<long>>>"

    def build(df: DataFrame) -> lc.CorrectedStream:
        events = lc.disordered(df, time="time", unit="ms", key="id", before_1970=True)
        columns = "doc string, word string, positions array<long>"
        words = events.optimistic(wait="1 day").flat_map(optimistic.words, outputs=columns)
        index = words.stateful(
            optimistic.posted,
            key="word",
            initial=[],
            outputs=f"doc string, positions array<long>, postings {postings}",
        )
        return index.barrier()

    runs = []
    for order in vector["input"]["orders"]:
        tables = [pa.Table.from_pylist([documents[number]], schema) for number in order]
        ready, _ = run_stream(lc.session(), tables, build, end="flush")
        found = [row.asDict(recursive=True) for rows in ready.values() for row in rows]
        runs.append(sorted((optimistic.change(row) for row in found), key=optimistic.by_word))
    expected = vector["expected"]["changes"]
    is_met = all(run == sorted(expected, key=optimistic.by_word) for run in runs)
    index = {each["word"]: each["postings"] for each in runs[0]}
    return {"changes": expected if is_met else runs, "index": index}


KINDS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "sort": sort,
    "sort_wait": sort_wait,
    "windows": windows,
    "levels": levels,
    "generator": generator,
    "inverted_index": inverted_index,
    "temporal": on_spark.run,
}
