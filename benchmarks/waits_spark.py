"""The Spark part of `benchmarks.waits`: the same rows, the same micro-batches, one session.

    several waits           Latecomer with three waits; late rows are dropped, as Spark does
    several waits, divert   the same; late rows come out as rows, so all columns go to Python
    shortest, longest       Latecomer with one wait
    spark                   withWatermark, groupBy, count in append mode, with the longest delay
    spark, in memory        the same with Spark's default state store instead of RocksDB
    three                   three of these queries side by side, one for each wait

All write to the noop sink, and run once on a part of the rows to warm up. Time is the sum of the
micro-batches after the second, of the slowest query if there are three; repetitions are
interleaved and the best counts. State is what Spark reports, at its highest. What is counted after
each wait must be the same by every method; this is checked.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import latecomer as lc
from benchmarks.waits_queries import LOGS, QUERIES, Log, Query, events
from latecomer.generate.micro_batches import write_micro_batches
from latecomer.time import parse_duration

BATCH_ROWS = 100_000
FILES = 2
"""Files in a micro-batch: two cores read one each."""
SKIPPED = 2
REPETITIONS = 1
SCHEMA = "time timestamp, `group` int, a int, b int, c int, d int"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
IN_MEMORY = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"

Build = Callable[[DataFrame, Log, Query], dict[str, DataFrame]]
"""Makes the queries to run side by side, each named by its wait, or "" if it has several."""


def latecomer(waits: slice, late: str) -> Build:
    def build(df: DataFrame, log: Log, query: Query) -> dict[str, DataFrame]:
        chosen = log.waits[waits]
        stream = (
            lc.disordered(df, time="time")
            .tumbling(log.window)
            .sort(wait=list(chosen), late=late)
            .group_by(*query.keys)
            .aggregate(n=lc.agg.count())
        )
        if query.top:
            stream = stream.group_by().aggregate(top=lc.agg.top_k("group", query.top, by="n"))
        return {chosen[0] if len(chosen) == 1 else "": stream.to_df()}

    return build


def sparks_own(waits: slice) -> Build:
    def build(df: DataFrame, log: Log, query: Query) -> dict[str, DataFrame]:
        return {wait: _watermarked(df, log, query, wait) for wait in log.waits[waits]}

    return build


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


METHODS: dict[str, Build] = {
    "several waits": latecomer(slice(None), "drop"),
    "several waits, divert": latecomer(slice(None), "divert"),
    "shortest": latecomer(slice(0, 1), "drop"),
    "longest": latecomer(slice(-1, None), "drop"),
    "spark": sparks_own(slice(-1, None)),
    "spark, in memory": sparks_own(slice(-1, None)),
    "three": sparks_own(slice(None)),
}


def read(spark: SparkSession, directory: Path) -> DataFrame:
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", FILES)
    return source.parquet(str(directory))


def _counting(df: DataFrame, log: Log, wait: str) -> DataFrame:
    """Let Spark add up the counts that come out, by wait."""
    n: Column = F.expr(
        "aggregate(top, 0L, (sum, each) -> sum + each.n)" if "top" in df.columns else "n"
    )
    sums = [F.sum(n).alias(wait)]
    if not wait:
        spans = {each: parse_duration(each, "wait") / 1e6 for each in log.waits}
        sums = [
            F.sum(F.when(F.col("wait") == F.make_dt_interval(secs=F.lit(span)), n)).alias(each)
            for each, span in spans.items()
        ]
    return df.observe("counted", *sums)


def run(queries: dict[str, DataFrame], log: Log, checkpoints: Path) -> dict[str, Any]:
    """Run queries side by side to their end."""
    started = []
    for number, (wait, df) in enumerate(queries.items()):
        writer = _counting(df, log, wait).writeStream.format("noop")
        writer = writer.option("checkpointLocation", str(checkpoints / str(number)))
        started.append(writer.trigger(availableNow=True).start())
    results = []
    for query in started:
        query.awaitTermination()
        if error := query.exception():
            raise error
        results.append(_measured(query.recentProgress))
    shutil.rmtree(checkpoints)
    counted: dict[str, int] = {}
    for result in results:
        counted |= result["counted"]
    return {
        "rows": results[0]["rows"],
        "seconds": max(result["seconds"] for result in results),
        "state_bytes": sum(result["state_bytes"] for result in results),
        "counted": counted,
    }


def _measured(progress: list[Any]) -> dict[str, Any]:
    batches = [p for p in progress if p["durationMs"].get("addBatch")]
    steady = batches[SKIPPED:]
    counted: dict[str, int] = {}
    for batch in batches:
        for wait, total in batch.observedMetrics["counted"].asDict().items():
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
            for groups in sorted({QUERIES[each].groups for each in queries}):
                full, warm = _written(LOGS[name], rows, groups, work / f"{name}-{groups}")
                for each in queries:
                    if QUERIES[each].groups == groups:
                        result = cell(spark, LOGS[name], QUERIES[each], (full, warm))
                        yield {"cell": f"spark {name} {each}"} | result
                shutil.rmtree(full.parent)
    finally:
        spark.stop()
        shutil.rmtree(work)


def _written(log: Log, rows: int, groups: int, directory: Path) -> tuple[Path, Path]:
    """Write all micro-batches, and the first two of them once more, to warm up."""
    table = events(log, rows, groups)
    count = FILES * max(1, rows // BATCH_ROWS)
    full = write_micro_batches(table, directory / "full", count)
    part = table.slice(0, min(rows, 2 * BATCH_ROWS))
    return full, write_micro_batches(part, directory / "warm", 2 * FILES)


def cell(spark: SparkSession, log: Log, query: Query, rows: tuple[Path, Path]) -> dict[str, Any]:
    """Compare all methods on one query."""
    full, warm = rows
    best: dict[str, dict[str, Any]] = {}
    for repetition in range(REPETITIONS + 1):
        for name, build in METHODS.items():
            source = full if repetition else warm
            before = spark.conf.get(PROVIDER)
            if name == "spark, in memory":
                spark.conf.set(PROVIDER, IN_MEMORY)
            checkpoints = full.parent / "checkpoints"
            result = run(build(read(spark, source), log, query), log, checkpoints)
            spark.conf.set(PROVIDER, before)
            if (
                repetition
                and result["seconds"] < best.get(name, result | {"seconds": 9e9})["seconds"]
            ):
                best[name] = result
    for name, result in best.items():
        for wait, total in result["counted"].items():
            assert total == best["three"]["counted"][wait], (name, wait, best)
    seconds = {name: result["seconds"] for name, result in best.items()}
    ours = seconds["several waits"]
    return {
        "counted": best["three"]["counted"],
        "rows_per_second": {
            name: round(result["rows"] / result["seconds"]) for name, result in best.items()
        },
        "state_bytes": {name: result["state_bytes"] for name, result in best.items()},
        "over_spark": round(seconds["spark"] / ours, 2),
        "over_spark_in_memory": round(seconds["spark, in memory"] / ours, 2),
        "over_three": round(seconds["three"] / ours, 2),
        "overhead_percent": round(100 * (ours / seconds["longest"] - 1), 1),
        "divert_over_drop": round(ours / seconds["several waits, divert"], 2),
    }
