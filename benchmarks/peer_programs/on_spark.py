"""Latecomer, and Spark's own `withWatermark`, on the same session and in the same micro-batches."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import latecomer as lc

SCHEMA = "time_ms long, key int, value double"
NEAR = "a_time BETWEEN b_time - INTERVAL 5 SECONDS AND b_time + INTERVAL 5 SECONDS"
IN_MEMORY = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
TRIGGER: dict[str, Any] = {"availableNow": True}


def read(files: Path) -> DataFrame:
    reader = lc.session().readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.csv(str(files / "batches")).withColumn("time", F.timestamp_millis("time_ms"))


def write(df: DataFrame, out: Path) -> Any:
    writer = df.writeStream.format("csv").option("checkpointLocation", f"{out}/.checkpoint")
    return writer.trigger(**TRIGGER).start(str(out / "results"))


def spark_count(files: Path, out: Path) -> Any:
    rows = read(files).withWatermark("time", "60 seconds")
    counts = rows.groupBy(F.window("time", "10 seconds"), "key").count()
    return write(counts.select(F.unix_millis("window.start"), "key", "count"), out)


def spark_join(files: Path, out: Path) -> Any:
    a, b = (
        read(files / side)
        .withWatermark("time", "60 seconds")
        .selectExpr(f"time AS {side}_time", f"time_ms AS {side}_ms", f"key AS {side}_key")
        for side in ("a", "b")
    )
    joined = a.join(b, F.expr(f"a_key = b_key AND {NEAR}"))
    return write(joined.select("a_ms", "b_ms", "a_key"), out)


def without_state(question: str, files: Path, out: Path) -> Any:
    """Read the rows, and to join pass them through Python; write none."""
    rows = read(files) if question == "count" else read(files / "a").union(read(files / "b"))
    if question == "join":
        rows = rows.mapInArrow(_same, rows.schema)
    writer = rows.writeStream.format("noop").option("checkpointLocation", f"{out}/.checkpoint")
    return writer.trigger(**TRIGGER).start()


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return batches


def our_count(files: Path, out: Path, way: str) -> Any:
    rows = lc.disordered(read(files), time="time", key="key").tumbling("10 seconds")
    ordered = rows.wait("60 seconds", late="drop")
    counts = ordered.group_by("key").aggregate(n=lc.agg.count())

    def keep(df: DataFrame, number: int) -> None:
        told = df.select(F.unix_millis("window.start"), "key", "n")
        told.write.csv(f"{out}/results/{number}")

    return counts.start(
        {"ready": keep},
        checkpoint=f"{out}/.checkpoint",
        trigger=TRIGGER,
        states="driver" if way == "states on the driver" else "buckets",
    )


def our_join(files: Path, out: Path) -> Any:
    streams = {side: lc.disordered(read(files / side), time="time") for side in ("a", "b")}
    joined = lc.window_join(streams, within="5 seconds", on="key", wait="60 seconds").to_df()
    names = [column for column in joined.columns if column.endswith("time_ms")]
    key = next(column for column in joined.columns if column.endswith("key"))
    return write(joined.select(*names, key), out)


def main() -> None:
    question, way, files, out = sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])
    spark = lc.session()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    settings = f"local[2], {spark.conf.get('spark.sql.shuffle.partitions')} shuffle partitions"
    if way == "Spark, state in memory":
        spark.conf.set("spark.sql.streaming.stateStore.providerClass", IN_MEMORY)
    elif way != "Spark, without state":
        settings += ", state in RocksDB"
    version = f"{lc.__version__} on Spark {spark.version}"
    if way == "Spark, without state":
        version = spark.version
        query = without_state(question, files, out)
    elif way.startswith("Spark"):
        version = spark.version
        query = spark_count(files, out) if question == "count" else spark_join(files, out)
    else:
        query = our_count(files, out, way) if question == "count" else our_join(files, out)
    query.awaitTermination()
    if error := query.exception():
        raise error
    print(json.dumps({"version": version, "settings": settings}))
    spark.stop()


if __name__ == "__main__":
    main()
