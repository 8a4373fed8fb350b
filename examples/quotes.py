"""Join bids, asks and trades of a symbol within 5 seconds, and lose at most 1 % of the results.

    python examples/quotes.py [quotes.html]

Three feeds come over different lines. Most rows come at once, some a few seconds late, and for two
minutes one of the lines is overloaded. Nobody has to guess how long to wait: the join is told the
recall, and waits longer while delays are longer. The page shows the wait and the recall over time.
"""

import sys
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import latecomer as lc
from latecomer.generate.micro_batches import write_micro_batches
from latecomer.report.recall_page import over, recall_page

SECOND = 1_000_000
MINUTES, SEED, SYMBOLS = 6, 7, 40
PER_SECOND = {"bid": 20, "ask": 20, "trade": 10}
EVERY = 30
"""Seconds between two micro-batches."""
OPENS = 1_718_000_000 * SECOND
RECALL, PERIOD = 0.99, timedelta(minutes=1)
SCHEMA = "time timestamp, arrival timestamp, symbol string, price double"


def feed(name: str, seed: int) -> pa.Table:
    """Make up one feed in order of arrival; from minute 2 to 4 its line is overloaded, if asks."""
    random = np.random.default_rng(seed)
    count = PER_SECOND[name] * 60 * MINUTES
    times = np.sort(random.integers(0, 60 * MINUTES * SECOND, count))
    minute = times // (60 * SECOND)
    is_slow = (minute >= 2) & (minute < 4) & (name == "ask")
    usual = random.choice([0, 0, 0, 0, 200, 1_000], count)
    delays = np.where(is_slow, random.choice([0, 500, 2_000, 6_000], count), usual) * 1_000
    arrivals = times + delays
    order = np.argsort(arrivals, kind="stable")
    symbols = np.array([f"S{i:02}" for i in range(SYMBOLS)])
    return pa.table(
        {
            "time": pa.array(times + OPENS, pa.timestamp("us", "UTC")),
            "arrival": pa.array(arrivals + OPENS, pa.timestamp("us", "UTC")),
            "symbol": random.choice(symbols, count),
            "price": np.round(random.normal(100, 5, count), 2),
        }
    ).take(pa.array(order))


def feeds() -> dict[str, pa.Table]:
    """Make up all feeds."""
    return {name: feed(name, SEED + i) for i, name in enumerate(PER_SECOND)}


def arriving(table: pa.Table, directory: Path) -> str:
    """Write the rows of a feed as files, one for each half minute in which they arrive."""
    came = table["arrival"].cast(pa.int64()).to_numpy() - OPENS
    steps = came // (EVERY * SECOND)
    for step in range(60 * MINUTES // EVERY):
        rows = table.filter(pa.array(steps == step))
        write_micro_batches(rows, str(directory), 1, first=step)
    return str(directory)


def main(spark: SparkSession, page: Path | None = None) -> tuple[list[Any], list[Any]]:
    """Join the feeds; return the results, and what the join tells of its recall."""
    results: list[Any] = []
    told: list[Any] = []
    with tempfile.TemporaryDirectory() as directory:
        streams = {}
        for name, table in feeds().items():
            files = arriving(table, Path(directory, name))
            read = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
            streams[name] = lc.disordered(read.parquet(files), time="time", arrival="arrival")
        joined = lc.window_join(streams, within="5 seconds", on="symbol", recall=RECALL, buckets=1)
        query = joined.start(
            {
                "ready": lambda df, _: results.extend(df.collect()),
                "recall": lambda df, _: told.extend(row.asDict() for row in df.collect()),
            },
            checkpoint=f"{directory}/checkpoint",
            trigger={"availableNow": True},
        )
        query.awaitTermination()
    for point in over(told, PERIOD)[::30]:
        clock = timedelta(microseconds=point.time - OPENS)
        recall = "unknown" if point.recall is None else f"{100 * point.recall:.2f} %"
        print(f"{clock}: waits {point.wait / SECOND:.2f} s, recall of the last minute {recall}")
    print(f"{len(results):,} results")
    if page is not None:
        title = "Bids, asks and trades within 5 seconds"
        page.write_text(recall_page(told, title=title, period=PERIOD), encoding="utf-8")
        print(f"the wait and the recall over time: {page}")
    return results, told


if __name__ == "__main__":
    written = Path(sys.argv[1] if len(sys.argv) > 1 else "quotes.html")
    main(lc.session("quotes"), written)
