"""The Spark part of `benchmarks.waits`: the same rows, the same micro-batches, one session.

    several waits           Latecomer with three waits; late rows are dropped, as Spark does
    several waits, divert   the same; late rows come out as rows, so all columns go to Python
    on the driver           like the first, but Spark adds up and the driver keeps the states:
                            start(states="driver"), without an output for rows that have no time
    on the driver, longest  the same with one wait
    default                 three waits by start(), which chooses the place of the states: the
                            driver, or buckets for windows of a second; late rows go to a sink. If
                            there are more states than its limit for the driver, start() ends with
                            an error, and the method has no time
    default, longest        the same with one wait
    shortest, longest       Latecomer with one wait
    spark                   withWatermark, groupBy, count in append mode, with the longest delay
    spark, in memory        the same with Spark's default state store instead of RocksDB
    three                   three of these queries side by side, one for each wait
    to Python               time and group are sent to Python and counted there: the upper limit
                            for all computations in Python

All write to the noop sink, and run once on a part of the rows to warm up. Time is the sum of the
micro-batches after the second, of the slowest query if there are three. Methods take turns and the
best repetition counts. State is the largest that Spark reports.

The counts of each wait are checked against `expected`. Spark's rule differs from ours: a
micro-batch closes windows by the watermark of the batches before it, but its rows are late only by
the watermark one micro-batch older. So Spark's own query counts more rows if waits are shorter than
micro-batches. With the longest wait of the cloud log no row is late by either rule.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

import latecomer as lc
from benchmarks.waits_queries import LOGS, QUERIES, TIME, Log, Query, events, micros
from latecomer.clock.watermark import TICK
from latecomer.generate.micro_batches import write_micro_batches
from latecomer.hosts.spark.sinks import Sink
from latecomer.plan import LatePolicy

BATCH_ROWS = 1_000_000
FEWEST_BATCHES = 3
"""The least number of micro-batches; with few rows they are smaller."""
FILES = 2
"""Files in a micro-batch, one for each of two cores."""
SKIPPED = 2
REPETITIONS = 2
"""Repetitions after one to warm up. With fewer rows than a usual micro-batch, every method runs
once, which checks its results and not its speed."""
SCHEMA = "time timestamp, `group` int, a int, b int, c int, d int"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
IN_MEMORY = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"

Built = DataFrame | lc.AggregatedStream
"""The DataFrame to write, or a stream if its states are kept on the driver."""

Build = Callable[[DataFrame, Log, Query], dict[str, Built]]
"""Returns the queries to run side by side, by their wait, or "" for several waits."""


@dataclass(frozen=True)
class Method:
    build: Build
    is_sparks: bool = False
    provider: str | None = None
    """The state store, if it differs from that of the session."""
    states: str | None = None
    """The argument `states` of `start`, if it starts the query."""


def latecomer(waits: slice, late: LatePolicy, states: str | None = None) -> Method:
    """Return a method with Latecomer, by `to_df`, or by `start` if `states` is given."""

    def build(df: DataFrame, log: Log, query: Query) -> dict[str, Built]:
        chosen = log.waits[waits]
        stream = (
            lc.disordered(df, time="time")
            .tumbling(log.window)
            .wait(list(chosen), late=late)
            .group_by(*query.keys)
            .aggregate(n=lc.agg.count())
        )
        if query.top:
            stream = stream.group_by().aggregate(top=lc.agg.top_k("group", query.top, by="n"))
        return {
            chosen[0] if len(chosen) == 1 else "": stream.to_df() if states is None else stream,
        }

    return Method(build, states=states)


def sparks_own(waits: slice, provider: str | None = None) -> Method:
    def build(df: DataFrame, log: Log, query: Query) -> dict[str, Built]:
        return {wait: _watermarked(df, log, query, wait) for wait in log.waits[waits]}

    return Method(build, is_sparks=True, provider=provider)


def _watermarked(df: DataFrame, log: Log, query: Query, wait: str) -> DataFrame:
    window = F.window("time", log.window)
    counts = (
        df.withWatermark("time", wait).groupBy(window, *query.keys).agg(F.count("*").alias("n"))
    )
    if not query.top:
        return counts
    best = F.sort_array(F.collect_list(F.struct("n", "group")), asc=False)
    again = counts.groupBy(F.window(F.window_time("window"), log.window))
    return again.agg(F.slice(best, 1, query.top).alias("top"))


def to_python(df: DataFrame, _log: Log, query: Query) -> dict[str, Built]:
    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"n": [sum(batch.num_rows for batch in batches)]})

    return {"all": df.select("time", *query.keys).mapInArrow(count, "n long")}


METHODS: dict[str, Method] = {
    "several waits": latecomer(slice(None), "drop"),
    "several waits, divert": latecomer(slice(None), "divert"),
    "on the driver": latecomer(slice(None), "drop", "driver"),
    "on the driver, longest": latecomer(slice(-1, None), "drop", "driver"),
    "default": latecomer(slice(None), "divert", "auto"),
    "default, longest": latecomer(slice(-1, None), "divert", "auto"),
    "shortest": latecomer(slice(0, 1), "drop"),
    "longest": latecomer(slice(-1, None), "drop"),
    "spark": sparks_own(slice(-1, None)),
    "spark, in memory": sparks_own(slice(-1, None), IN_MEMORY),
    "three": sparks_own(slice(None)),
    "to Python": Method(to_python),
}


def read(spark: SparkSession, directory: Path) -> DataFrame:
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", FILES)
    return source.parquet(str(directory))


def _sums(df: DataFrame, log: Log, wait: str) -> list[Column]:
    """Add up the counts in the output, by wait."""
    n: Column = F.expr(
        "aggregate(top, 0L, (sum, each) -> sum + each.n)" if "top" in df.columns else "n"
    )
    sums = [F.sum(n).alias(wait)]
    if not wait:
        sums = [F.sum(F.when(F.col("wait") == each, n)).alias(each) for each in log.waits]
    return sums


def _started(
    built: Built, log: Log, wait: str, checkpoint: str, states: str | None
) -> tuple[StreamingQuery, list[dict[str, int]]]:
    """Start a query; return it with a list that will receive the counts of its micro-batches."""
    counted: list[dict[str, int]] = []
    if isinstance(built, DataFrame):
        writer = built.observe("counted", *_sums(built, log, wait)).writeStream.format("noop")
        writer = writer.option("checkpointLocation", checkpoint)
        return writer.trigger(availableNow=True).start(), counted

    def count(df: DataFrame, _number: int) -> None:
        seen = Observation()
        df.observe(seen, *_sums(df, log, wait)).write.format("noop").mode("overwrite").save()
        counted.append(seen.get)

    def discard(df: DataFrame, _number: int) -> None:
        df.write.format("noop").mode("overwrite").save()

    outputs: dict[str, Sink] = {"ready": count}
    if built.plan.late != "drop":
        outputs["late"] = discard
    trigger = {"availableNow": True}
    return built.start(outputs, checkpoint=checkpoint, trigger=trigger, states=states), counted


def run(
    queries: dict[str, Built], log: Log, checkpoints: Path, states: str | None = None
) -> dict[str, Any] | None:
    """Run queries side by side to their end; None if one ends because it has too many states."""
    started = [
        _started(built, log, wait, str(checkpoints / str(number)), states)
        for number, (wait, built) in enumerate(queries.items())
    ]
    results = []
    for query, counted in started:
        try:
            query.awaitTermination()
        except lc.HeldLimitError:
            shutil.rmtree(checkpoints)
            return None
        if error := query.exception():
            raise error
        results.append(_measured(query.recentProgress, counted))
    if on_driver := [path.stat().st_size for path in checkpoints.glob("*/latecomer/states/*")]:
        results[0]["state_bytes"] = sum(on_driver)
    shutil.rmtree(checkpoints)
    totals: dict[str, int] = {}
    for result in results:
        totals |= result["counted"]
    return {
        "rows": results[0]["rows"],
        "seconds": max(result["seconds"] for result in results),
        "state_bytes": sum(result["state_bytes"] for result in results),
        "counted": totals,
    }


def _measured(progress: list[Any], told: list[dict[str, int]]) -> dict[str, Any]:
    batches = [p for p in progress if p["durationMs"].get("addBatch")]
    steady = batches[SKIPPED:]
    counted: dict[str, int] = {}
    # A query of `start()` observes counts of its own; what it wrote is in `told`.
    observed = [p.observedMetrics.get("counted") for p in batches]
    observed = [each.asDict() for each in observed if each is not None]
    for batch in observed or told:
        for wait, total in batch.items():
            counted[wait] = counted.get(wait, 0) + (total or 0)
    return {
        "rows": sum(p["numInputRows"] for p in steady),
        "seconds": sum(p["durationMs"]["triggerExecution"] for p in steady) / 1e3,
        "state_bytes": max(
            sum(operator["memoryUsedBytes"] for operator in p["stateOperators"]) for p in batches
        ),
        "counted": counted,
    }


def on_spark(rows: int, logs: list[str], queries: list[str]) -> Iterator[dict[str, Any]]:
    work = Path(tempfile.mkdtemp(prefix="latecomer-waits-"))
    spark = lc.session()
    try:
        for name in logs:
            log = LOGS[name]
            for groups in sorted({QUERIES[each].groups for each in queries}):
                table = events(log, rows, groups)
                chosen = [each for each in queries if QUERIES[each].groups == groups]
                rules = {
                    each: [expected(table, log, QUERIES[each], lag=lag) for lag in (0, 1)]
                    for each in chosen
                }
                _written(table, work / "rows")
                del table
                for each, (ours, sparks) in rules.items():
                    turns = range(1, 2) if rows < BATCH_ROWS else range(REPETITIONS + 1)
                    result = cell(spark, log, QUERIES[each], work, turns)
                    for method, counted in result["counted"].items():
                        rule = sparks if METHODS[method].is_sparks else ours
                        right = {wait: rule.get(wait, rows) for wait in counted}
                        assert counted == right, (method, rule)
                    yield {"cell": f"spark {name} {each}", "window": log.window} | result
                shutil.rmtree(work / "rows")
    finally:
        spark.stop()
        shutil.rmtree(work)


def _size(rows: int) -> int:
    """Return the number of rows in a file."""
    files = FILES * max(FEWEST_BATCHES, rows // BATCH_ROWS)
    return -(-rows // files)


def _written(table: pa.Table, directory: Path) -> None:
    """Write all micro-batches, and the first two of them once more, to warm up."""
    size = _size(table.num_rows)
    write_micro_batches(table, directory / "full", -(-table.num_rows // size))
    write_micro_batches(table.slice(0, 2 * FILES * size), directory / "warm", 2 * FILES)


def expected(table: pa.Table, log: Log, query: Query, *, lag: int) -> dict[str, int]:
    """Count for each wait the rows in windows that close, without a stream.

    Args:
        table: The rows.
        log: The windows and waits.
        query: The query. For the largest groups, only their rows are counted.
        lag: The number of micro-batches by which the watermark for late rows is older.
    """
    times = TIME.micros(table)
    ends = log.windows.ends(log.windows.panes(times))
    starts = np.arange(0, len(times), FILES * _size(len(times)))
    newest = np.maximum.accumulate(np.maximum.reduceat(times, starts)) // TICK * TICK
    seen = np.concatenate([np.zeros(1 + lag, np.int64), newest])
    batch = np.repeat(np.arange(len(starts)), np.diff([*starts, len(times)]))
    groups = table["group"].to_numpy()
    found = {}
    for wait, span in zip(log.waits, micros(log.waits), strict=True):
        is_counted = (ends > seen[batch] - span) & (ends <= seen[-1] - span)
        if query.top:
            window = (ends[is_counted] - ends.min()) // log.windows.size
            codes = window * query.groups + groups[is_counted]
            whole = -(-(codes.max(initial=0) + 1) // query.groups) * query.groups
            counts = np.bincount(codes, minlength=whole).reshape(-1, query.groups)
            found[wait] = int(np.sort(counts, axis=1)[:, -query.top :].sum())
        else:
            found[wait] = int(is_counted.sum())
    return found


def cell(spark: SparkSession, log: Log, query: Query, work: Path, turns: range) -> dict[str, Any]:
    """Compare all methods on one query, in turns; turn 0 only warms up."""
    best: dict[str, dict[str, Any]] = {}
    for repetition in turns:
        for name, method in METHODS.items():
            df = read(spark, work / "rows" / ("full" if repetition else "warm"))
            before = spark.conf.get(PROVIDER)
            spark.conf.set(PROVIDER, method.provider or before)
            built = method.build(df, log, query)
            result = run(built, log, work / "checkpoints", method.states)
            spark.conf.set(PROVIDER, before)
            if (
                result is not None
                and repetition
                and (name not in best or result["seconds"] < best[name]["seconds"])
            ):
                best[name] = result
    seconds = {name: result["seconds"] for name, result in best.items()}
    ours, on_driver = seconds["several waits"], seconds["on the driver"]
    return {
        "rows_per_second": {
            name: round(result["rows"] / result["seconds"]) for name, result in best.items()
        },
        "state_bytes": {name: result["state_bytes"] for name, result in best.items()},
        "over_spark": round(seconds["spark"] / ours, 2),
        "over_spark_in_memory": round(seconds["spark, in memory"] / ours, 2),
        "to_python_over_spark": round(seconds["spark"] / seconds["to Python"], 2),
        "over_three": round(seconds["three"] / ours, 2),
        "best_over_spark": round(seconds["spark"] / min(ours, on_driver), 2),
        "best_over_three": round(seconds["three"] / min(ours, on_driver), 2),
        "driver_over_spark": round(seconds["spark"] / on_driver, 2),
        "driver_over_three": round(seconds["three"] / on_driver, 2),
        **{
            over: round(seconds[theirs] / seconds[way], 2)
            for over, theirs, way in (
                ("default_over_spark", "spark", "default, longest"),
                ("default_over_three", "three", "default"),
            )
            if way in seconds
        },
        "driver_overhead_percent": round(
            100 * (on_driver / seconds["on the driver, longest"] - 1), 1
        ),
        "overhead_percent": round(100 * (ours / seconds["longest"] - 1), 1),
        "divert_over_drop": round(ours / seconds["several waits, divert"], 2),
        "counted": {name: result["counted"] for name, result in best.items()},
    }
