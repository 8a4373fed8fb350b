"""Rows from Kafka are in Delta and Iceberg once, whenever a driver is killed."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.lakes import kills

SEED = 7


@pytest.mark.jvm
def test_no_row_is_lost_or_doubled_in_a_lake_when_a_driver_is_killed(
    lake: SparkSession, broker: str, tmp_path: Path
) -> None:
    rows = kills.events(SEED)
    kills.send(lake, rows, broker)

    kills.run(tmp_path, broker, kills=2, seed=SEED)

    kills.check(lake, tmp_path, broker, rows)
