"""Nexmark in Spark's own streaming, and the program that times it beside Latecomer.

    python -m benchmarks.nexmark_spark FILES OUT LONGEST FEW_FILES FEW_LONGEST SYSTEMS QUERIES

Both run in one session, query by query, each first on few rows, which is not measured: a session
takes long over the first micro-batches of its life. Answers are in OUT/SYSTEM/QUERY, as Parquet;
each line printed is JSON.

Latecomer keeps its state as it chooses itself, and where it needs a state store, in RocksDB.
Spark's own queries keep theirs in memory, which is Spark's default and was faster for them
(`benchmarks.peers`).
"""

import json
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import latecomer as lc
from benchmarks.nexmark_data import HOP, WAIT, WINDOW
from benchmarks.nexmark_queries import QUERIES, Streams, read

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
IN_MEMORY = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
NOW: dict[str, Any] = {"availableNow": True}
SIZE, EVERY, LATEST = (f"{each} milliseconds" for each in (WINDOW, HOP, WAIT))
START = "unix_millis(window.start) AS at_ms"

UNSUPPORTED = {
    "q4": "an average over all time of winning bids is an aggregate of an aggregate, and Spark "
    "allows the second one only in windows"
}
"""Queries that Spark's own streaming cannot express, and why."""


def waited(df: DataFrame) -> DataFrame:
    return df.withWatermark("time", LATEST)


def q1(given: Streams) -> DataFrame:
    euros = "price * 0.908D AS price"
    return given.bids.selectExpr("auction", "bidder", euros, "time_ms AS at_ms", "extra")


def q2(given: Streams) -> DataFrame:
    return given.bids.where("auction % 123 = 0").select("auction", "price")


def q3(given: Streams) -> DataFrame:
    persons = given.persons.where("state IN ('OR', 'ID', 'CA')").selectExpr(
        "id AS person", "name", "city", "state"
    )
    auctions = given.auctions.where("category = 10").select("id", "seller")
    sold = auctions.join(persons, F.expr("seller = person"))
    return sold.select("name", "city", "state", "id")


def q5(given: Streams) -> DataFrame:
    windows = F.window("time", SIZE, EVERY)
    counts = waited(given.bids).groupBy(windows, "auction").agg(F.count("*").alias("n"))
    all_of_window = counts.groupBy("window").agg(
        F.collect_list(F.struct("auction", "n")).alias("counts"), F.max("n").alias("most")
    )
    hot = "inline(filter(counts, each -> each.n = most)) AS (auction, n)"
    return all_of_window.selectExpr(START, hot)


def q7(given: Streams) -> DataFrame:
    bid = F.struct("price", F.col("time_ms").alias("bid_at"), "auction", "bidder")
    # Of equal prices the first bid.
    rank = F.struct("price", -F.col("time_ms"))
    highest = F.max_by(bid, rank).alias("bid")
    return (
        waited(given.bids).groupBy(F.window("time", SIZE)).agg(highest).selectExpr(START, "bid.*")
    )


def q8(given: Streams) -> DataFrame:
    persons = waited(given.persons).select("id", "name", F.window("time", SIZE).alias("window"))
    auctions = waited(given.auctions).select("seller", F.window("time", SIZE).alias("other"))
    new = persons.join(auctions, F.expr("id = seller AND window = other"))
    return new.dropDuplicates(["id", "window"]).selectExpr("id", "name", START)


def q9(given: Streams) -> DataFrame:
    longest = f"INTERVAL '{given.longest.total_seconds()}' SECOND"
    auctions = waited(given.auctions).selectExpr("id", "category", "time AS opened", "expires_ms")
    in_time = waited(given.bids).join(
        auctions,
        F.expr(
            "auction = id AND time_ms <= expires_ms "
            f"AND time >= opened AND time <= opened + {longest}"
        ),
    )
    bid = F.struct("price", F.col("time_ms").alias("bid_at"), "bidder")
    highest = F.max_by(bid, F.struct("price", -F.col("time_ms"))).alias("bid")
    session = F.session_window("time", f"{given.longest.total_seconds()} seconds")
    winning = in_time.groupBy(session, "auction", "category").agg(highest)
    return winning.select("auction", "category", "bid.*")


def q11(given: Streams) -> DataFrame:
    session = F.session_window("time", SIZE)
    counts = waited(given.bids).groupBy(session, "bidder").agg(F.count("*").alias("n"))
    return counts.selectExpr("bidder", "unix_millis(session_window.start) AS at_ms", "n")


def q12(given: Streams) -> DataFrame:
    arrived = given.bids.withWatermark("arrival", "0 seconds")
    counts = arrived.groupBy(F.window("arrival", SIZE), "bidder").agg(F.count("*").alias("n"))
    return counts.selectExpr("bidder", START, "n")


OWN: dict[str, Callable[[Streams], DataFrame]] = {
    each.__name__: each for each in (q1, q2, q3, q5, q7, q8, q9, q11, q12)
}


def own(query: str, given: Streams, out: Path) -> Any:
    """Start a query in Spark's own streaming."""
    writer = OWN[query](given).writeStream.format("parquet")
    return writer.option("checkpointLocation", f"{out}.checkpoint").trigger(**NOW).start(str(out))


def ours(query: str, given: Streams, out: Path) -> Any:
    """Start a query in Latecomer."""
    made = QUERIES[query](given)

    def keep(df: DataFrame, number: int) -> None:
        made.answer(df).write.mode("overwrite").parquet(f"{out}/{number}")

    return made.stream.start(
        {"ready": keep}, checkpoint=f"{out}.checkpoint", trigger=NOW, **made.options
    )


def seconds(system: str, query: str, given: Streams, out: Path) -> float:
    """Run a query to its end."""
    began = time.perf_counter()
    running = (ours if system == "latecomer" else own)(query, given, out)
    running.awaitTermination()
    took = time.perf_counter() - began
    if error := running.exception():
        raise error
    shutil.rmtree(f"{out}.checkpoint")
    return took


def main() -> None:
    files, out, longest, few_files, few_longest, systems, queries = sys.argv[1:]
    spark = lc.session("nexmark")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    in_rocks = spark.conf.get(PROVIDER)
    cores = f"{spark.sparkContext.master}, "
    cores += f"{spark.conf.get('spark.sql.shuffle.partitions')} shuffle partitions"
    for query in queries.split(","):
        for system in systems.split(","):
            line = {"query": query, "system": system, "version": spark.version, "settings": cores}
            if system == "latecomer":
                line["version"] = f"{lc.__version__} on Spark {spark.version}"
            elif query in UNSUPPORTED:
                print(json.dumps(line | {"error": UNSUPPORTED[query]}), flush=True)
                continue
            spark.conf.set(PROVIDER, in_rocks if system == "latecomer" else IN_MEMORY)
            place = Path(out) / system / query
            place.parent.mkdir(parents=True, exist_ok=True)
            try:
                if few_files:
                    few = read(spark, few_files, int(few_longest))
                    seconds(system, query, few, Path(f"{place}-few"))
                took = seconds(system, query, read(spark, files, int(longest)), place)
            except Exception as error:  # noqa: BLE001 - the others go on
                line["error"] = str(error).splitlines()[0]
            else:
                line["seconds"] = took
            print(json.dumps(line), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
