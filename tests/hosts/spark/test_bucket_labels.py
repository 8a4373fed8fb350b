from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from latecomer.hosts.spark.bucket_labels import label, labels


def test_spark_spreads_the_buckets_one_by_one_over_any_number_of_partitions(
    spark: SparkSession,
) -> None:
    df = spark.createDataFrame([(int(label),) for label in labels(20)], "label int")

    assert [row.hash for row in df.select(F.hash("label").alias("hash")).collect()] == [*range(20)]


def test_a_label_never_changes() -> None:
    # Checkpoints store state under these labels.
    assert labels(4).tolist() == [label(bucket) for bucket in range(4)]
    assert label(0) == -1_693_959_553
    assert label(1) == -1_910_889_132


def test_no_two_buckets_have_one_label_and_all_are_32_bits() -> None:
    found = labels(5_000)

    assert len(set(found.tolist())) == 5_000
    assert found.dtype == "int32"
