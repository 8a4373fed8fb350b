"""The kinds, on Spark: vectors with the same query share a streaming query, see `lanes`.

Spark's clock is set by earlier rows. A vector of kind `sort` names its watermarks, so each of them
becomes a row at `watermark + wait`, which moves the clock; the wait is longer than the vector. In
vectors where the time of a row counts for the row itself, the clock is moved one micro-batch
before.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import asdict
from itertools import groupby
from math import lcm
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

import latecomer as lc
from latecomer.clock.watermark import TICK
from latecomer.hosts.spark.spark_clock import SHIFT
from latecomer.time import FOREVER, parse_duration
from tests.conformance import local, spark_joins, spark_optimistic
from tests.conformance.applicable import NotApplicableError, Outcome, Vector, one_by_one
from tests.conformance.lanes import Found, Lane, Steps, led, one_partition, play, span, times_of
from tests.conformance.temporal import on_spark

ROWS = pa.schema([("id", pa.int64()), ("time", pa.int64())])


def together(
    run: Callable[[list[Vector]], list[dict[str, Any]]], by: Callable[[Vector], Hashable]
) -> Callable[[list[Vector]], list[Outcome]]:
    """Return a function that runs vectors of one group in one query; one by one if that fails."""

    def attempt(vectors: list[Vector]) -> list[Outcome]:
        try:
            return [*run(vectors)]
        except Exception as error:  # noqa: BLE001 - as above
            if len(vectors) == 1:
                return [error]
            return [outcome for vector in vectors for outcome in attempt([vector])]

    def all_of(vectors: list[Vector]) -> list[Outcome]:
        outcomes: dict[int, Outcome] = {}
        order = sorted(range(len(vectors)), key=lambda at: repr(by(vectors[at])))
        for _, found in groupby(order, key=lambda at: repr(by(vectors[at]))):
            numbers = [*found]
            told = attempt([vectors[at] for at in numbers])
            outcomes |= dict(zip(numbers, told, strict=True))
        return [outcomes[at] for at in range(len(vectors))]

    return all_of


def is_early(lanes: Iterable[Lane]) -> bool:
    """Return True if a lane has times before 1970, or at its beginning."""
    # Spark's clock starts at the beginning of 1970, so such times do not move it.
    return any(time <= 0 for lane in lanes for time in lane.times)


def ids(rows: Iterable[Found]) -> list[int]:
    return [row["id"] for row in rows]


def clocked(vector: Vector, scale: int = 1) -> Lane:
    """Return the lane of a vector that has batches, a wait and a clock."""
    batches = [
        [[row[0], row[1] * scale, *row[2:]] for row in batch]
        for batch in vector["input"]["batches"]
    ]
    return Lane(led(batches) if vector["params"]["clock"] == "row" else batches)


def told(vector: Vector, found: list[Any]) -> list[Any]:
    """Leave out the micro-batch that only moved the clock for the first row."""
    return found[1:] if vector["params"]["clock"] == "row" else found


def sort(vectors: list[Vector]) -> list[dict[str, Any]]:
    """Sort rows with explicit watermarks, or batches with a wait, in one query.

    Vectors with another wait get the same one in another unit of time. Vectors with explicit
    watermarks only need a wait that is long enough.
    """
    named = [vector["input"]["steps"] for vector in vectors if vector["kind"] == "sort"]
    wait = lcm(*(vector["params"]["wait"] for vector in vectors if vector["kind"] != "sort"))
    wait *= -(-max(map(span, named), default=1) // (wait or 1))
    played = [
        Steps(vector["input"]["steps"], wait)
        if vector["kind"] == "sort"
        else clocked(vector, wait // (vector["params"]["wait"] or 1) or 1)
        for vector in vectors
    ]
    lanes = [each.lane if isinstance(each, Steps) else each for each in played]
    newest = max([time for lane in lanes for time in lane.times], default=0)
    if (newest + wait) * TICK > FOREVER - SHIFT * is_early(lanes):
        raise NotApplicableError("times beyond the year 290,000 are beyond Spark's clock")

    def build(df: DataFrame) -> lc.OrderedStream:
        events = lc.disordered(df, time="time", unit="ms", before_1970=is_early(lanes))
        return events.sort(wait=f"{wait} ms")

    play(lanes, ROWS, build, after=wait + 1)
    return [
        by_step(each) if isinstance(each, Steps) else by_batch(vector, each)
        for vector, each in zip(vectors, played, strict=True)
    ]


def asked_of_sorts(vector: Vector) -> Hashable:
    """Return a group: vectors without a wait, those with very late times, and all others."""
    if vector["kind"] == "sort":
        return max(times_of(vector["input"]["steps"]), default=0) > FAR
    return "no wait" if vector["params"]["wait"] == 0 else False


FAR = 1 << 40


def by_step(steps: Steps) -> dict[str, Any]:
    """Return the results of a vector that names its watermarks."""
    ready, late = steps.told()
    # Late rows have no order on Spark, so they are sorted by id, which is the order of arrival.
    told = {"ready": [*map(ids, ready)], "late": [sorted(ids(rows)) for rows in late]}
    return told | {"held": ids(steps.lane.rest)}


def by_batch(vector: Vector, lane: Lane) -> dict[str, Any]:
    """Return the results of a vector that has a wait."""
    rest, end = ids(lane.rest), vector["params"]["end"]
    return {
        "ready": told(vector, [ids(rows) for rows in lane.ready]),
        "late": told(vector, [sorted(ids(rows)) for rows in lane.late]),
        "end": rest if end else None,
        "held": [] if end else rest,
    }


def windows(vectors: list[Vector]) -> list[dict[str, Any]]:
    """Aggregate tumbling windows of each key."""
    params = vectors[0]["params"]
    made = {"count": lc.agg.count(), "sum": lc.agg.sum("value")}
    _, schema, key = local.keyed(vectors[0]["input"]["batches"])
    lanes = [clocked(vector) for vector in vectors]
    for lane in lanes:
        for row in (row for batch in lane.batches for row in batch):
            row[2:3] = map(key.write, row[2:3])

    def build(df: DataFrame) -> lc.AggregatedStream:
        events = lc.disordered(df, time="time", unit="ms", before_1970=is_early(lanes))
        ordered = events.tumbling(f"{params['size']} ms").wait([f"{w} ms" for w in params["waits"]])
        grouped = ordered.group_by("lane", "key")
        return grouped.aggregate(**{name: made[name] for name in params["aggregates"]})

    after = 2 * params["size"] + max(params["waits"])
    play(lanes, schema, build, after=after, grid=params["size"])
    return [
        {
            "emitted": [
                line
                for step, rows in [
                    *enumerate(told(vector, lane.ready)),
                    *([("end", lane.rest)] if vector["params"]["end"] else []),
                ]
                for line in local.answers(step, rows, params, key, lambda t: t - lane.offset)  # noqa: B023 - called at once
            ],
            "late": told(vector, [sorted(ids(rows)) for rows in lane.late]),
        }
        for vector, lane in zip(vectors, lanes, strict=True)
    ]


def asked_of_windows(vector: Vector) -> Hashable:
    """Return the parameters that vectors of one query must share."""
    params = vector["params"]
    _, schema, key = local.keyed(vector["input"]["batches"])
    return params["size"], params["waits"], params["aggregates"], str(schema), key


def levels(vectors: list[Vector]) -> list[dict[str, Any]]:
    """Sort rows with several waits."""
    waits = vectors[0]["params"]["waits"]
    lanes = [clocked(vector) for vector in vectors]

    def build(df: DataFrame) -> lc.OrderedStream:
        events = lc.disordered(df, time="time", unit="ms", before_1970=is_early(lanes))
        return events.sort(wait=[f"{wait} ms" for wait in waits])

    def at(rows: list[Found], wait: int) -> list[int]:
        return ids(row for row in rows if parse_duration(row["wait"], "wait") == 1_000 * wait)

    play(lanes, ROWS, build, after=max(waits) + 1)
    return [
        {
            "levels": [
                {
                    "ready": told(vector, [at(rows, wait) for rows in lane.ready]),
                    "end": at(lane.rest, wait) if vector["params"]["end"] else None,
                }
                for wait in waits
            ],
            "late": told(vector, [sorted(ids(rows)) for rows in lane.late]),
        }
        for vector, lane in zip(vectors, lanes, strict=True)
    ]


def generator(vector: Vector) -> dict[str, Any]:
    """Compare without the order of rows of equal time, because a DataFrame has no order."""
    rows = lc.session().createDataFrame(local.generated(vector))
    result = local.disordered(rows, vector).toArrow()
    return local.arrived(local.in_source_order(result, vector))


def disorder(vector: Vector) -> dict[str, Any]:
    """Return the measures of a profile. It counts delays, but does not report those of each row."""
    times, waits = vector["input"]["times"], vector["params"]["waits"]
    came = pa.array(range(len(times)), pa.int64())
    columns = {"time": pa.array(times, pa.int64()), "arrival": came}
    session = lc.session()
    with one_partition(session):
        df = session.createDataFrame(pa.table(columns))
        seen = lc.profile(df, time="time", arrival="arrival", unit="us")
    delays = seen.counted.findings.delays
    assert seen.measures is not None
    return asdict(seen.measures) | {
        "rows": seen.rows,
        "out_of_order": seen.out_of_order,
        "max_delay": delays.largest,
        "in_time": [list(pair) for pair in zip(waits, delays.in_time(waits), strict=True)],
    }


SORT = together(sort, asked_of_sorts)
KINDS: dict[str, Callable[[list[Vector]], list[Outcome]]] = {
    "sort": SORT,
    "sort_wait": SORT,
    "windows": together(windows, asked_of_windows),
    "levels": together(levels, lambda vector: vector["params"]["waits"]),
    "generator": one_by_one(generator),
    "disorder": one_by_one(disorder),
    "temporal": one_by_one(on_spark.run),
    "mswj": together(spark_joins.window_join, spark_joins.asked),
    "pipeline": together(spark_joins.pipeline, spark_joins.asked),
    "grouping": together(spark_optimistic.grouping, lambda vector: vector["params"]),
    "stateful": together(spark_optimistic.stateful, lambda _: None),
    "barrier": together(
        spark_optimistic.barrier,
        lambda vector: vector["name"] if vector["expected"]["error_at"] is not None else "",
    ),
    "inverted_index": one_by_one(spark_optimistic.inverted_index),
    "same_k": together(spark_joins.same_k, spark_joins.asked),
}
