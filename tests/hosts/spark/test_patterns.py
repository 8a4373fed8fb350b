"""Patterns on Spark equal those of the local host in each micro-batch."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import latecomer as lc
from latecomer import agg
from latecomer.hosts.local import LocalHost, run
from latecomer.hosts.spark.columns import arrow_schema
from tests.support.streaming import source, stream

SECOND = 1_000_000
Stream = lc.MatchedStream | lc.TemporalStream
Query = Callable[[DataFrame], Stream]


def clicks(seed: int) -> list[pa.Table]:
    """Return clicks of users on ads, up to 15 seconds late, some without user or time."""
    random = np.random.default_rng(seed)
    batches = []
    for number in range(4):
        size = int(random.integers(20, 40))
        times = random.integers(5, 25, size) + 10 * number
        users = [None if user == 3 else f"user-{user}" for user in random.integers(0, 4, size)]
        batches.append(
            pa.table(
                {
                    "time": pa.array(
                        times * SECOND, pa.timestamp("us", "UTC"), mask=random.random(size) < 0.05
                    ),
                    "user": pa.array(users, pa.string()),
                    "ad": pa.array(random.choice(list("XYZ"), size), pa.string()),
                    "price": pa.array(random.integers(0, 5, size), pa.int64()),
                }
            )
        )
    return batches


X_THEN_Y = lc.event("x", "ad = 'X'").then("y", "ad = 'Y'")
DEARER = lc.event("x", "ad = 'X'").then(
    lc.event("y", "ad = 'Y'", where=lambda row, x: row.price >= x.price).plus(), unless="ad = 'Z'"
)
ANY_BETWEEN = lc.event("x", "ad = 'X'").then("between").then(lc.event("y", "ad = 'Y'").optional())


def rows(df: DataFrame, wait: str | list[str] = "6 seconds") -> lc.OrderedStream:
    return lc.disordered(df, time="time", key="user").sort(wait=wait)


QUERIES: dict[str, Query] = {
    "one then the other": lambda df: rows(df).detect(
        lc.event("x", F.col("ad") == "X").then("y", "ad = 'Y'"), within="5 seconds"
    ),
    "at several waits": lambda df: rows(df, ["0 s", "6 s", "15 s"]).detect(
        X_THEN_Y, within="5 seconds"
    ),
    "at several waits, with a clock for each user": lambda df: (
        lc.disordered(df, time="time", key="user", clock="key")
        .sort(wait=["0 s", "6 s", "15 s"])
        .detect(X_THEN_Y, within="5 seconds")
    ),
    "a condition on both": lambda df: (
        rows(df)
        .detect(DEARER, within="9 seconds", by=["user", "price"], overlap=False)
        .aggregate("y", dear=agg.count(), best=agg.max("price"))
        .aggregate(rows=agg.count())
    ),
    "strictly, all users together": lambda df: rows(df).detect(
        ANY_BETWEEN.within("3 seconds"), by=[], contiguity="strict"
    ),
    "so often, and then none": lambda df: (
        rows(df)
        .detect(
            lc.event("x", "ad = 'X'")
            .times(1, 2)
            .then("y", "ad = 'Y'")
            .then_none("ad = 'Z'", duration="4 seconds"),
            within="9 seconds",
        )
        .temporal()
        .group_by("user")
        .aggregate(matches=agg.count())
    ),
}


def on_the_local_host(matched: Stream, batches: Sequence[pa.Table]) -> list[pa.Table]:
    computed = [_computed(matched, batch) for batch in batches]
    plan = matched.told() if isinstance(matched, lc.TemporalStream) else matched.plan
    host = LocalHost(plan, computed[0].schema)
    # Spark runs a batch without data after the last one, because the clock has advanced.
    return [host.step(batch).ready for batch in [*computed, computed[0].slice(0, 0)]]


def _computed(matched: Stream, batch: pa.Table) -> pa.Table:
    """Add the columns that Spark computes before the sort."""
    schema = arrow_schema(matched.df)
    ads = batch["ad"].to_pylist()
    for wanted, name in zip("XYZ", schema.names[batch.num_columns :], strict=False):
        batch = batch.append_column(name, pa.array([ad == wanted for ad in ads]))
    return batch.cast(schema)


def counted(table: pa.Table) -> Counter[str]:
    return Counter(str(_plain(row)) for row in table.to_pylist())


def _plain(value: object) -> object:
    """Remove the zones of times, because PySpark returns instants without them."""
    if isinstance(value, dict):
        return tuple(_plain(part) for part in value.values())
    if isinstance(value, list | tuple):
        return tuple(_plain(part) for part in value)
    return value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_stream_gives_what_the_local_host_gives(spark: SparkSession, query: Query) -> None:
    batches = clicks(5)
    made: list[Stream] = []

    def build(df: DataFrame) -> Stream:
        made.append(query(df))
        return made[0]

    ready, late = stream(spark, batches, build)

    expected = on_the_local_host(made[0], batches)
    assert sum(map(len, ready.values())) > 2
    for number, step in enumerate(expected):
        assert Counter(str(_plain(tuple(row))) for row in ready[number]) == counted(step), number
    assert all(
        name in batches[0].column_names
        for row in late[2]
        for name in row.asDict()
        if name[0] != "_"
    )


def test_a_batch_is_a_stream_that_ends(spark: SparkSession) -> None:
    table = pa.concat_tables(clicks(5))
    df = spark.createDataFrame(table).coalesce(1)
    early = rows(df, ["0 s", "1 hour"]).detect(X_THEN_Y, within="5 seconds")
    alone = rows(df).detect(X_THEN_Y, within="5 seconds")

    expected = run(alone.plan, [_computed(alone, table)], arrow_schema(alone.df)).ready
    found = alone.to_df()
    assert found.columns == ["start", "end", "user", "x", "y"]
    assert Counter(str(_plain(tuple(row))) for row in found.collect()) == counted(expected)
    assert early.to_df().columns == [*found.columns, "wait", "is_final"]
    assert early.to_df(wait="1 hour").exceptAll(found).count() == 0


def test_a_pattern_goes_on_from_its_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    batches = clicks(6)
    query = QUERIES["at several waits"]
    seen: list[str] = []

    def go_on() -> Stream:
        matched = query(source(spark, batches[:shown], f"{tmp_path}/rows"))
        matched.start(
            {
                "ready": lambda df, _: seen.extend(str(_plain(tuple(r))) for r in df.collect()),
                "late": lambda *_: None,
            },
            checkpoint=f"{tmp_path}/checkpoint",
            trigger={"availableNow": True},
        ).awaitTermination()
        return matched

    shown = 2
    go_on()
    shown = 4
    matched = go_on()

    expected = on_the_local_host(matched, batches)
    assert Counter(seen) == sum(map(counted, expected), Counter())


def test_what_cannot_be_asked_is_refused(spark: SparkSession) -> None:
    df = spark.createDataFrame(clicks(5)[0])
    ordered = rows(df)
    windowed = lc.disordered(df, time="time").tumbling("1 hour").wait("1 s")

    with pytest.raises(
        lc.PatternError, match=r'longest time that a match may take.*\n.*within="1 minute"'
    ):
        ordered.detect(X_THEN_Y)
    with pytest.raises(lc.PatternError, match="detect needs a pattern; got 'a b'"):
        ordered.detect("a b", within="1 s")  # type: ignore[arg-type]
    with pytest.raises(lc.OptionError, match="within was given twice"):
        ordered.detect(X_THEN_Y.within("1 s"), within="2 s")
    with pytest.raises(lc.OptionError, match="contiguity cannot be 'loose'"):
        ordered.detect(X_THEN_Y, within="1 s", contiguity="loose")  # type: ignore[arg-type]
    with pytest.raises(lc.StepError, match="WindowedStream has no detect"):
        windowed.detect(X_THEN_Y, within="1 s")  # type: ignore[attr-defined]
    with pytest.raises(lc.ColumnNotFoundError, match='no column "device"'):
        ordered.detect(X_THEN_Y, within="1 s", by="device")
    with pytest.raises(lc.ColumnTypeError, match='condition of event "x" is of type bigint'):
        ordered.detect(lc.event("x", "price"), within="1 s")
    with pytest.raises(lc.ColumnTypeError, match="an unless or then_none is of type string"):
        ordered.detect(lc.event("x").then("y", unless="ad"), within="1 s")
    for name in ("start", "User", "_lc_x"):
        with pytest.raises(lc.ColumnNameError, match=f'cannot be named "{name}"'):
            ordered.detect(lc.event(name), within="1 s")
    with pytest.raises(lc.OptionError, match="each row is a begin or an end"):
        lc.disordered(
            df.selectExpr("*", "time AS until"), time="time", end="until", edges=True
        ).sort(wait="1 s").detect(X_THEN_Y, within="1 s")
