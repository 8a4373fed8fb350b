import pytest
from pyspark.sql import SparkSession

import latecomer as lc
from latecomer.errors import MissingPackageError
from latecomer.hosts.spark.tables.place import Place, check_package


def test_a_source_that_spark_does_not_have_is_refused_with_the_way_to_get_it(
    spark: SparkSession,
) -> None:
    with pytest.raises(MissingPackageError, match=r"without the package for nosuch\.\nHint: buy"):
        check_package(spark, "nosuch", "buy it")


def test_an_error_about_a_path_does_not_mean_a_missing_package(spark: SparkSession) -> None:
    check_package(spark, "parquet", "", path="/nowhere")


def test_directories_and_functions_are_no_places() -> None:
    places = (lc.table("sales"), lc.delta("sales"), lc.kafka("late", servers="host:9092"))

    assert all(isinstance(each, Place) for each in places)
    assert not isinstance("sales", Place)
    assert not isinstance(lc.upsert("sales", key="id"), Place)
