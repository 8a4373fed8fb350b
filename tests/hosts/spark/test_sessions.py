"""Sessions on Spark equal those that Spark itself finds, also for keys that fall silent."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import latecomer as lc
from latecomer import agg
from latecomer.api.temporal import TemporalStream
from tests.support.streaming import source


def visits(spark: SparkSession, rows: int = 60) -> DataFrame:
    """Return rows of three keys, one of them null. Many rows are exactly two seconds apart."""
    return spark.range(rows).selectExpr(
        "timestamp_seconds(cast(hash(id) % 40 AS int)) AS time",
        "nullif(hash(id, 'key') % 2, 0) AS key",
        "id AS v",
    )


def temporal(df: DataFrame, wait: str = "0 s") -> TemporalStream:
    return lc.disordered(df, time="time").sort(wait=wait).temporal()


def test_sessions_are_those_of_spark(spark: SparkSession) -> None:
    df = visits(spark)
    results = {"n": agg.count(), "total": agg.sum("v"), "first": agg.min("v")}

    ours = temporal(df).group_by("key").sessions("2 seconds").aggregate(**results).to_df()

    # Rows exactly one gap apart are in one session of Spark's, and in two of Latecomer's.
    window = F.session_window("time", "1.999999 seconds")
    theirs = (
        df.groupBy(window, "key")
        .agg(F.count("*").alias("n"), F.sum("v").alias("total"), F.min("v").alias("first"))
        .withColumn("end", F.expr("session_window.end + INTERVAL 1 MICROSECOND"))
    )
    found = Counter(ours.select("session.start", "session.end", "key", *results).collect())
    assert found == Counter(theirs.select("session_window.start", "end", "key", *results).collect())
    assert len(found) > 10
    assert max(row.n for row in found) > 2
    assert ours.where("start != session.end OR end != start + INTERVAL 1 MICROSECOND").isEmpty()


def test_inside_apply_sessions_are_those_of_the_group(spark: SparkSession) -> None:
    stream = temporal(visits(spark))
    results = {"n": agg.count(), "last": agg.max("v")}

    one = stream.session("2 seconds", "key").group_by("key").aggregate(**results)
    other = stream.group_by("key").apply(
        lambda rows: rows.session("2 seconds").group_by().aggregate(**results)
    )

    assert one.told() == other.told()
    assert "until the session ends" in one.explain()
    closed = stream.group_by("key").sessions("2 seconds", "1 minute").aggregate(**results)
    assert "aggregate sessions by key into n, last, once they are closed" in closed.explain()


def test_a_closed_session_comes_though_its_key_falls_silent(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = [[(1, "a"), (4, "a"), (2, "b")], [(20, "b")], [(3, "a"), (40, "c")]]
    tables = [
        pa.table(
            {
                "time": pa.array([at * 1_000_000 for at, _ in batch], pa.timestamp("us", "UTC")),
                "key": [key for _, key in batch],
            }
        )
        for batch in batches
    ]
    stream = temporal(source(spark, tables, f"{tmp_path}/rows"), wait="2 seconds")
    seen: dict[str, list[tuple[int, Row]]] = {"ready": [], "late": []}

    def keep(name: str) -> Callable[[DataFrame, int], None]:
        return lambda df, number: seen[name].extend((number, row) for row in df.collect())

    stream.group_by("key").sessions("5 seconds").aggregate(n=agg.count()).start(
        {name: keep(name) for name in seen},
        checkpoint=str(tmp_path / "checkpoint"),
        trigger={"availableNow": True},
    ).awaitTermination()

    found = {
        (number, row.key, row.session.start.timestamp(), row.session.end.timestamp(), row.n)
        for number, row in seen["ready"]
    }
    assert found == {(2, "a", 1, 9, 2), (2, "b", 2, 7, 1), (3, "b", 20, 25, 1)}
    assert [(number, row.key, row["_reason"]) for number, row in seen["late"]] == [(2, "a", "late")]


def test_sessions_without_length_or_answer_are_refused(spark: SparkSession) -> None:
    stream = temporal(visits(spark))
    by_key = stream.group_by("key")

    with pytest.raises(lc.OptionError, match=r'timeout must be longer.*\n.*timeout="10 minutes"'):
        stream.session("0 seconds", "key")
    with pytest.raises(lc.DurationError, match=r"max_duration cannot be negative.*\n.*longer"):
        by_key.sessions("1 second", max_duration="-1 second")
    with pytest.raises(lc.DurationError, match="timeout must be a duration; got 10"):
        stream.session(10, "key")  # type: ignore[arg-type]
    with pytest.raises(lc.ColumnNotFoundError, match='no column "nokey"'):
        stream.session("1 second", "nokey")
    with pytest.raises(lc.OptionError, match="aggregate was given nothing to compute"):
        by_key.sessions("1 second").aggregate()
    with pytest.raises(lc.ColumnNameError, match='cannot be named "session"'):
        by_key.sessions("1 second").aggregate(session=agg.count())
