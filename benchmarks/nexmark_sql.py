"""The right answers to the queries of Nexmark: SQL in DuckDB over complete tables.

`found` compares: rows that a system has not found, and rows that it should not have. Rows of the
day after, which close windows, are left out.
"""

from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa

from benchmarks.nexmark_data import DAY_AFTER, HOP, WINDOW, Events

IN_TIME = """
    SELECT auction, category, price, bidder, bids.time_ms AS bid_at
    FROM bids JOIN auctions ON auction = auctions.id
    WHERE bids.time_ms BETWEEN auctions.time_ms AND expires_ms
"""
WINNING = f"""
    SELECT * FROM ({IN_TIME})
    QUALIFY row_number() OVER (PARTITION BY auction ORDER BY price DESC, bid_at, bidder) = 1
"""
SQL = {
    "q1": """
        SELECT auction, bidder, price * 0.908::DOUBLE AS price, time_ms AS at_ms, extra
        FROM bids""",
    "q2": "SELECT auction, price FROM bids WHERE auction % 123 = 0",
    "q3": """
        SELECT name, city, state, auctions.id FROM auctions JOIN persons ON seller = persons.id
        WHERE category = 10 AND state IN ('OR', 'ID', 'CA')""",
    "q4": f"SELECT category, avg(price) AS price FROM ({WINNING}) GROUP BY category",
    "q5": f"""
        WITH counts AS (
            SELECT time_ms // {HOP} * {HOP} - hop * {HOP} AS at_ms, auction, count(*) AS n
            FROM bids, range({WINDOW // HOP}) AS hops(hop) GROUP BY ALL)
        SELECT * FROM counts QUALIFY rank() OVER (PARTITION BY at_ms ORDER BY n DESC) = 1""",
    "q7": f"""
        SELECT time_ms // {WINDOW} * {WINDOW} AS at_ms, price, time_ms AS bid_at, auction, bidder
        FROM bids QUALIFY row_number() OVER (
            PARTITION BY at_ms ORDER BY price DESC, bid_at, auction, bidder) = 1""",
    "q8": f"""
        SELECT DISTINCT persons.id, name, persons.time_ms // {WINDOW} * {WINDOW} AS at_ms
        FROM persons JOIN auctions ON seller = persons.id
            AND persons.time_ms // {WINDOW} = auctions.time_ms // {WINDOW}""",
    "q9": f"SELECT auction, category, price, bid_at, bidder FROM ({WINNING})",
    "q11": f"""
        WITH gaps AS (
            SELECT bidder, time_ms,
                time_ms - lag(time_ms) OVER (PARTITION BY bidder ORDER BY time_ms) AS gap
            FROM bids),
        sessions AS (
            SELECT *, sum(CASE WHEN gap <= {WINDOW} THEN 0 ELSE 1 END)
                OVER (PARTITION BY bidder ORDER BY time_ms) AS session FROM gaps)
        SELECT bidder, min(time_ms) AS at_ms, count(*) AS n
        FROM sessions GROUP BY bidder, session""",
    "q12": f"""
        SELECT bidder, arrival_ms // {WINDOW} * {WINDOW} AS at_ms, count(*) AS n
        FROM bids GROUP BY ALL""",
}
LAST = {"q4": "SELECT category, arg_max(price, at_ms) AS price FROM {} GROUP BY category"}
"""For answers that are replaced by later ones, how to find the last."""
IS_BEFORE = {"at_ms": f"at_ms < {DAY_AFTER}", "auction": "auction > 0"}
"""By column, which rows are not of the day after."""
ROUNDED = {"q1": "price", "q4": "price"}
"""Columns with fractions."""


def answers(events: Events) -> Iterator[tuple[str, pa.Table]]:
    """Answer all queries."""
    with duckdb.connect() as database:
        for name, table in events.tables.items():
            database.register(name, table)
        for query, sql in SQL.items():
            yield query, database.execute(sql).to_arrow_table()


def differences(query: str, right: pa.Table, found: str | pa.Table) -> tuple[int, int]:
    """Count the rows that are missing, and those that should not be there.

    Args:
        query: The name of the query.
        right: What is right.
        found: What was found: a table, or the names of Parquet files.
    """
    with duckdb.connect() as database:
        database.register("right_rows", right)
        source = "found"
        if isinstance(found, str):
            source = f"read_parquet('{found}')"
        else:
            database.register("found", found)
        columns = ", ".join(_shown(query, name) for name in right.column_names)
        sql = f"SELECT * FROM {source}"
        if query in LAST and (isinstance(found, str) or "at_ms" in found.column_names):
            sql = LAST[query].format(source)
        is_before = [sql_ for name, sql_ in IS_BEFORE.items() if name in right.column_names]
        sql = f"SELECT * FROM ({sql}) WHERE {' AND '.join(is_before) or 'true'}"
        database.execute(f"CREATE TABLE a AS SELECT {columns} FROM right_rows")
        database.execute(f"CREATE TABLE b AS SELECT {columns} FROM ({sql})")
        missing, extra = (
            _count(database, f"SELECT * FROM {one} EXCEPT ALL SELECT * FROM {other}")
            for one, other in (("a", "b"), ("b", "a"))
        )
    return missing, extra


def _shown(query: str, column: str) -> str:
    return f"round({column}, 4) AS {column}" if ROUNDED.get(query) == column else column


def _count(database: Any, sql: str) -> int:
    return database.execute(f"SELECT count(*) FROM ({sql})").fetchone()[0]
