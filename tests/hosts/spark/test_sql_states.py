from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from latecomer import agg
from latecomer.hosts.spark.columns import arrow_schema
from latecomer.hosts.spark.sql_states import not_plain, states_of
from latecomer.operators.aggregates.summary import ROWS, Summary

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
