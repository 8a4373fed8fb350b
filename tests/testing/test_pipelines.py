"""`same_under_disorder` can tell a good pipeline from a bad one."""

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import latecomer as lc
from latecomer.testing import same_under_disorder


def orders(count: int = 200) -> pa.Table:
    return pa.table(
        {
            "id": range(count),
            "time": pa.array([i * 1_000_000 for i in range(count)], pa.timestamp("us", "UTC")),
        }
    )


def sorted_with(wait: str) -> "object":
    def pipeline(df: DataFrame) -> DataFrame:
        return lc.disordered(df, time="time").sort(wait=wait).to_df()

    return pipeline


def test_a_pipeline_that_waits_long_enough_passes(spark: SparkSession) -> None:
    same_under_disorder(
        spark, sorted_with("60 seconds"), orders(), time="time", max_delay="60 seconds", batches=4
    )


def test_a_pipeline_that_loses_rows_fails_and_the_message_shows_them(spark: SparkSession) -> None:
    with pytest.raises(AssertionError, match=r"only without disorder \(\d+\): Row\(id="):
        same_under_disorder(
            spark,
            sorted_with("0 seconds"),
            orders(),
            time="time",
            max_delay="60 seconds",
            batches=2,
        )
