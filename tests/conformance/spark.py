"""The kinds, on Spark: each vector is a streaming query, each of its steps a micro-batch.

Spark's clock is what the rows before said it is. A vector of kind `sort` names its watermarks, so
each is turned into a row that moves the clock there: with a wait longer than the vector, a row at
`watermark + wait` does that and is itself never released.
"""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

import latecomer as lc
from latecomer.disorder.watermark import TICK
from latecomer.hosts.spark.pack import CLOCK_OFFSET
from latecomer.time import FOREVER
from tests.conformance import local
from tests.streaming import PerBatch
from tests.streaming import stream as run_stream

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

    def build(df: DataFrame) -> lc.OrderedStream:
        return lc.disordered(df, time="time").sort(wait=f"{wait} milliseconds")

    ready, late = run_stream(lc.session(), tables, build)

    def ids(rows: PerBatch) -> list[list[int]]:
        return [[r.id for r in rows[i] if r.id != CLOCK_ID] for i in range(len(batches))]

    # Late rows have no promised order on Spark; ids are given in order of arrival.
    return ids(ready), [sorted(batch) for batch in ids(late)]


class NotApplicableError(Exception):
    """A vector that cannot be said on Spark; tells why."""


def far(rows: Rows) -> int:
    """A span longer than all times of a vector."""
    return 2 * max([abs(row[1]) for row in rows], default=0) + 10


def sort(vector: dict[str, Any]) -> dict[str, Any]:
    """Explicit rows and watermarks, each watermark as a row far ahead that moves the clock."""
    steps = vector["input"]["steps"]
    marks = [[0, s["watermark"]] for s in steps if s.get("watermark", "inf") != "inf"]
    wait = far([*(row for step in steps for row in step.get("rows", [])), *marks])
    if (2 * wait * TICK) + CLOCK_OFFSET > FOREVER:
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


def generator(vector: dict[str, Any]) -> dict[str, Any]:
    """The order of rows of equal time is left out: a DataFrame has none to keep."""
    rows = lc.session().createDataFrame(local.generated(vector))
    return local.arrived(local.disordered(rows, vector).toArrow())


KINDS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "sort": sort,
    "sort_wait": sort_wait,
    "generator": generator,
}
