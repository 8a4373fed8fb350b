"""What a bucket hands back to Spark, and where Spark puts it."""

from unittest.mock import patch

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from latecomer.errors import ReleaseTooLargeError
from latecomer.hosts.output import Output
from latecomer.hosts.spark import bucket as processor
from latecomer.hosts.spark.bucket_labels import labels


def output(rows: int) -> Output:
    return Output("ready", rows, pa.table({"text": ["x" * 1_000] * rows}))


def test_large_rows_are_handed_back_in_small_parts() -> None:
    with patch.object(processor, "PARCEL_BYTES", 5_000):
        parts = [row.rows for row in processor.as_rows(output(20))]

    assert max(parts) <= 5
    assert sum(parts) == 20


def test_more_than_spark_can_carry_is_refused_with_a_remedy() -> None:
    with (
        patch.object(processor, "_MOST_BYTES", 30_000),
        pytest.raises(ReleaseTooLargeError, match=r"2 GiB.*\nHint: read less per micro-batch"),
    ):
        list(processor._bounded(iter([output(20), output(20)])))


def test_spark_spreads_the_buckets_one_by_one_over_any_number_of_partitions(
    spark: SparkSession,
) -> None:
    df = spark.createDataFrame([(int(label),) for label in labels(20)], "label int")

    assert [row.hash for row in df.select(F.hash("label").alias("hash")).collect()] == [*range(20)]
