"""One current row per window and key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import latecomer as lc
from latecomer import agg
from latecomer.errors import OptionError
from latecomer.hosts.spark.upsert.rows import WINDOWS
from latecomer.hosts.spark.upsert.sink import current, upsert
from tests.support.streaming import source
from tests.support.upserts import KEY, PLAIN, counts, either, refined

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.upserts import Put


@either
def test_refined_rows_replace_early_ones(spark: SparkSession, tmp_path: Path, put: Put) -> None:
    sink = upsert(tmp_path, key=KEY)
    put(sink, refined(spark, (0, "EWR", 4, 0), (0, "JFK", 7, 0), (0, None, 1, 0)), 0)
    # With two waits of one window in a micro-batch, the longer wait wins, in any order.
    put(sink, refined(spark, (0, "EWR", 6, 60), (0, "EWR", 5, 1), (0, None, 2, 1)), 1)
    # The result of a shorter wait replaces nothing.
    put(sink, refined(spark, (0, "EWR", 3, 1), (0, "LGA", 9, 0)), 2)

    assert counts(spark, tmp_path) == [("EWR", 6), ("JFK", 7), ("LGA", 9), (None, 2)]
    assert current(spark, tmp_path).schema.simpleString() == (
        refined(spark, (0, "", 0, 0)).schema.simpleString()
    )


def test_either_a_path_or_a_table_and_a_key() -> None:
    with pytest.raises(OptionError, match=r"either a path or a table; got neither\.\nHint"):
        upsert(key="window")
    with pytest.raises(OptionError, match="got both"):
        upsert("out", table="counts", key="window")
    with pytest.raises(OptionError, match=r"needs the columns .* got key=\[\]"):
        upsert("out", key=[])
    with pytest.raises(OptionError, match=r"cannot be kept under 'out/\[1\]'\.\nHint"):
        upsert("out/[1]", key="window")


@pytest.mark.parametrize("states", ["buckets", "driver"])
def test_late_rows_that_are_folded_back_make_the_table_what_a_batch_gives(
    spark: SparkSession, tmp_path: Path, states: Literal["buckets", "driver"]
) -> None:
    # Rows are up to 80 seconds late, and the last wait is 5 seconds.
    random = np.random.default_rng(3)
    batches = [
        pa.table(
            {
                "time": pa.array(
                    (100 + 20 * number - random.integers(0, 80, 30)) * 1_000_000,
                    pa.timestamp("us", "UTC"),
                ),
                "key": random.choice(["a", "b"], 30),
                "n": random.integers(-1, 2, 30),
            }
        )
        for number in range(4)
    ]
    seen: list[Any] = []
    table = upsert(tmp_path / "table", key=["window", "key"])

    def keep(rows: DataFrame, number: int) -> None:
        seen.extend(rows.collect())
        table(rows, number)

    for end, upto in (("keep", 2), ("flush", 4)):
        # The query is stopped, and continues from the same checkpoint with more rows.
        df = source(spark, batches[:upto], str(tmp_path / "rows"))
        rows = lc.disordered(df, time="time").tumbling("10 seconds")
        # On the driver, unchanged results may also be left out.
        folded = rows.wait(
            ["0 seconds", "5 seconds"],
            late="fold",
            horizon="10 minutes",
            only_changes=states == "driver",
        )
        folded.group_by("key").aggregate(total=agg.sum("n")).start(
            {"ready": keep, "late": f"{tmp_path}/late"},
            checkpoint=f"{tmp_path}/checkpoint",
            trigger={"availableNow": True},
            end=end,  # type: ignore[arg-type]
            states=states,
        ).awaitTermination()

    every = spark.createDataFrame(pa.concat_tables(batches))
    windows = F.window("time", "10 seconds").alias("window")
    once = every.groupBy(windows, "key").agg(F.sum("n").alias("total"))
    now = current(spark, tmp_path / "table").select("window", "key", "total")
    assert sorted(map(str, now.collect())) == sorted(map(str, once.collect()))
    corrections = [row for row in seen if row.is_correction]
    assert corrections
    assert {(row.wait, row.is_final) for row in corrections} == {("5 seconds", True)}
    assert lc.read(spark, f"{tmp_path}/late").count() == 0


def changes(spark: SparkSession, *rows: tuple[str, int, str, int]) -> DataFrame:
    """Return rows of a changelog: the type of change, and a row as in `plain`."""
    values = [
        ((10 * at, 10 * at + 10), origin, count, kind, number)
        for number, (kind, at, origin, count) in enumerate(rows)
    ]
    changed = f"{PLAIN}, _change_type string, _change_number bigint"
    return spark.createDataFrame(values, changed).coalesce(1)


@either
def test_rows_of_a_changelog_come_and_go(spark: SparkSession, tmp_path: Path, put: Put) -> None:
    table = upsert(tmp_path / "table", key=KEY)
    far = 2 * WINDOWS
    put(
        table,
        changes(spark, ("insert", 0, "a", 1), ("insert", 0, "b", 2), ("insert", far, "c", 3)),
        0,
    )
    assert counts(spark, tmp_path / "table") == [("a", 1), ("b", 2), ("c", 3)]
    assert current(spark, tmp_path / "table").columns == ["window", "origin", "count"]

    again = changes(spark, ("delete", 0, "a", 1), ("insert", 0, "a", 7), ("delete", far, "c", 3))
    for _ in range(2):
        # A repeated batch changes nothing. All rows of the second part have been removed.
        put(table, again, 1)
        assert counts(spark, tmp_path / "table") == [("a", 7), ("b", 2)]

    put(table, changes(spark, ("delete", 0, "a", 7), ("delete", 0, "b", 2)), 2)
    assert counts(spark, tmp_path / "table") == []
    # The last of several inserted rows stays.
    put(
        table,
        changes(spark, ("insert", 0, "d", 9), ("insert", 0, "d", 8), ("insert", 0, "d", 4)),
        3,
    )
    assert counts(spark, tmp_path / "table") == [("d", 4)]
