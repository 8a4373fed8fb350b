from __future__ import annotations

from typing import TYPE_CHECKING

from latecomer.hosts.spark.durable.offset_log import clock, entries, last_clock, last_done

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_the_clock_is_that_of_the_last_micro_batch_that_was_begun(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert (last_clock(spark, str(tmp_path)), last_done(spark, str(tmp_path))) == (0, -1)

    for log in ("offsets", "commits"):
        (tmp_path / log).mkdir()
    for number in (9, 10):
        lines = f'v1\n{{"batchWatermarkMs": {number}000}}\n{{"logOffset": {number}}}'
        (tmp_path / "offsets" / str(number)).write_text(lines)
    (tmp_path / "commits" / "9").write_text('v1\n{"nextBatchWatermarkMs": 10000}')
    (tmp_path / "offsets" / ".10.crc").write_text("")

    assert last_clock(spark, str(tmp_path)) == 10_000
    assert last_done(spark, str(tmp_path)) == 9
    assert entries(spark, str(tmp_path), "offsets")[9][2:] == ['{"logOffset": 9}']


def test_the_wall_clock_of_a_micro_batch_is_in_its_entry() -> None:
    assert clock(["v1", '{"batchWatermarkMs": 1, "batchTimestampMs": 1700000000123}', "{}"]) == (
        1_700_000_000_123_000
    )
