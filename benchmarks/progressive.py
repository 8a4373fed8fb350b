"""How soon does a progressive query give its first answer, and what does the last one cost?

The query is a count, and a sum and mean of a value, by 1,000 keys of a Parquet table. Spark's own
`groupBy` takes turns with `latecomer.progressive` in the steps that it chooses, with a column that
identifies rows and without one. Every line is one cell; ratios are to Spark's own query in the same
run.

    cheap      the value is a column, so reading takes most of the time
    costly     the value is a hash of text, which is the case that early answers are for

    first_s    seconds until the first answer, from 1 % of the rows
    total_s    seconds until the last answer, which is exact
    error      average error of the first counts, as a share
    within     share of the first counts whose bounds contain the true count

    python -m benchmarks.progressive [--rows 10000000] [--quick] [--json]
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import latecomer as lc

ROWS, QUICK_ROWS = 10_000_000, 1_000_000
ROUNDS = 3
VALUES = {
    "cheap": "delay",
    "costly": "delay * length(sha2(sha2(sha2(concat(carrier, id), 512), 512), 512))",
}


def table(spark: Any, rows: int, directory: str) -> DataFrame:
    flights = spark.range(rows).selectExpr(
        "id",
        "pmod(xxhash64(id, 1), 1000) AS origin",
        "CAST(pmod(xxhash64(id, 2), 10000) AS DOUBLE) / 100 AS delay",
        "timestamp_seconds(id) AS departed",
        "concat('carrier ', pmod(id, 17)) AS carrier",
    )
    flights.write.parquet(f"{directory}/flights")
    return spark.read.parquet(f"{directory}/flights")


def by_spark(df: DataFrame, value: str) -> dict[str, Any]:
    began = time.perf_counter()
    results = F.count("*").alias("n"), F.sum(F.expr(value)), F.avg(F.expr(value))
    found = df.groupBy("origin").agg(*results).toArrow()
    took = time.perf_counter() - began
    return {"first_s": took, "total_s": took, "groups": found.num_rows}


def by_steps(df: DataFrame, value: str, by: str | None) -> dict[str, Any]:
    began = time.perf_counter()
    asked = {"n": lc.agg.count(), "total": lc.agg.sum(value), "mean": lc.agg.mean(value)}
    grouped = lc.progressive(df, by=by).group_by("origin")
    answers, at = [], []
    for answer in grouped.aggregate(**asked):
        answers.append(answer.table.sort_by("origin"))
        at.append(time.perf_counter() - began)
    first, last = answers[0], answers[-1]
    exact = last.filter(pc.is_in(last["origin"], first["origin"].combine_chunks()))
    truth, low, high, guess = (
        t[c].to_numpy()
        for t, c in ((exact, "n"), (first, "n_low"), (first, "n_high"), (first, "n"))
    )
    return {
        "first_s": at[0],
        "total_s": at[-1],
        "groups": last.num_rows,
        "error": round(float(np.mean(np.abs(guess - truth) / truth)), 4),
        "within": round(float(np.mean((low <= truth) & (truth <= high))), 3),
    }


def compare(df: DataFrame, value: str, rounds: int) -> Iterator[dict[str, Any]]:
    ways: dict[str, Callable[[], dict[str, Any]]] = {
        "spark": lambda: by_spark(df, value),
        "by id": lambda: by_steps(df, value, "id"),
        "by all columns": lambda: by_steps(df, value, None),
    }
    best: dict[str, dict[str, Any]] = {}
    for turn in range(rounds):
        for name in sorted(ways, reverse=bool(turn % 2)):
            found = ways[name]()
            if name not in best or found["total_s"] < best[name]["total_s"]:
                best[name] = found
    whole = best["spark"]["total_s"]
    for name, found in best.items():
        times = {key: round(found[key], 2) for key in ("first_s", "total_s")}
        yield (
            {"cell": name}
            | found
            | times
            | {
                "first_over_spark": round(found["first_s"] / whole, 2),
                "total_over_spark": round(found["total_s"] / whole, 2),
            }
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of which the best counts")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    arguments = parser.parse_args()
    rows = QUICK_ROWS if arguments.quick else arguments.rows
    spark = lc.session("benchmark", master="local[2]")
    with tempfile.TemporaryDirectory() as directory:
        df = table(spark, rows, directory)
        for question, value in VALUES.items():
            for cell in compare(df, value, arguments.rounds):
                line = {"benchmark": "progressive", "rows": rows, "question": question} | cell
                words = "  ".join(f"{key} {each}" for key, each in line.items())
                print(json.dumps(line) if arguments.json else words, flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
