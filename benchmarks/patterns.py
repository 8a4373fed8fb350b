"""How many rows a second does a pattern process, on one core and on Spark?

The pattern is that of the Impatience paper: users who click on X and then on Y within a minute.
Users click at random on X, Y or one of eight other ads, ten seconds apart on average (half a second
with `dense`).

    local    the operator in this process, without a sort, and an automaton in plain Python: a
             dictionary from users to matches under way, row by row, which only counts matches
    where    the same with a condition on both rows, compiled and called row by row
    spark    a whole batch query with the sort, and a self-join in Spark SQL that finds the first Y
             after each X; both read only X and Y
    dense    the same, on rows for which the join makes many pairs before it keeps the first

    python -m benchmarks.patterns [--rows 2000000] [--only local] [--json]
"""

import argparse
import json
import time
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import latecomer as lc
from latecomer.hosts.local import MemoryChunks
from latecomer.operators.patterns import where
from latecomer.operators.patterns.automaton import compiled
from latecomer.operators.patterns.detect import Detect
from latecomer.operators.patterns.shapes import Event, Then
from latecomer.time import TimeColumn

ROWS, BATCH, ADS, ROUNDS = 2_000_000, 250_000, 10, 3
SECOND = 1_000_000
WITHIN = 60 * SECOND
APART, DENSE = 10 * SECOND, SECOND // 2
"""Average time between two clicks of a user."""
TIME = TimeColumn("time", "us")


def clicks(count: int, apart: int = APART) -> pa.Table:
    random = np.random.default_rng(3)
    users = max(1, count // 2_000)
    ad = random.integers(0, ADS, count)
    return pa.table(
        {
            "time": np.sort(random.integers(0, count * apart // users, count)),
            "user": random.integers(0, users, count),
            "ad": ad,
            "price": random.integers(0, 100, count),
            "is_x": ad == 0,
            "is_y": ad == 1,
        }
    )


def operator(rows: pa.Table, question: Callable[..., bool] | None = None) -> int:
    """Find matches with the operator."""
    shape = Then(Event("x", "is_x"), Event("y", "is_y", question))
    running = Detect(TIME, ("user",), compiled(shape), WITHIN).start(rows.schema, MemoryChunks())
    found = 0
    for start in range(0, rows.num_rows, BATCH):
        batch = rows.slice(start, BATCH)
        found += running.push(batch).ready.num_rows
        running.advance(int(batch["time"][-1].as_py()))
    return found


def plain_python(rows: pa.Table) -> int:
    """Count matches in a loop, with the clicks on X under way by user."""
    under_way: dict[int, deque[int]] = defaultdict(deque)
    found = 0
    for at, user, ad in zip(*(rows[n].to_pylist() for n in ("time", "user", "ad")), strict=True):
        if ad == 0:
            under_way[user].append(at)
        elif ad == 1:
            found += sum(at - x <= WITHIN for x in under_way[user])
            under_way[user].clear()
    return found


def is_cheaper(row: Any, x: Any) -> bool:
    return row.price < x.price


def seconds(*runs: Callable[[], int]) -> tuple[list[float], int]:
    """Return the best time of each run, measured in turns, and the result of the first run."""
    best, found = [float("inf")] * len(runs), [0] * len(runs)
    for _ in range(ROUNDS):
        for way, run in enumerate(runs):
            start = time.perf_counter()
            found[way] = run()
            best[way] = min(best[way], time.perf_counter() - start)
    # The operator orders clicks of equal time; the join does not.
    assert all(abs(found[0] - other) <= found[0] / 100 for other in found), found
    return best, found[0]


def local(rows: pa.Table) -> dict[str, Any]:
    operator(rows.slice(0, 1_000))
    (ours, theirs), found = seconds(lambda: operator(rows), lambda: plain_python(rows))
    return result("local", rows, found, ours) | {
        "python_rows_per_second": round(rows.num_rows / theirs),
        "over_python": round(theirs / ours, 1),
    }


def asked(rows: pa.Table) -> dict[str, Any]:
    first = time.perf_counter()
    operator(rows.slice(0, where.COMPILED_FROM * ADS), is_cheaper)
    first = time.perf_counter() - first
    # An object that is no plain function is not compiled.
    ways = (lambda: operator(rows, is_cheaper), lambda: operator(rows, Called()))
    (ours, called), found = seconds(*ways)
    return result("where", rows, found, ours) | {
        "first_seconds": round(first, 1),
        "over_called": round(called / ours, 1),
    }


class Called:
    """A condition that cannot be compiled."""

    def __call__(self, row: Any, x: Any) -> bool:
        return is_cheaper(row, x)


SELF_JOIN = """
    SELECT count(*) FROM (
        SELECT x.user, x.time, min(y.time) AS next
        FROM clicks x JOIN clicks y
            ON x.user = y.user AND y.time > x.time AND y.time <= x.time + INTERVAL 1 MINUTE
        WHERE x.ad = 0 AND y.ad = 1
        GROUP BY x.user, x.time, x.id
    )
"""


def dense(rows: pa.Table) -> dict[str, Any]:
    return on_spark(clicks(rows.num_rows, DENSE)) | {"question": "dense"}


def on_spark(rows: pa.Table) -> dict[str, Any]:
    spark = lc.session("latecomer-patterns", master="local[2]")
    times = rows["time"].cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    table = rows.select(["user", "ad", "price"]).append_column("time", times)
    df = spark.createDataFrame(table.append_column("id", pa.array(range(table.num_rows))))
    df = df.repartition(2).cache()
    df.createOrReplaceTempView("clicks")
    pattern = lc.event("x", "ad = 0").then("y", "ad = 1").within("1 minute")
    events = lc.disordered(df, time="time", key="user").where("ad < 2").select("user", "time", "ad")
    matches = events.sort(wait="1 minute").detect(pattern)
    (ours, theirs), found = seconds(matches.to_df().count, lambda: spark.sql(SELF_JOIN).first()[0])
    return result("spark", rows, found, ours) | {
        "join_rows_per_second": round(rows.num_rows / theirs),
        "over_join": round(theirs / ours, 2),
    }


def result(question: str, rows: pa.Table, found: int, spent: float) -> dict[str, Any]:
    return {
        "question": question,
        "rows": rows.num_rows,
        "matches": found,
        "rows_per_second": round(rows.num_rows / spent),
    }


QUESTIONS = {"local": local, "where": asked, "spark": on_spark, "dense": dense}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--only", choices=QUESTIONS, help="just this question")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = clicks(arguments.rows)
    for name, ask in QUESTIONS.items():
        if arguments.only in (None, name):
            told = ask(rows)
            line = ", ".join(f"{key} {value}" for key, value in told.items())
            print(json.dumps(told) if arguments.json else line, flush=True)


if __name__ == "__main__":
    main()
