"""The Spark host. See `query` for the whole path of a row."""

from latecomer.hosts.spark.installed import check_pyspark

check_pyspark()
