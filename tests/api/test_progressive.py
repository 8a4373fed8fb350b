"""Progressive queries on Spark: each row counts once, the last result is exact; errors."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import latecomer as lc
from latecomer import agg
from latecomer.operators.aggregates.base import Aggregate
from tests.support.windowed import random_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

STEPS = [0.05, 0.3, 1.0]
RESULTS: dict[str, tuple[Aggregate, str]] = {
    "n": (agg.count(), "count(*)"),
    "some": (agg.count(where="delay > 5"), "count_if(delay > 5)"),
    "total": (agg.sum("delay"), "sum(delay)"),
    "twice": (agg.sum("2 * delay"), "sum(2 * delay)"),
    "mean": (agg.mean("delay"), "avg(delay)"),
    "variance": (agg.variance("delay"), "var_samp(delay)"),
    "stddev": (agg.stddev("delay"), "stddev_samp(delay)"),
    "median": (agg.quantile("delay", 0.5), "percentile(delay, 0.5)"),
    "least": (agg.min("delay"), "min(delay)"),
    "most": (agg.max("day"), "max(day)"),
}


def flights(spark: SparkSession, count: int = 4_000) -> DataFrame:
    return spark.range(count).selectExpr(
        "id",
        "CASE WHEN id % 11 = 0 THEN NULL ELSE concat('airport ', id % 4) END AS origin",
        "CASE WHEN id % 13 = 0 THEN NULL ELSE (id * 7919) % 101 END AS delay",
        "timestamp_seconds(id * 1000) AS day",
    )


def by_key(answer: lc.Answer, key: str = "origin") -> dict[Any, dict[str, Any]]:
    return {row[key]: row for row in answer.table.to_pylist()}


def test_the_last_answer_is_sparks_own_and_others_come_close(spark: SparkSession) -> None:
    df = flights(spark).repartition(5)
    asked = {name: aggregate for name, (aggregate, _) in RESULTS.items()}

    answers = [*lc.progressive(df, steps=STEPS).group_by("origin").aggregate(**asked)]

    assert [answer.share for answer in answers] == STEPS
    assert [answer.is_final for answer in answers] == [False, False, True]
    assert all(one.rows < other.rows for one, other in pairwise(answers))
    assert answers[-1].rows == 4_000
    own = df.groupBy("origin").agg(*(F.expr(sql).alias(name) for name, (_, sql) in RESULTS.items()))
    exact = by_key(answers[-1])
    for row in own.collect():
        for name in RESULTS:
            value = row[name] if name != "most" else row[name].timestamp()
            found = [exact[row.origin][name + end] for end in ("", "_low", "_high")]
            found = [each.timestamp() if name == "most" else each for each in found]
            assert found == pytest.approx([value] * 3), name
    for row in by_key(answers[1]).values():
        truth = exact[row["origin"]]
        assert row["n"] == pytest.approx(truth["n"], rel=0.3)
        assert row["n_low"] < row["n"] < row["n_high"]
        assert row["mean"] == pytest.approx(truth["mean"], rel=0.3)
    assert answers[0].to_df().columns == answers[0].table.column_names


OTHERS: dict[str, tuple[Aggregate, str]] = {
    "float_sum": (agg.sum("real", where="flag"), "sum(real) FILTER (WHERE flag)"),
    "single_min": (agg.min("single"), "min(single)"),
    "single_max": (agg.max("single"), "max(single)"),
    "odd_max": (agg.max("odd"), "max(odd)"),
    "word_min": (agg.min("word", where="small > 0"), "min(word) FILTER (WHERE small > 0)"),
    "small_sum": (agg.sum("small"), "sum(small)"),
    "nothing_sum": (agg.sum("nothing"), "sum(nothing)"),
    "nothing_mean": (agg.mean("nothing"), "avg(nothing)"),
    "nothing_variance": (agg.variance("nothing"), "var_samp(nothing)"),
    "day_max": (agg.max("day"), "max(day)"),
}
IN_PYTHON: dict[str, tuple[Aggregate, str]] = {
    "money_sum": (agg.sum("money"), "sum(money)"),
    "money_mean": (agg.mean("money"), "avg(money)"),
    "quantile": (agg.quantile("real", 0.9), "percentile(real, 0.9)"),
}


@pytest.mark.parametrize("asked", [OTHERS, OTHERS | IN_PYTHON], ids=["in Spark", "in Python"])
@pytest.mark.parametrize("keys", [(), ("key", "other")], ids=["all", "by key"])
def test_the_last_answer_is_exact_for_every_type(
    spark: SparkSession, asked: dict[str, tuple[Aggregate, str]], keys: tuple[str, ...]
) -> None:
    df = spark.createDataFrame(random_rows(1, 500))
    table = lc.progressive(df, steps=[0.2, 1.0])

    *_, last = table.group_by(*keys).aggregate(**{name: each for name, (each, _) in asked.items()})

    def told(row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple("NaN" if row[key] != row[key] else row[key] for key in keys)

    own = df.groupBy(*keys).agg(*(F.expr(sql).alias(name) for name, (_, sql) in asked.items()))
    expected = {told(row): row for row in own.toArrow().to_pylist()}
    found = {told(row): row for row in last.table.to_pylist()}
    assert found.keys() == expected.keys()
    for group, row in expected.items():
        for name in asked:
            value = row[name]
            wanted = pytest.approx(value, nan_ok=True) if isinstance(value, float) else value
            assert found[group][name] == wanted, (group, name)


def test_a_sum_that_does_not_fit_is_refused(spark: SparkSession) -> None:
    df = spark.range(100).selectExpr("id", "9000000000000000000 AS x")
    table = lc.progressive(df, steps=[1.0])

    with pytest.raises(Exception, match='the sum of column "x" does not fit'):
        next(table.group_by().aggregate(s=agg.sum("x")))


def test_the_same_seed_draws_the_same_rows_however_they_are_cut(spark: SparkSession) -> None:
    def first(df: DataFrame, seed: int = 0) -> pa.Table:
        table = lc.progressive(df, steps=STEPS, seed=seed)
        return next(table.group_by().aggregate(n=agg.count(), s=agg.sum("id"))).table

    df = flights(spark)

    assert first(df) == first(df.repartition(7, "delay")) == first(df.orderBy(F.desc("id")))
    assert first(df) != first(df, seed=1)


def test_rows_that_are_equal_come_together_and_widen_the_bounds(spark: SparkSession) -> None:
    df = spark.range(20_000).selectExpr("id % 200 AS x", "id")

    def first(table: lc.ProgressiveTable) -> dict[str, Any]:
        (row,) = next(table.group_by().aggregate(n=agg.count())).table.to_pylist()
        return row

    alone = first(lc.progressive(df, steps=[0.2, 1.0]))
    together = first(lc.progressive(df, steps=[0.2, 1.0], by="x"))

    assert together["n"] % 500 == 0, "units of 100 rows, each standing for five"
    assert alone["n_high"] - alone["n_low"] < 0.2 * (together["n_high"] - together["n_low"])
    assert first(lc.progressive(df.select("x"), steps=[0.2, 1.0]))["n"] % 500 == 0


def test_the_place_of_a_row_in_its_file_can_identify_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.range(5_000).selectExpr("1 AS x").repartition(2).write.parquet(f"{tmp_path}/rows")
    df = spark.read.parquet(f"{tmp_path}/rows").select(
        "*", "_metadata.file_path", "_metadata.row_index"
    )

    first, last = lc.progressive(df, steps=[0.2, 1.0]).group_by().aggregate(n=agg.count())

    assert 800 < first.rows < 1_200
    assert last.table["n"].to_pylist() == [5_000]


def test_a_step_runs_when_its_answer_is_read(spark: SparkSession) -> None:
    read = spark.sparkContext.accumulator(0)

    def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            read.add(batch.num_rows)
            yield batch

    df = spark.range(100).mapInArrow(counted, "id long")
    answers = lc.progressive(df, steps=[0.5, 1.0]).group_by().aggregate(n=agg.count())
    assert read.value == 0

    next(answers)
    assert read.value == 100
    next(answers)
    assert read.value == 200


def test_a_group_that_has_not_been_seen_is_absent_and_no_rows_give_none(
    spark: SparkSession,
) -> None:
    df = spark.range(300).selectExpr("id", "id % 150 AS key")
    first, last = lc.progressive(df, steps=[0.1, 1.0]).group_by("key").aggregate(n=agg.count())

    assert 0 < first.table.num_rows < 60
    assert last.table.num_rows == 150
    empty = lc.progressive(df.where("id < 0")).group_by("key").aggregate(n=agg.count())
    assert [(answer.rows, answer.table.num_rows) for answer in empty] == [(0, 0)] * 2


@pytest.mark.parametrize(
    ("asked", "steps", "shares"),
    [
        (agg.sum("delay"), None, [0.01, 1.0]),
        (agg.sum("2 * delay"), None, [0.01, 0.1, 1.0]),
        (agg.quantile("delay", 0.5), None, [0.01, 0.1, 1.0]),
        (agg.sum("delay"), [0.2, 0.5, 1.0], [0.2, 0.5, 1.0]),
    ],
    ids=repr,
)
def test_steps_are_chosen_by_what_a_row_costs_unless_they_are_given(
    spark: SparkSession, asked: Aggregate, steps: list[float] | None, shares: list[float]
) -> None:
    table = lc.progressive(flights(spark, 100), steps=steps)

    assert [each.share for each in table.group_by().aggregate(found=asked)] == shares


def test_one_step_is_enough(spark: SparkSession) -> None:
    (answer,) = lc.progressive(flights(spark), steps=[1]).group_by().aggregate(m=agg.mean("delay"))

    (row,) = answer.table.to_pylist()
    assert row["m_low"] == row["m"] == row["m_high"]


def test_keys_may_be_times_in_any_zone(spark: SparkSession) -> None:
    df = spark.range(10).selectExpr("id", "timestamp_seconds(id % 2 * 3600) AS hour")
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        answers = [*lc.progressive(df, steps=[0.5, 1]).group_by("hour").aggregate(n=agg.count())]
        assert sorted(row.hour.timestamp() for row in answers[-1].to_df().collect()) == [0, 3600]
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone or "UTC")


def test_a_table_that_changes_between_steps_is_refused(spark: SparkSession) -> None:
    asked = lc.progressive(changing(spark), steps=[0.5, 1.0]).group_by()
    answers = asked.aggregate(n=agg.count(), half=agg.quantile("id", 0.5))
    next(answers)

    with pytest.raises(lc.ChangedTableError, match="the table changed between two reads"):
        next(answers)


def test_the_last_answer_of_a_changing_table_is_that_of_one_read(spark: SparkSession) -> None:
    asked = lc.progressive(changing(spark), steps=[0.5, 1.0]).group_by()

    *_, last = asked.aggregate(n=agg.count())

    assert last.table["n"].to_pylist() == [1_000]


def changing(spark: SparkSession) -> DataFrame:
    """Return a table that has different rows each time it is read."""

    def other_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            values = np.random.default_rng().integers(0, 2**62, batch.num_rows)
            yield pa.RecordBatch.from_arrays([pa.array(values)], ["id"])

    return spark.range(1_000).mapInArrow(other_rows, "id long")


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda df: lc.progressive(df, steps=[0.5]), lc.OptionError, "last step must be 1.0"),
        (lambda df: lc.progressive(df, steps=[]), lc.OptionError, "last step must be 1.0"),
        (
            lambda df: lc.progressive(df, steps=[0.5, 0.1, 1]),
            lc.OptionError,
            "in ascending order",
        ),
        (
            lambda df: lc.progressive(df, steps=[0.5, 0.5, 1]),
            lc.OptionError,
            "in ascending order",
        ),
        (lambda df: lc.progressive(df, steps=[0, 1]), lc.OptionError, "up to 1; got 0"),
        (lambda df: lc.progressive(df, steps=[0.1, 1.5]), lc.OptionError, "up to 1; got 1.5"),
        (lambda df: lc.progressive(df, steps=["all"]), lc.OptionError, "up to 1; got 'all'"),
        (lambda df: lc.progressive(df, steps=[True]), lc.OptionError, "up to 1; got True"),
        (lambda df: lc.progressive(df, confidence=95), lc.OptionError, "between 0 and 1; got 95"),
        (lambda df: lc.progressive(df, by="uid"), lc.ColumnNotFoundError, 'no column "uid"'),
        (
            lambda df: lc.progressive(df.selectExpr("id", "map('a', id) AS tags")),
            lc.ColumnTypeError,
            'column "tags" is of type map<string,bigint>, which cannot identify rows',
        ),
        (
            lambda df: lc.progressive(df).group_by().aggregate(d=agg.count_distinct("id")),
            lc.OptionError,
            '"d" is CountDistinct, which cannot be estimated from a sample.\nHint: use count, sum',
        ),
        (
            lambda df: lc.progressive(df).group_by().aggregate(q=agg.quantile("id", [0.5])),
            lc.OptionError,
            '"q" is a list of quantiles',
        ),
        (
            lambda df: lc.progressive(df).group_by().aggregate(),
            lc.OptionError,
            "nothing to compute",
        ),
        (
            lambda df: lc.progressive(df).group_by("id").aggregate(id=agg.count()),
            lc.ColumnNameError,
            'named "id"',
        ),
        (
            lambda df: lc.progressive(df).group_by().aggregate(n=agg.count(), n_low=agg.count()),
            lc.ColumnNameError,
            'named "n_low"',
        ),
        (
            lambda df: lc.progressive(df).group_by("airport").aggregate(n=agg.count()),
            lc.ColumnNotFoundError,
            'no column "airport"',
        ),
        (
            lambda df: lc.progressive(df).group_by().aggregate(s=agg.sum("name")),
            lc.ColumnTypeError,
            'column "name" is of type string',
        ),
    ],
)
def test_unsupported_queries_are_refused_at_once(
    spark: SparkSession,
    ask: Callable[[DataFrame], object],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        ask(spark.range(3).selectExpr("id", "'a' AS name"))


def test_a_stream_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    stream = spark.readStream.schema("id long").parquet(str(tmp_path))

    with pytest.raises(lc.OptionError, match="this DataFrame is a stream"):
        lc.progressive(stream)
