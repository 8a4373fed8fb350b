"""Spark with Kafka, Delta and Iceberg, in the environment that `scripts/lakes/setup` makes."""

import tempfile
from pathlib import Path

import pyspark

ROOT = Path(__file__).parents[2]
JARS = ROOT / ".jars"
RELEASE = "4.1"
"""The version of Spark that the jars support."""


def missing() -> str | None:
    """Return what tests of Kafka, Delta and Iceberg lack here; None if nothing is missing."""
    if not pyspark.__version__.startswith(f"{RELEASE}."):
        return f"Kafka, Delta and Iceberg run on Spark {RELEASE}: make lakes"
    if not (JARS / ".synced").exists():
        return "the jars of Kafka, Delta and Iceberg are not here: scripts/lakes/setup"
    return None


def config(directory: str | Path | None = None) -> dict[str, str]:
    """Return the settings that add Kafka, Delta and Iceberg to Spark; none if they are missing.

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
        # Delta reads its log in 50 tasks by default; a small table needs one.
        "spark.databricks.delta.snapshotPartitions": "1",
    }
