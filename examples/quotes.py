"""Join bids, asks and trades of a symbol within 5 seconds, and lose at most 1 % of the results.

Three feeds come over different lines: most rows come at once, some a few seconds late, and for two
minutes one of the lines is overloaded. A fixed wait is too short then, or too long at other times.

    python examples/quotes.py [quotes.html]

Here you state the recall that you need, and the join waits longer while delays are longer. The page
shows the wait and the recall over time.
"""

import argparse
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import latecomer as lc

SECOND = 1_000_000
MINUTES, SEED, SYMBOLS = 6, 7, 40
PER_SECOND = {"bid": 20, "ask": 20, "trade": 10}
EVERY = "1 minute"
"""Length of a micro-batch in time of arrival."""
OPENS = 1_718_000_000 * SECOND
RECALL, PERIOD = 0.99, timedelta(minutes=1)


def feed(name: str, seed: int) -> pa.Table:
    """Generate one feed in order of arrival; the line of asks is overloaded in minutes 2 to 4."""
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
    """Generate all feeds."""
    return {name: feed(name, SEED + i) for i, name in enumerate(PER_SECOND)}


def arriving(spark: SparkSession, table: pa.Table, path: str) -> DataFrame:
    """Replay the rows of a feed, a minute in each micro-batch."""
    pq.write_table(table, path)
    replay = spark.readStream.format("latecomer.replay").option("arrivalPerBatch", EVERY)
    return replay.load(path)


def main(spark: SparkSession, page: Path | None = None) -> tuple[list[Any], list[Any]]:
    """Join the feeds; return the results, and the join's reports of its recall."""
    results: list[Any] = []
    reports: list[Any] = []
    with tempfile.TemporaryDirectory() as directory:
        streams = {
            name: lc.disordered(
                arriving(spark, table, f"{directory}/{name}.parquet"),
                time="time",
                arrival="arrival",
            )
            for name, table in feeds().items()
        }
        joined = lc.window_join(streams, within="5 seconds", on="symbol", recall=RECALL, buckets=1)
        query = joined.start(
            {
                "ready": lambda df, _: results.extend(df.collect()),
                "recall": lambda df, _: reports.extend(row.asDict() for row in df.collect()),
                # Quotes that came too late for every window; the recall counts the lost results.
                **dict.fromkeys(("late", "late_1", "late_2"), lambda *_: None),
            },
            checkpoint=f"{directory}/checkpoint",
            trigger={"availableNow": True},
        )
        query.awaitTermination()
    waits = [row["wait"] / 1_000 for row in reports if row["wait"] is not None]
    produced, missed = (sum(row[name] for row in reports) for name in ("produced", "missed"))
    print(f"the join waited {min(waits):.2f} to {max(waits):.2f} s")
    print(f"{len(results):,} results; {produced / (produced + missed):.2%} of the true ones so far")
    if page is not None:
        title = "Bids, asks and trades within 5 seconds"
        page.write_text(lc.recall_page(reports, title=title, period=PERIOD), encoding="utf-8")
        print(f"the wait and the recall over time: {page}")
    return results, reports


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("page", nargs="?", type=Path, default=Path("quotes.html"))
    page = parser.parse_args().page
    main(lc.session("quotes"), page)
