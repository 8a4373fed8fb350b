"""Flink: Nexmark in SQL, in streaming mode; two tasks, a file each. Called as

    PROGRAM FILES OUT FEW_FILES QUERY

by `benchmarks.nexmark`. The query runs first on few rows, which is not measured. Answers are in
OUT/QUERY, as CSV. Those of queries 4 and 9 are updates of what was said before, which files cannot
keep, so they are printed.

Checkpoints go to files: in memory, which is Flink's default, the state of a task is limited to
5 MiB. And a job that fails ends: by default it begins again from its last checkpoint, for ever.
"""

import json
import sys
import time
from importlib.metadata import version

COLUMNS = {
    "persons": "id BIGINT, name STRING, city STRING, state STRING, extra STRING",
    "auctions": "id BIGINT, item STRING, initial_bid BIGINT, reserve BIGINT, expires_ms BIGINT, "
    "seller BIGINT, category BIGINT, extra STRING",
    "bids": "auction BIGINT, bidder BIGINT, price BIGINT, extra STRING",
}
TABLE = """
CREATE TABLE {table} (
    {columns}, time_ms BIGINT, arrival_ms BIGINT,
    ts AS TO_TIMESTAMP_LTZ({clock}_ms, 3), WATERMARK FOR ts AS ts - INTERVAL '{wait}' SECOND
) WITH ('connector' = 'filesystem', 'path' = 'file://{files}/{name}', 'format' = 'csv')
"""
TO_FILES = "'connector' = 'filesystem', 'path' = 'file://{out}/{query}', 'format' = 'csv'"
TO_PRINT = "'connector' = 'print', 'print-identifier' = '{name}'"
START = "CAST(TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', window_start) AS BIGINT)"
START += " * 1000"
TEN = "DESCRIPTOR(ts), INTERVAL '10' SECOND"
IN_TIME = """
SELECT a.id AS auction, a.category, b.price, b.time_ms AS bid_at, b.bidder
FROM auctions a, bids b WHERE a.id = b.auction AND b.ts BETWEEN a.ts
    AND TO_TIMESTAMP_LTZ(a.expires_ms, 3)
"""
PLACED = f"""
SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC, bid_at) AS place
FROM ({IN_TIME})
"""
COUNTS = """
SELECT auction, window_start, window_end, COUNT(*) AS n
FROM TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
GROUP BY auction, window_start, window_end
"""
QUERIES = {
    "q1": (
        "auction BIGINT, bidder BIGINT, price DOUBLE, at_ms BIGINT, extra STRING",
        "SELECT auction, bidder, price * CAST(0.908 AS DOUBLE), time_ms, extra FROM bids",
    ),
    "q2": (
        "auction BIGINT, price BIGINT",
        "SELECT auction, price FROM bids WHERE MOD(auction, 123) = 0",
    ),
    "q3": (
        "name STRING, city STRING, state STRING, id BIGINT",
        """SELECT p.name, p.city, p.state, a.id FROM auctions a JOIN persons p ON a.seller = p.id
        WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    ),
    "q4": (
        "category BIGINT, price DOUBLE",
        f"""SELECT category, AVG(CAST(final AS DOUBLE)) FROM (
            SELECT MAX(price) AS final, auction, category FROM ({IN_TIME})
            GROUP BY auction, category)
        GROUP BY category""",
    ),
    "q5": (
        "at_ms BIGINT, auction BIGINT, n BIGINT",
        f"""SELECT {START.replace("window_start", "c.window_start")}, c.auction, c.n
        FROM ({COUNTS}) c JOIN (
            SELECT window_start, window_end, MAX(n) AS most FROM ({COUNTS})
            GROUP BY window_start, window_end) m
        ON c.window_start = m.window_start AND c.window_end = m.window_end AND c.n = m.most""",
    ),
    "q7": (
        "at_ms BIGINT, price BIGINT, bid_at BIGINT, auction BIGINT, bidder BIGINT",
        f"""SELECT {START}, price, time_ms, auction, bidder FROM (
            SELECT *, ROW_NUMBER() OVER (
                PARTITION BY window_start, window_end ORDER BY price DESC, time_ms) AS place
            FROM TABLE(TUMBLE(TABLE bids, {TEN})))
        WHERE place <= 1""",
    ),
    "q8": (
        "id BIGINT, name STRING, at_ms BIGINT",
        f"""SELECT p.id, p.name, {START.replace("window_start", "p.window_start")} FROM (
            SELECT id, name, window_start, window_end FROM TABLE(TUMBLE(TABLE persons, {TEN}))
            GROUP BY id, name, window_start, window_end) p
        JOIN (
            SELECT seller, window_start, window_end FROM TABLE(TUMBLE(TABLE auctions, {TEN}))
            GROUP BY seller, window_start, window_end) a
        ON p.id = a.seller AND p.window_start = a.window_start AND p.window_end = a.window_end""",
    ),
    "q9": (
        "auction BIGINT, category BIGINT, price BIGINT, bid_at BIGINT, bidder BIGINT",
        f"SELECT auction, category, price, bid_at, bidder FROM ({PLACED}) WHERE place <= 1",
    ),
    "q11": (
        "bidder BIGINT, at_ms BIGINT, n BIGINT",
        f"""SELECT bidder, MIN(time_ms), COUNT(*)
        FROM TABLE(SESSION(TABLE bids PARTITION BY bidder, {TEN}))
        GROUP BY bidder, window_start, window_end""",
    ),
    "q12": (
        "bidder BIGINT, at_ms BIGINT, n BIGINT",
        f"""SELECT bidder, {START}, COUNT(*) FROM TABLE(TUMBLE(TABLE arrived, {TEN}))
        GROUP BY bidder, window_start, window_end""",
    ),
}
PRINTED = ("q4", "q9")
SETTINGS = {
    "parallelism.default": "2",
    "execution.checkpointing.interval": "10 s",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "5000",
    "table.local-time-zone": "UTC",
    "execution.checkpointing.storage": "filesystem",
    "restart-strategy.type": "none",
}


def seconds(query: str, files: str, out: str, name: str) -> float:
    from pyflink.table import EnvironmentSettings, TableEnvironment

    flink = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in SETTINGS.items():
        flink.get_config().set(key, value)
    flink.get_config().set("execution.checkpointing.dir", f"file://{out}/checkpoints")
    for table, columns in COLUMNS.items():
        common = {"columns": columns, "files": files, "name": table}
        flink.execute_sql(TABLE.format(table=table, clock="time", wait="4", **common))
    # Rows of one millisecond follow each other.
    common = {"columns": COLUMNS["bids"], "files": files, "name": "bids"}
    flink.execute_sql(TABLE.format(table="arrived", clock="arrival", wait="0.001", **common))
    columns, sql = QUERIES[query]
    sink = TO_PRINT.format(name=name) if query in PRINTED else TO_FILES.format(out=out, query=query)
    flink.execute_sql(f"CREATE TABLE results ({columns}) WITH ({sink})")
    began = time.perf_counter()
    flink.execute_sql(f"INSERT INTO results {sql}").wait()
    return time.perf_counter() - began


def reason(error: str) -> str:
    """Return the line of Java's stack trace that says what went wrong first."""
    causes = [line for line in error.splitlines() if line.startswith("Caused by: ")]
    return (causes or error.strip().splitlines() or [""])[-1].removeprefix("Caused by: ")


def main() -> None:
    files, out, few_files, query = sys.argv[1:]
    line = {"query": query, "system": "Flink", "version": version("apache-flink")}
    line["settings"] = ", ".join(f"{name} {value}" for name, value in SETTINGS.items())
    try:
        if few_files:
            seconds(query, few_files, f"{out}/few", f"few-{query}")
        line["seconds"] = seconds(query, files, out, query)
    except Exception as error:  # noqa: BLE001 - whatever Java throws
        line["error"] = reason(str(error))
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
