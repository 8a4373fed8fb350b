"""Spark with Kafka, Delta and Iceberg, where `scripts/lakes/setup` has made what it takes."""

import tempfile
from pathlib import Path

import pyspark

ROOT = Path(__file__).parents[2]
JARS = ROOT / ".jars"
RELEASE = "4.1"
"""The Spark that the jars are made for."""


def missing() -> str | None:
    """Say what is missing here to run tests of Kafka, Delta and Iceberg; None if nothing is."""
    if not pyspark.__version__.startswith(f"{RELEASE}."):
        return f"Kafka, Delta and Iceberg run on Spark {RELEASE}: make lakes"
    if not (JARS / ".synced").exists():
        return "the jars of Kafka, Delta and Iceberg are not here: scripts/lakes/setup"
    return None


def config(directory: str | Path | None = None) -> dict[str, str]:
    """Return the settings with which Spark has Kafka, Delta and Iceberg; none where it cannot.

    The Iceberg catalog "ice" keeps its tables in a directory.
    """
    if missing():
        return {}
    directory = directory or tempfile.mkdtemp()
    return {
        "spark.driver.extraClassPath": f"{JARS}/spark/*",
        "spark.sql.extensions": (
            "io.delta.sql.DeltaSparkSessionExtension,"
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        ),
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": f"{directory}/ice",
        "spark.sql.warehouse.dir": f"{directory}/warehouse",
        # Delta reads its log in 50 tasks, of which a small table needs one.
        "spark.databricks.delta.snapshotPartitions": "1",
    }
