from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from latecomer.hosts.spark.upsert.rows import level_of, one_per_key, part_of
from latecomer.hosts.spark.upsert.sink import upsert
from tests.support.upserts import counts

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
def test_a_row_finds_its_part_in_any_time_zone(spark: SparkSession, kind: str) -> None:
    start = f"{kind} '2013-01-01 10:00:00{'Z' if kind == 'timestamp' else ''}'"
    rows = spark.sql(
        f"SELECT named_struct('start', {start}, 'end', {start} + interval 1 hour) AS window"
    ).persist()
    zone = spark.conf.get("spark.sql.session.timeZone")
    try:
        parts = []
        for zone_of_session in ("UTC", "Asia/Tokyo"):
            spark.conf.set("spark.sql.session.timeZone", zone_of_session)
            two = rows.selectExpr("window", "window.start window_start", "window.end window_end")
            keys = (["window"], ["window_start", "window_end"])
            parts += two.select(*(part_of(two.schema, key) for key in keys)).collect()[0]
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(zone))
        rows.unpersist()

    assert parts == ["376"] * 4


def test_a_correction_takes_the_place_of_the_answer_in_its_micro_batch(
    spark: SparkSession,
) -> None:
    rows = spark.createDataFrame(
        [("a", 5, True), ("a", 4, False), ("b", 1, False)], "k string, n int, is_correction boolean"
    )

    assert sorted((row.k, row.n) for row in one_per_key(rows, ["k"]).collect()) == [
        ("a", 5),
        ("b", 1),
    ]


def test_of_several_recalls_the_highest_is_kept_though_its_wait_is_shorter(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = spark.createDataFrame(
        [("EWR", 6, 0.9, 300_000, False), ("EWR", 7, 0.99, 0, True)],
        "origin string, count bigint, recall double, wait bigint, is_final boolean",
    )

    upsert(f"{tmp_path}/current", key="origin")(rows, 0)

    assert counts(spark, tmp_path / "current") == [("EWR", 7)]
    assert level_of(rows, "s.") == "s.`recall`"
    assert level_of(rows.withColumn("is_changed", F.lit("yes"))) == "`wait` * 1000"
