from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from latecomer import agg
from latecomer.hosts.spark import sql_states
from latecomer.hosts.spark.columns import arrow_schema
from latecomer.hosts.spark.sql_states import adds_units, not_plain, states_of, states_of_sample
from latecomer.operators.aggregates.summary import ROWS, Summary
from latecomer.operators.estimates.estimation import Estimation
from latecomer.operators.estimates.spread import UNIT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema(
    {
        "x": pa.int64(),
        "f": pa.float64(),
        "d": pa.decimal128(10, 2),
        "s": pa.string(),
        "ok": pa.bool_(),
    }
)


@pytest.mark.parametrize(
    ("aggregate", "is_plain"),
    [
        (agg.count(), True),
        (agg.count("d"), True),
        (agg.sum("x"), True),
        (agg.mean("f"), True),
        (agg.variance("x"), True),
        (agg.min("s"), True),
        (agg.max("d"), True),
        (agg.sum("d"), False),
        (agg.count_distinct("x"), False),
        (agg.quantile("x", 0.5), False),
        (agg.first("x"), False),
    ],
    ids=repr,
)
def test_spark_makes_the_states_of_plain_numbers(aggregate: object, is_plain: bool) -> None:  # noqa: FBT001
    summary = Summary((), (("n", agg.count()), ("other", aggregate)))  # type: ignore[arg-type]

    assert not_plain(summary, SCHEMA) == (None if is_plain else "other")


def test_states_that_spark_makes_are_those_that_python_makes(spark: SparkSession) -> None:
    asked = {
        "n": agg.count(),
        "some": agg.count("x", where="ok"),
        "sum": agg.sum("x"),
        "low": agg.min("f"),
        "mean": agg.mean("f"),
        "spread": agg.variance("f"),
        "none": agg.sum("x", where="never"),
    }
    summary = Summary(("key",), tuple(asked.items()))
    values = [
        ("a", 1, -0.0, True),
        ("a", None, 2.5, False),
        ("b", 7, None, None),
        ("c", 5, 1.0, True),
    ]
    df = spark.createDataFrame(values, "key string, x long, f double, ok boolean")
    df = df.withColumn("never", F.lit(False))  # noqa: FBT003
    schema = arrow_schema(df)

    made = states_of(df, summary, schema)

    rows = pa.Table.from_pylist(
        [dict(zip(schema.names, (*each, False), strict=True)) for each in values], schema
    )
    nowhere = np.zeros(4, np.int64)
    expected = summary.finish(summary.add(rows, nowhere, nowhere), schema).to_pylist()
    found = made.sort_by("key")
    assert summary.finish(found.drop_columns([ROWS]), schema).to_pylist() == expected
    assert found[ROWS].to_pylist() == [2, 1, 1]


def test_spark_adds_up_units_of_all_that_can_be_merged() -> None:
    assert adds_units(Summary((), (("n", agg.count()), ("low", agg.min("s")))), SCHEMA)
    assert not adds_units(Summary((), (("n", agg.count()), ("v", agg.variance("x")))), SCHEMA)
    assert not adds_units(Summary((), (("sum", agg.sum("d")),)), SCHEMA)


@pytest.mark.parametrize("few", [0, sql_states.FEW_PARTITIONS], ids=["many parts", "few parts"])
@pytest.mark.parametrize("keys", [(), ("key",)], ids=["all", "by key"])
def test_a_sample_has_the_states_and_spreads_that_python_computes(
    spark: SparkSession, keys: tuple[str, ...], few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_states, "FEW_PARTITIONS", few)
    asked = {
        "n": agg.count(),
        "some": agg.count("x", where="ok"),
        "sum": agg.sum("x"),
        "mean": agg.mean("f", where="ok"),
        "total": agg.sum("f"),
        "low": agg.min("f"),
        "high": agg.max("x"),
    }
    random = np.random.default_rng(4)
    rows = 400
    df = spark.createDataFrame(
        pa.table(
            {
                "key": [f"key {each}" for each in random.integers(0, 7, rows)],
                "x": pa.array(random.integers(-50, 50, rows), mask=random.random(rows) < 0.3),
                # Large and close together: squares of the values would have no digits left.
                "f": 1e9 + random.normal(0, 1, rows),
                "ok": pa.array(random.random(rows) < 0.4, mask=random.random(rows) < 0.1),
                # Units of one row, and of many.
                UNIT: np.where(
                    random.random(rows) < 0.5, np.arange(rows), rows + np.arange(rows) % 5
                ),
            }
        )
    )
    estimation = Estimation(Summary(keys, tuple(asked.items())), arrow_schema(df), 0.95)

    made = estimation.merge([states_of_sample(df, estimation)], is_last=False)

    own = estimation.merge([estimation.add(df.toArrow(), is_last=False)], is_last=False)
    assert made.schema == own.schema
    if keys:
        made, own = made.sort_by("key"), own.sort_by("key")
        assert made["key"] == own["key"]
    for name in (each for each in own.column_names if each not in keys):
        found, expected = made[name].to_pylist(), own[name].to_pylist()
        assert found == pytest.approx(expected, rel=1e-4), name


def test_a_sample_without_rows_has_no_states(spark: SparkSession) -> None:
    df = spark.createDataFrame([], f"x long, {UNIT} long")
    estimation = Estimation(Summary((), (("m", agg.mean("x")),)), arrow_schema(df), 0.95)

    assert states_of_sample(df, estimation).num_rows == 0


def test_a_sample_is_shuffled_once_where_there_are_few_partitions(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    df = spark.range(0, 9, 1, 3).selectExpr("id AS x", "id % 2 AS key", f"xxhash64(id) AS {UNIT}")
    summary = Summary(("key",), (("n", agg.count()),))
    estimation = Estimation(summary, arrow_schema(df), 0.95)

    def shuffles() -> int:
        sql_states._of_sample(df, estimation).explain()
        return capsys.readouterr().out.count("Exchange hashpartitioning")

    assert shuffles() == 1
    monkeypatch.setattr(sql_states, "FEW_PARTITIONS", 0)
    assert shuffles() == 2
