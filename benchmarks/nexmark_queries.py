"""Queries 1 to 5, 7 to 9, 11 and 12 of Nexmark, written in Latecomer.

Each is a function of the three streams, as DataFrames, that returns a stream, and what to select
from its rows. The same answers are written as SQL in `benchmarks.nexmark_sql`.

    1, 2     a computed column, a filter: rows come out in order of time, which Spark's do not
    3        who sells what: both sides of the join count for ever, as in SQL
    4, 9     the winning bid of each auction: a bid counts for an instant and an auction from its
             begin to its end, so a join finds the bids that came in time. Bids of an auction are
             less than the longest auction apart, so a session holds all of them
    5, 7     the best of each window
    8        who sells in the window in which they came: rows count for their whole windows
    11       a bid exactly at the end of a session belongs to it in Spark and Flink, and begins the
             next one here: so the session ends a millisecond later
    12       windows of processing time: here the recorded arrival, so that the answer is the same
             in every run
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

import latecomer as lc
from benchmarks.nexmark_data import HOP, WAIT, WINDOW

SCHEMAS = {
    "persons": "id long, name string, city string, state string, extra string",
    "auctions": "id long, item string, initial_bid long, reserve long, expires_ms long, "
    "seller long, category long, extra string",
    "bids": "auction long, bidder long, price long, extra string",
}
SCHEMAS = {name: f"{columns}, time_ms long, arrival_ms long" for name, columns in SCHEMAS.items()}
SIZE, EVERY, LATEST = (timedelta(milliseconds=each) for each in (WINDOW, HOP, WAIT))
START = "unix_millis(window.start) AS at_ms"


class Streams(NamedTuple):
    """The streams, with `time` and `arrival` as timestamps."""

    persons: DataFrame
    auctions: DataFrame
    bids: DataFrame
    longest: timedelta
    """The longest time for which an auction is open."""


@dataclass(frozen=True)
class Query:
    """A stream, and what to select from its rows."""

    stream: Any
    columns: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)
    """What `start` is called with besides."""

    def answer(self, df: DataFrame) -> DataFrame:
        return df.selectExpr(*self.columns)


def timed(df: DataFrame) -> DataFrame:
    """Add times as timestamps."""
    return df.selectExpr(
        "*", "timestamp_millis(time_ms) AS time", "timestamp_millis(arrival_ms) AS arrival"
    )


def read(spark: SparkSession, folder: str, longest: int) -> Streams:
    """Read all streams, a file of each in a micro-batch."""
    reader = spark.readStream.option("maxFilesPerTrigger", 1)
    dfs = [timed(reader.schema(each).csv(f"{folder}/{name}")) for name, each in SCHEMAS.items()]
    return Streams(*dfs, timedelta(milliseconds=longest))


def q1(given: Streams) -> Query:
    bids = lc.disordered(given.bids, time="time").with_columns(euros="price * 0.908D")
    rows = bids.sort(wait=LATEST, late="drop")
    return Query(rows, ("auction", "bidder", "euros AS price", "time_ms AS at_ms", "extra"))


def q2(given: Streams) -> Query:
    bids = lc.disordered(given.bids, time="time").where("auction % 123 = 0")
    return Query(bids.sort(wait=LATEST, late="drop"), ("auction", "price"))


def q3(given: Streams) -> Query:
    persons = (
        lc.disordered(given.persons, time="time")
        .where("state IN ('OR', 'ID', 'CA')")
        .select("time", "id AS person", "name", "city", "state")
        .sort(wait=LATEST, late="drop")
        .alter(duration=None)
    )
    auctions = (
        lc.disordered(given.auctions, time="time")
        .where("category = 10")
        .select("time", "id", "seller")
        .sort(wait=LATEST, late="drop")
        .alter(duration=None)
    )
    sold = auctions.join(persons, on={"seller": "person"})
    return Query(sold, ("name", "city", "state", "id"))


def _in_time(given: Streams) -> Any:
    """Pair each bid with its auction, if that was open."""
    # Lifetimes end before their end, and a bid at `expires` still counts.
    auctions = (
        lc.disordered(
            given.auctions.selectExpr(
                "time", "timestamp_millis(expires_ms + 1) AS expires", "id", "category"
            ),
            time="time",
            end="expires",
        )
        .sort(wait=LATEST, late="drop")
        .temporal()
    )
    # Of bids of equal price the first wins: its text is the smallest.
    bids = (
        lc.disordered(given.bids, time="time")
        .select("time", "auction", "price", "concat_ws(' ', time_ms, bidder) AS bid")
        .sort(wait=LATEST, late="drop")
    )
    return bids.join(auctions, on={"auction": "id"})


def q4(given: Streams) -> Query:
    winning = (
        _in_time(given)
        .group_by("auction", "category")
        .sessions(given.longest)
        .aggregate(final=lc.agg.max("price"))
    )
    means = winning.alter(duration=None).group_by("category").aggregate(price=lc.agg.mean("final"))
    columns = ("category", "price", "unix_millis(start) AS at_ms")
    return Query(means, columns, {"edges": True})


def q5(given: Streams) -> Query:
    hot = (
        lc.disordered(given.bids, time="time")
        .hopping(SIZE, EVERY)
        .wait(LATEST, late="drop")
        .group_by("auction")
        .aggregate(n=lc.agg.count())
        .group_by()
        .aggregate(hot=lc.agg.top_k("auction", 1, by="n", ties=True))
    )
    return Query(hot, (START, "inline(hot) AS (auction, n)"))


def q7(given: Streams) -> Query:
    highest = (
        lc.disordered(given.bids, time="time")
        .with_columns(bid="concat_ws(' ', time_ms, auction, bidder)")
        .tumbling(SIZE)
        .wait(LATEST, late="drop")
        .aggregate(highest=lc.agg.top_k("bid", 1, by="price"))
    )
    bid = "CAST(split(highest[0].bid, ' ')[{}] AS long) AS {}".format
    columns = (
        START,
        "highest[0].price AS price",
        bid(0, "bid_at"),
        bid(1, "auction"),
        bid(2, "bidder"),
    )
    return Query(highest, columns)


def q8(given: Streams) -> Query:
    persons = (
        lc.disordered(given.persons, time="time")
        .select("time", "id", "name")
        .sort(wait=LATEST, late="drop")
        .quantize(SIZE)
    )
    sellers = (
        lc.disordered(given.auctions, time="time")
        .select("time", "seller")
        .sort(wait=LATEST, late="drop")
        .quantize(SIZE)
        .group_by("seller")
        .aggregate(auctions=lc.agg.count())
    )
    new = persons.join(sellers, on={"id": "seller"})
    return Query(new, ("id", "name", "unix_millis(start) AS at_ms"))


def q9(given: Streams) -> Query:
    winning = (
        _in_time(given)
        .group_by("auction", "category")
        .sessions(given.longest)
        .aggregate(highest=lc.agg.top_k("bid", 1, by="price"))
    )
    bid = "CAST(split(highest[0].bid, ' ')[{}] AS long) AS {}".format
    columns = (
        "auction",
        "category",
        "highest[0].price AS price",
        bid(0, "bid_at"),
        bid(1, "bidder"),
    )
    return Query(winning, columns)


def q11(given: Streams) -> Query:
    sessions = (
        lc.disordered(given.bids, time="time")
        .select("time", "bidder")
        .sort(wait=LATEST, late="drop")
        .temporal()
        .group_by("bidder")
        .sessions(SIZE + timedelta(milliseconds=1))
        .aggregate(n=lc.agg.count())
    )
    return Query(sessions, ("bidder", "unix_millis(session.start) AS at_ms", "n"))


def q12(given: Streams) -> Query:
    counts = (
        lc.disordered(given.bids, time="arrival")
        .tumbling(SIZE)
        .wait("0 seconds", late="drop")
        .group_by("bidder")
        .aggregate(n=lc.agg.count())
    )
    return Query(counts, ("bidder", START, "n"))


QUERIES: dict[str, Callable[[Streams], Query]] = {
    each.__name__: each for each in (q1, q2, q3, q4, q5, q7, q8, q9, q11, q12)
}
READ = {
    **dict.fromkeys(("q1", "q2", "q5", "q7", "q11", "q12"), ("bids",)),
    **dict.fromkeys(("q3", "q8"), ("persons", "auctions")),
    **dict.fromkeys(("q4", "q9"), ("auctions", "bids")),
}
"""By query, the streams that it reads."""
