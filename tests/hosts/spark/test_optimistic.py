"""Optimistic steps on Spark equal those of the local host in each micro-batch, with restarts."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark.sql import DataFrame, SparkSession

import latecomer as lc
from latecomer.hosts.local import LocalHost
from latecomer.hosts.spark.columns import arrow_schema
from tests.support.streaming import source, stream

SECOND = 1_000_000
Query = Callable[[DataFrame], lc.CorrectedStream]
Seen = Any


def payments(seed: int) -> list[pa.Table]:
    """Return payments of some accounts, up to 15 seconds late, some without account or time."""
    random = np.random.default_rng(seed)
    batches = []
    for number in range(4):
        size = int(random.integers(30, 60))
        times = random.integers(5, 25, size) + 10 * number
        accounts = [None if a == 3 else f"account-{a}" for a in random.integers(0, 6, size)]
        batches.append(
            pa.table(
                {
                    "time": pa.array(
                        times * SECOND, pa.timestamp("us", "UTC"), mask=random.random(size) < 0.05
                    ),
                    "account": pa.array(accounts, pa.string()),
                    "shop": pa.array(random.choice(list("XYZ"), size), pa.string()),
                    "amount": pa.array(random.integers(-9, 10, size), pa.int64()),
                }
            )
        )
    return batches


def balance(state: int, row: Seen) -> tuple[int, tuple[int, str, bool]]:
    state += row.amount
    return state, (state, row.shop, state < 0)


def alarms(row: Seen) -> list[tuple[str, str]]:
    return [(row.shop, f"{row.account} at {row.balance}")] if row.is_low else []


def story(state: str, row: Seen) -> tuple[str, list[str]]:
    state = f"{state[-40:]}; {row.text}"
    return state, [state]


def spread(row: Seen) -> dict[str, int]:
    return {"change": row.items[-1]["amount"] - row.items[0]["amount"]}


def paid(df: DataFrame, **options: Any) -> lc.OptimisticStream:  # noqa: ANN401
    return lc.disordered(df, time="time", key="account").optimistic(wait="6 seconds", **options)


def balances(df: DataFrame) -> lc.OptimisticStream:
    outputs = "balance long, shop string, is_low boolean"
    return paid(df).stateful(balance, initial=0, outputs=outputs, every=5)


def told(df: DataFrame) -> lc.OptimisticStream:
    """Return a stream with three steps that have different keys: accounts, shops, and none."""
    alarmed = balances(df).flat_map(alarms, outputs="shop string, text string")
    by_shop = alarmed.stateful(story, key="shop", initial="", outputs="text string")
    return by_shop.stateful(story, key=[], initial="", outputs="story string")


QUERIES: dict[str, Query] = {
    "balances, final": lambda df: balances(df).barrier(wait="6 seconds"),
    "three steps, at once": lambda df: told(df).changelog(),
    "groupings": lambda df: (
        paid(df, late="drop", buckets=3)
        .grouping(3)
        .flat_map(spread, outputs="change long")
        .grouping(2, key="change")
        .barrier()
    ),
}


def plain(value: object) -> object:
    """Remove the zones of times, because PySpark returns instants without them."""
    if isinstance(value, dict):
        return tuple(plain(part) for part in value.values())
    if isinstance(value, list | tuple):
        return tuple(plain(part) for part in value)
    return value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value


def counted(rows: Iterable[object]) -> Counter[str]:
    return Counter(str(plain(row)) for row in rows)


def on_the_local_host(made: lc.CorrectedStream, batches: Sequence[pa.Table]) -> list[Any]:
    batches = [batch.cast(arrow_schema(made.df)) for batch in batches]
    host = LocalHost(made.plan, batches[0].schema)
    # Spark runs a batch without data after the last one, because the clock has advanced.
    return [host.step(batch) for batch in [*batches, batches[0].slice(0, 0)]]


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_stream_gives_what_the_local_host_gives(spark: SparkSession, query: Query) -> None:
    batches = payments(5)
    made: list[lc.CorrectedStream] = []

    def build(df: DataFrame) -> lc.CorrectedStream:
        made.append(query(df))
        return made[0]

    ready, late = stream(spark, batches, build)

    expected = on_the_local_host(made[0], batches)
    assert sum(map(len, ready.values())) > 10
    for number, step in enumerate(expected):
        assert counted(ready[number]) == counted(step.ready.to_pylist()), number
        assert len(late[number]) == step.late.num_rows


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_table_gives_what_rows_in_order_give(spark: SparkSession, query: Query) -> None:
    rows = pa.concat_tables(payments(6))
    made = query(spark.createDataFrame(rows))

    host = LocalHost(made.plan, arrow_schema(made.df))
    steps = [host.step(rows.cast(arrow_schema(made.df))), host.finish()]
    expected = [row for step in steps for row in step.ready.to_pylist()]
    assert counted(made.to_df().collect()) == counted(expected)
    assert {row._reason for row in made.late_df().collect()} == {"no time"}
    if "_change_type" in expected[0]:
        assert {row["_change_type"] for row in expected} == {"insert"}


def test_rows_that_are_final_are_in_order_within_a_bucket(spark: SparkSession) -> None:
    ready, _ = stream(spark, payments(7), lambda df: told(df).barrier(), end="flush")

    seen = [row.time for number in sorted(ready) for row in ready[number]]
    assert seen == sorted(seen)
    assert len(seen) > 20


def test_a_restart_changes_nothing_in_optimistic_steps(spark: SparkSession, tmp_path: Path) -> None:
    batches = payments(8)
    made: list[lc.CorrectedStream] = []
    for number in (2, len(batches)):
        # Another query from the same checkpoint, with more files.
        df = source(spark, batches[:number], str(tmp_path / "rows"))
        made.append(told(df).changelog())
        made[-1].start(
            {"ready": tmp_path / "ready", "late": tmp_path / "late"},
            checkpoint=str(tmp_path / "checkpoint"),
            trigger={"availableNow": True},
        ).awaitTermination()

    table = ds.dataset(tmp_path / "ready", format="parquet").to_table()
    steps = on_the_local_host(made[0], batches)
    expected = pa.concat_tables([step.ready for step in steps])
    table = table.select(expected.schema.names).cast(expected.schema)
    assert counted(table.to_pylist()) == counted(expected.to_pylist())
    assert any(row["_change_type"] == "delete" for row in expected.to_pylist())


def test_the_upsert_sink_applies_a_changelog(spark: SparkSession, tmp_path: Path) -> None:
    batches = payments(9)

    # This key identifies rows: each payment has a number within its account.
    def numbered(state: int, row: Seen) -> tuple[int, tuple[int, int]]:
        return state + 1, (state + 1, row.amount)

    def build(df: DataFrame) -> lc.OptimisticStream:
        outputs = "number long, amount long"
        return paid(df).stateful(numbered, initial=0, outputs=outputs)

    def started(ending: Callable[[lc.OptimisticStream], lc.CorrectedStream], sink: Any) -> None:  # noqa: ANN401
        df = source(spark, batches, str(tmp_path / f"rows-{id(sink)}"))
        ending(build(df)).start(
            {"ready": sink, "late": lambda *_: None},
            checkpoint=str(tmp_path / f"checkpoint-{id(sink)}"),
            trigger={"availableNow": True},
            end="flush",
        )

    started(lc.OptimisticStream.changelog, lc.upsert(tmp_path / "table", key=["account", "number"]))
    final: list[Any] = []
    started(lc.OptimisticStream.barrier, lambda rows, _: final.extend(rows.collect()))

    table = lc.current(spark, tmp_path / "table")
    assert table.columns == ["time", "account", "number", "amount"]
    assert counted(table.collect()) == counted(final)
    assert len(final) > 100


def test_a_failure_names_the_row(spark: SparkSession) -> None:
    def picky(state: int, row: Seen) -> tuple[int, tuple[float]]:
        return state, (1 / (row.amount - 3),)

    df = spark.createDataFrame(pa.concat_tables(payments(5)))
    failing = paid(df).stateful(picky, initial=0, outputs="share double").barrier()

    with pytest.raises(Exception, match=r"picky failed with ZeroDivisionError.*amount=3"):
        failing.to_df().collect()
