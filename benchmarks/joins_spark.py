"""What does a window join of three streams cost on Spark, against what a user would write?

One run, the same rows, the same micro-batches:

    latecomer     window_join(..., recall=0.99): waits as long as that takes; results in order
    max           window_join(..., wait="max"): as long as the longest delay
    spark         two stream-stream joins in a row, withWatermark by the longest delay there is, so
                  that nothing is dropped. Somebody has to know it
    spark, short  the same with the wait that latecomer chose on average

Spark's join hands out a result as soon as all of its rows are there, in no order; its watermark
only says what may be forgotten. Ours holds rows to be able to hand out results in order of time. So
`recall` of both is the share of the true results, of those up to where the slowest is, and
`disordered` the share of the results that come after a later one.

    seconds     of the micro-batches after the second
    state_bytes what Spark reports, at its highest
    wait        the longest of all buckets, on average over time, in seconds

    python -m benchmarks.joins_spark [--seconds 120] [--rate 2000] [--json]
"""

import argparse
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import latecomer as lc
from latecomer.generate.micro_batches import write_micro_batches

SECOND = 1_000_000
WINDOW = 5
LONGEST = 20
"""No row is more seconds late."""
BATCH = 10
"""Seconds of arrivals in a micro-batch."""
SKIPPED = 2
BUCKETS = 2
RECALL = 0.99
NAMES = ("a", "b", "c")
SCHEMA = "time timestamp, arrival timestamp, key long, value double"

Build = Callable[[dict[str, DataFrame], float], DataFrame]


def stream(seed: int, seconds: int, rate: int) -> pa.Table:
    """Rows in order of arrival: one in five late, by a second on average and at most 20."""
    random = np.random.default_rng(seed)
    count = seconds * rate
    times = np.sort(random.integers(0, seconds * SECOND, count))
    late = np.minimum(random.exponential(SECOND, count), LONGEST * SECOND).astype(np.int64)
    arrivals = times + np.where(random.random(count) < 0.2, late, 0)
    order = np.argsort(arrivals, kind="stable")
    return pa.table(
        {
            "time": pa.array(times, pa.timestamp("us", "UTC")),
            "arrival": pa.array(arrivals, pa.timestamp("us", "UTC")),
            "key": random.integers(0, 5 * rate, count),
            "value": random.random(count),
        }
    ).take(pa.array(order))


def true_times(tables: dict[str, pa.Table]) -> npt.NDArray[np.int64]:
    """Find when all results are: by key, all combinations within the window."""
    frames = [
        table.select(["key", "time"]).to_pandas().assign(time=lambda f: f["time"].astype("int64"))
        for table in tables.values()
    ]
    pairs = frames[0].merge(frames[1], on="key", suffixes=("", "_1"))
    span = WINDOW * SECOND
    pairs = pairs[(pairs["time"] - pairs["time_1"]).abs() <= span]
    every = pairs.merge(frames[2], on="key", suffixes=("", "_2"))
    times = every[["time", "time_1", "time_2"]].to_numpy()
    latest = times.max(axis=1)
    return np.sort(latest[latest - times.min(axis=1) <= span])


def latecomer(**how: Any) -> Build:
    def build(dfs: dict[str, DataFrame], _wait: float) -> lc.JoinedStream:
        streams = {
            name: lc.disordered(df, time="time", arrival="arrival") for name, df in dfs.items()
        }
        within = f"{WINDOW} seconds"
        return lc.window_join(streams, within=within, on="key", buckets=BUCKETS, **how)

    return build


def sparks_own(wait: float | None) -> Build:
    def build(dfs: dict[str, DataFrame], chosen: float) -> DataFrame:
        delay = f"{round(1_000 * (chosen if wait is None else wait))} milliseconds"
        a, b, c = (
            df.withWatermark("time", delay).selectExpr(
                *(f"{column} AS {name}_{column}" for column in df.columns)
            )
            for name, df in dfs.items()
        )
        near = (
            "{0}_time BETWEEN {1}_time - INTERVAL {2} SECONDS AND {1}_time + INTERVAL {2} SECONDS"
        )
        by = "a_key = {0}_key AND "
        pairs = a.join(b, _expr(by.format("b") + near.format("b", "a", WINDOW)))
        # Spark takes one event time into the next join: that of the other is computed away.
        pairs = pairs.withColumn("b_time", _expr("timestamp_micros(unix_micros(b_time))"))
        both = near.format("c", "a", WINDOW) + " AND " + near.format("c", "b", WINDOW)
        joined = pairs.join(c, _expr(by.format("c") + both))
        return joined.selectExpr("greatest(a_time, b_time, c_time) AS time", "*")

    return build


def _expr(text: str) -> Any:
    from pyspark.sql import functions as F

    return F.expr(text)


METHODS: dict[str, Build] = {
    "latecomer": latecomer(recall=RECALL),
    "max": latecomer(wait="max"),
    "spark": sparks_own(LONGEST),
    "spark, short": sparks_own(None),
}


def run(spark: SparkSession, build: Build, files: Path, wait: float) -> dict[str, Any]:
    """Run a query to its end; gather when its results are, in the order in which they came."""
    read = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    built = build({name: read.parquet(str(files / name)) for name in NAMES}, wait)
    checkpoint = tempfile.mkdtemp(prefix="latecomer-joins-")
    times: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)]
    waits: list[tuple[Any, float]] = []

    def keep(df: DataFrame, _number: int) -> None:
        times.append(df.select("time").toPandas()["time"].astype("int64").to_numpy() // 1_000)

    def told(df: DataFrame, _number: int) -> None:
        waits.extend(
            (row["time"], row["wait"] / 1_000) for row in df.dropna(subset="wait").collect()
        )

    def skip(_df: DataFrame, _number: int) -> None:
        """Late rows are counted by the query; nothing is done with them here."""

    trigger = {"availableNow": True}
    if isinstance(built, lc.JoinedStream):
        late = ("late", *(f"late_{at}" for at in range(1, len(NAMES))))
        sinks = {"ready": keep, "recall": told, **dict.fromkeys(late, skip)}
        query = built.start(sinks, checkpoint=checkpoint, trigger=trigger)
    else:
        writer = built.writeStream.foreachBatch(keep).option("checkpointLocation", checkpoint)
        query = writer.trigger(**trigger).start()
    query.awaitTermination()
    if error := query.exception():
        raise error
    progress = [p for p in query.recentProgress if p["durationMs"].get("addBatch")]
    shutil.rmtree(checkpoint)
    steady = progress[SKIPPED:]
    found = np.concatenate(times)
    longest: dict[Any, float] = {}
    for at, each in waits:
        longest[at] = max(each, longest.get(at, 0.0))
    seconds = sum(p["durationMs"]["triggerExecution"] for p in steady) / 1e3
    rows = sum(p["numInputRows"] for p in steady)
    return {
        "seconds": round(seconds, 2),
        # To warm up there are too few micro-batches to be timed.
        "rows_per_second": round(rows / seconds) if seconds else None,
        "state_bytes": max(
            sum(operator["memoryUsedBytes"] for operator in p["stateOperators"]) for p in progress
        ),
        "wait": round(float(np.mean(list(longest.values()))), 3) if longest else None,
        "times": found,
    }


def measured(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    tables = {
        name: stream(seed, args.seconds, args.rate) for seed, name in enumerate(NAMES, args.seed)
    }
    work = Path(tempfile.mkdtemp(prefix="latecomer-joins-"))
    spark = lc.session()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        for name, table in tables.items():
            came = table["arrival"].cast(pa.int64()).to_numpy() // (BATCH * SECOND)
            for number in range(int(came.max()) + 1):
                part = table.filter(pa.array(came == number))
                write_micro_batches(part, work / "full" / name, 1, first=number)
                if number < SKIPPED:
                    write_micro_batches(part, work / "warm" / name, 1, first=number)
        true = true_times(tables)
        found: dict[str, dict[str, Any]] = {}
        wait = 0.0
        for method, build in METHODS.items():
            if not args.cold:
                run(spark, build, work / "warm", 1.0)
            found[method] = run(spark, build, work / "full", wait)
            wait = found[method]["wait"] if method == "latecomer" else wait
        # Some hold results back that others have handed out: compare where all have answered.
        until = min(int(each["times"].max()) for each in found.values())
        for method, result in found.items():
            times = result.pop("times")
            newest = np.maximum.accumulate(times) if len(times) else times
            yield {
                "benchmark": "joins_spark",
                "method": method,
                "rows": sum(table.num_rows for table in tables.values()),
                "results": len(times),
                "recall": round(float((times < until).sum() / (true < until).sum()), 5),
                "disordered": round(float((times < newest).mean()), 4),
                **result,
                "against_spark": round(found["spark"]["seconds"] / result["seconds"], 3),
                "spark_version": spark.version,
            }
    finally:
        spark.stop()
        shutil.rmtree(work)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=int, default=120, help="how much event time")
    parser.add_argument("--rate", type=int, default=2_000, help="rows a second of each stream")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cold", action="store_true", help="do not warm up before measuring")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    for line in measured(args := parser.parse_args()):
        words = "  ".join(f"{key} {value}" for key, value in line.items())
        print(json.dumps(line) if args.json else words, flush=True)


if __name__ == "__main__":
    main()
