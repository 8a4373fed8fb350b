"""Two executor processes, and Spark Connect: the same rows. Each needs a Spark of its own."""

import json
import subprocess
import sys
from collections import Counter
from datetime import timedelta

import pyarrow as pa
import pytest

from latecomer import agg
from latecomer.clock.policy import OneClock
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.sort import Sort
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from tests.support.batches import SECOND, TIME, expected, random_batches

JOB = """
import json, sys, tempfile
import pyarrow as pa
import latecomer as lc
from tests.support.batches import random_batches
from tests.support.short_lived import CONFIG
from tests.support.streaming import source

mode = sys.argv[1]
if mode == "connect":
    from pyspark.sql import SparkSession
    from latecomer.runtime.java import find_java, launcher_home
    import os
    os.environ["JAVA_HOME"] = str(launcher_home(find_java()))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark import SparkConf, SparkContext
    SparkContext._ensure_initialized(conf=SparkConf(False).setAll(CONFIG.items()))
    # PySpark then lets the server pick a free port instead of 15002, which may be taken. Set after
    # the JVM has started, which would behave differently.
    os.environ["SPARK_TESTING"] = "1"
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    spark = (
        SparkSession.builder.remote("local[2]")
        .config("spark.sql.streaming.stateStore.providerClass", provider)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
else:
    spark = lc.session(master=mode, config=CONFIG)

with tempfile.TemporaryDirectory() as directory:
    df = source(spark, random_batches(3), f"{directory}/rows")
    ordered = lc.disordered(df, time="time", key="key").sort(wait="7 seconds", buckets=3)
    query = ordered.start(
        {"ready": f"{directory}/ready", "late": f"{directory}/late"},
        checkpoint=f"{directory}/checkpoint",
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    out = {
        name: sorted([r.batch, r.id] for r in lc.read(spark, f"{directory}/{name}").collect())
        for name in ("ready", "late")
    }
    windows = lc.disordered(df, time="time").tumbling("5 seconds").wait("7 seconds")
    query = windows.group_by().aggregate(n=lc.agg.count(), least=lc.agg.min("id")).start(
        {"ready": f"{directory}/counts", "late": lambda *_: None},
        checkpoint=f"{directory}/of-counts",
        trigger={"availableNow": True},
        states="driver",
    )
    query.awaitTermination()
    counts = lc.read(spark, f"{directory}/counts").collect()
    out["counts"] = sorted([r.batch, r.window.start.timestamp(), r.n, r.least] for r in counts)
    batch = lc.disordered(spark.read.parquet(f"{directory}/rows"), time="time").sort(wait="0 s")
    out["whole"] = [[str(r.time), r.id] for r in batch.to_df().collect()]
    rows = spark.read.parquet(f"{directory}/rows").where("time IS NOT NULL")

    def joined(df):
        streams = {name: lc.disordered(df, time="time") for name in ("a", "b")}
        return lc.window_join(streams, within="1 second", on="key", recall=0.9, buckets=2)

    def written(df, name):
        # Without a function for each micro-batch: on Spark Connect that needs one more worker,
        # which has ten seconds to start, however busy the machine is.
        writer = df.writeStream.format("parquet").trigger(availableNow=True)
        writer = writer.option("checkpointLocation", f"{directory}/of-{name}")
        query = writer.start(f"{directory}/{name}")
        query.awaitTermination()
        return query

    query = written(joined(df).to_df(), "joined")
    out["streamed"] = sorted(
        [r.a_id, r.b_id] for r in spark.read.parquet(f"{directory}/joined").collect()
    )
    out["joined"] = sorted([r.a_id, r.b_id] for r in joined(rows).to_df().collect())
    out["achieved"] = lc.recall(query)[0.9].produced

    def nth(before, row):
        return before + 1, (row.id, before + 1)

    events = lc.disordered(df, time="time", key="key").optimistic(wait="7 seconds", buckets=2)
    steps = events.stateful(nth, initial=0, outputs="id long, nth long")
    written(steps.changelog_df(), "changes")
    changes = spark.read.parquet(f"{directory}/changes").collect()
    out["changes"] = [[r["_change_type"], r.id, r.nth] for r in changes]
    late = lc.inject_disorder(rows, time="time", fraction=0.5, delay="uniform:1s:30s", seed=1)
    late.write.parquet(f"{directory}/disordered")
    replay = spark.readStream.format("latecomer.replay").option("rowsPerBatch", 500)
    written = replay.load(f"{directory}/disordered").writeStream.format("parquet")
    written = written.option("checkpointLocation", f"{directory}/replay")
    written.trigger(availableNow=True).start(f"{directory}/replayed").awaitTermination()
    replayed = spark.read.parquet(f"{directory}/replayed").collect()
    out["replayed"] = sorted([str(r.arrival), r.id] for r in replayed)
    print(json.dumps(out))
spark.stop()
"""


def run(mode: str) -> dict[str, list]:
    done = subprocess.run(
        [sys.executable, "-c", JOB, mode], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def counts(batches: list[pa.Table]) -> list[list[float]]:
    """What the local host counts; on the driver it comes out one batch earlier."""
    summary = Summary((), (("n", agg.count()), ("least", agg.min("id"))))
    spec = Aggregation(TIME, Windows(5 * SECOND, 5 * SECOND), (7 * SECOND,), (summary,))
    ready, _ = expected(
        batches, Plan(Source(TIME), OneClock((7 * SECOND,)), "divert", (Stage((), (spec,)),))
    )
    return sorted(
        [n - 1, row.window["start"].timestamp(), row.n, row.least]
        for n, rows in ready.items()
        for row in rows
    )


def numbered(batches: list[pa.Table]) -> Counter[tuple[int, int]]:
    """Number the rows of each key in order of time, those that are not late."""
    plan = Plan(
        Source(TIME, ("key",)), OneClock((7 * SECOND,)), "divert", (Stage(("key",), (Sort(TIME),)),)
    )
    late = {row.id for rows in expected(batches, plan)[1].values() for row in rows}
    rows = [row for batch in batches for row in batch.to_pylist() if row["id"] not in late]
    found: Counter[tuple[int, int]] = Counter()
    count: Counter[object] = Counter()
    for row in sorted(rows, key=lambda row: row["time"]):
        count[row["key"]] += 1
        found[row["id"], count[row["key"]]] += 1
    return found


def pairs(batches: list[pa.Table]) -> set[tuple[int, int]]:
    """Find rows of one key that are within a second of each other."""
    rows = [row for batch in batches for row in batch.to_pylist() if row["time"] is not None]
    return {
        (a["id"], b["id"])
        for a in rows
        for b in rows
        if a["key"] == b["key"] is not None and abs(a["time"] - b["time"]) <= timedelta(seconds=1)
    }


@pytest.mark.jvm
@pytest.mark.parametrize("mode", ["local-cluster[2,1,1024]", "connect"])
def test_the_rows_of_the_local_host_come_out_elsewhere_too(mode: str) -> None:
    batches = random_batches(3)
    plan = Plan(
        Source(TIME, ("key",)), OneClock((7 * SECOND,)), "divert", (Stage(("key",), (Sort(TIME),)),)
    )
    ready, late = expected(batches, plan)

    got = run(mode)

    for name, want in (("ready", ready), ("late", late)):
        assert want
        assert got[name] == sorted([n, row.id] for n, rows in want.items() for row in rows)
    assert got["counts"] == counts(batches)
    streamed, joined = ({tuple(pair) for pair in got[name]} for name in ("streamed", "joined"))
    assert len(streamed) == len(got["streamed"]) > 0
    assert streamed <= joined
    assert joined == pairs(batches)
    assert 0 < got["achieved"] <= len(streamed)
    left = Counter()
    for change, row, nth in got["changes"]:
        left[row, nth] += 1 if change == "insert" else -1
    assert +left == numbered(batches)
    assert min(left.values()) == 0, "nothing was corrected"
    times = [time for time, _ in got["whole"]]
    with_time = [row for batch in batches for row in batch.to_pylist() if row["time"] is not None]
    assert sorted(number for _, number in got["whole"]) == [row["id"] for row in with_time]
    assert times == sorted(times)
    assert [number for _, number in sorted(got["replayed"], key=lambda row: row[1])] == [
        row["id"] for row in with_time
    ]
