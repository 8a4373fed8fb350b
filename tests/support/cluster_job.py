"""Every kind of query through Spark Connect on two executor processes; run by test_cluster.py.

Usage: python -m tests.support.cluster_job
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming import StreamingQuery

import latecomer as lc
from latecomer.hosts.spark.listening import Listening
from latecomer.hosts.status import Status
from latecomer.runtime.java import find_java, launcher_home
from tests.support.batches import random_batches
from tests.support.short_lived import CONFIG
from tests.support.streaming import source

PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def connect() -> SparkSession:
    os.environ["JAVA_HOME"] = str(launcher_home(find_java()))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False).setAll(CONFIG.items()))
    # PySpark then lets the server choose a free port instead of 15002, which may be in use. The JVM
    # would behave differently too, so this is set only after it has started.
    os.environ["SPARK_TESTING"] = "1"
    return (
        SparkSession.builder.remote("local-cluster[2,1,1024]")
        .config("spark.sql.streaming.stateStore.providerClass", PROVIDER)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )


def main(spark: SparkSession, directory: Path) -> dict[str, Any]:
    df = source(spark, random_batches(3), f"{directory}/rows")
    rows = spark.read.parquet(f"{directory}/rows").where("time IS NOT NULL")
    whole = lc.disordered(rows, time="time").sort(wait="0 s").to_df().collect()
    with lc.listen(spark, port=0) as listening:
        found = {
            **in_order(df, directory),
            "counts": counted_on_the_driver(df, directory),
            **joined(df, rows, directory),
            "exported": [each.to_dict() for each in told(listening, "in order", "joined")],
        }
    return {
        "master": spark.conf.get("spark.master"),
        **found,
        "whole": [[str(row.time), row.id] for row in whole],
        "changes": numbered(df, directory),
        "replayed": replayed(rows, directory),
    }


def told(listening: Listening, *names: str) -> list[Status]:
    """Return the statuses of queries that have ended; on Spark Connect, events arrive later."""
    for _ in range(600):
        found = {each.query: each for each in listening.statuses() if not each.is_active}
        if found.keys() >= {*names}:
            break
        time.sleep(0.5)
    return [found[name] for name in names]


def in_order(df: DataFrame, directory: Path) -> dict[str, Any]:
    events = lc.disordered(df, time="time", key="key").sort(wait="7 seconds", buckets=3)
    names = ("ready", "late")
    query = events.start(
        {name: f"{directory}/{name}" for name in names},
        checkpoint=f"{directory}/checkpoint",
        trigger={"availableNow": True},
        name="in order",
    )
    query.awaitTermination()
    read = {name: lc.read(df.sparkSession, f"{directory}/{name}").collect() for name in names}
    found = {name: sorted([row.batch, row.id] for row in rows) for name, rows in read.items()}
    return {**found, "status": lc.status(query).to_dict()}


def counted_on_the_driver(df: DataFrame, directory: Path) -> list:
    windows = lc.disordered(df, time="time").tumbling("5 seconds").wait("7 seconds").group_by()
    query = windows.aggregate(n=lc.agg.count(), least=lc.agg.min("id")).start(
        {"ready": f"{directory}/counts", "late": lambda *_: None},
        checkpoint=f"{directory}/of-counts",
        trigger={"availableNow": True},
        states="driver",
    )
    query.awaitTermination()
    rows = lc.read(df.sparkSession, f"{directory}/counts").collect()
    assert lc.status(query).rows.ready == len(rows)
    return sorted([row.batch, row.window.start.timestamp(), row.n, row.least] for row in rows)


def joined(df: DataFrame, rows: DataFrame, directory: Path) -> dict[str, Any]:
    def join(rows: DataFrame) -> DataFrame:
        streams = {name: lc.disordered(rows, time="time") for name in ("a", "b")}
        on = lc.window_join(streams, within="1 second", on="key", recall=0.9, buckets=2)
        return on.to_df()

    query = written(join(df), directory / "joined", "joined")
    streamed = df.sparkSession.read.parquet(f"{directory}/joined").collect()
    return {
        "streamed": sorted([row.a_id, row.b_id] for row in streamed),
        "joined": sorted([row.a_id, row.b_id] for row in join(rows).collect()),
        "achieved": lc.recall(query)[0.9].produced,
        "plain": lc.status(query).to_dict(),
    }


def numbered(df: DataFrame, directory: Path) -> list:
    def nth(before: int, row: Row) -> tuple[int, tuple[int, int]]:
        return before + 1, (row.id, before + 1)

    events = lc.disordered(df, time="time", key="key").optimistic(wait="7 seconds", buckets=2)
    steps = events.stateful(nth, initial=0, outputs="id long, nth long")
    written(steps.changelog_df(), directory / "changes")
    changes = df.sparkSession.read.parquet(f"{directory}/changes").collect()
    return [[row["_change_type"], row.id, row.nth] for row in changes]


def replayed(rows: DataFrame, directory: Path) -> list:
    late = lc.inject_disorder(rows, time="time", fraction=0.5, delay="uniform:1s:30s", seed=1)
    late.write.parquet(f"{directory}/disordered")
    replay = rows.sparkSession.readStream.format("latecomer.replay").option("rowsPerBatch", 500)
    written(replay.load(f"{directory}/disordered"), directory / "replayed")
    arrived = rows.sparkSession.read.parquet(f"{directory}/replayed").collect()
    return sorted([str(row.arrival), row.id] for row in arrived)


def written(df: DataFrame, directory: Path, name: str | None = None) -> StreamingQuery:
    """Write without `foreachBatch`.

    On Spark Connect, `foreachBatch` needs one more worker, which must start within ten seconds even
    on a busy machine.
    """
    writer = df.writeStream.format("parquet").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", f"{directory}-checkpoint")
    query = (writer.queryName(name) if name else writer).start(str(directory))
    query.awaitTermination()
    return query


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        connected = connect()
        print(json.dumps(main(connected, Path(name))))
        connected.stop()
