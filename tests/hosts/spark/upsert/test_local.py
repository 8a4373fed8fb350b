"""Rows that the driver merges make the table that Spark makes of them."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import LongType, StringType, StructType

import latecomer as lc
from latecomer import agg
from latecomer.hosts.spark.durable.parquet import ParquetWriter
from latecomer.hosts.spark.local_rows import LocalRows
from latecomer.hosts.spark.upsert import files as upsert_files
from latecomer.hosts.spark.upsert import local
from latecomer.hosts.spark.upsert.sink import current, upsert
from tests.support.streaming import source
from tests.support.upserts import KEY, by_spark, counts, on_driver, plain, refined

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

FIRST = datetime(1890, 1, 1, tzinfo=UTC)
WAITS = ("0 s", "90 seconds", "1 minute 40 seconds", "2 hours")
FLOATS = (0.0, -0.0, float("nan"), 1.5, None)

TIMES = "window struct<start: timestamp, end: timestamp>"
LOCAL = "window_start timestamp_ntz, window_end timestamp_ntz"
NUMBERS = "window struct<start: bigint, end: bigint>"
LEVELS = "wait string, is_final boolean, is_changed boolean"
KINDS = {
    "waits": (
        f"{TIMES}, origin string, price decimal(9, 2), day date, {LEVELS}, is_correction boolean",
        ("window", "origin"),
    ),
    "recalls": (
        f"{LOCAL}, origin double, count int, recall double, wait bigint, is_final boolean",
        ("origin", "window_start", "window_end"),
    ),
    "changelog": (
        f"{NUMBERS}, origin double, bytes binary, _change_type string, _change_number bigint",
        ("window", "origin"),
    ),
    "no window": ("origin boolean, at timestamp", ("origin",)),
}


def rows_of(kind: str, draw: random.Random, number: int) -> tuple[Any, ...]:
    """Return a random row; rows of equal level and key differ in no other column."""
    at = draw.choice([-70_000, 0, 1, 999, 1_000, 40_000])
    start, end = FIRST + timedelta(minutes=at), FIRST + timedelta(minutes=at + 1)
    if kind == "waits":
        window = draw.choice([(start, end), (start, end), (start, start), None])
        wait, corrects = draw.choice(WAITS), draw.random() < 0.2
        price, day = Decimal(number) / 4 + corrects, start.date()
        origin = draw.choice(["a", "ä", "", None])
        return (window, origin, price, day, wait, wait == WAITS[-1], True, corrects)
    if kind == "recalls":
        naive = (start.replace(tzinfo=None), end.replace(tzinfo=None))
        recall = draw.choice([0.5, 0.9, 0.99])
        return (*naive, draw.choice(FLOATS), number, recall, number, recall == 0.99)
    if kind == "changelog":
        window = (60 * at, 60 * at + 60)
        change = draw.choice(["insert", "insert", "delete"])
        return (window, draw.choice(FLOATS), bytes([number]), change, draw.randrange(1 << 60))
    return (draw.choice([True, False, None]), start + timedelta(days=number))


def texts(rows: DataFrame) -> list[str]:
    return sorted(map(str, rows.collect()))


@pytest.mark.parametrize("kind", KINDS)
def test_the_driver_makes_the_table_that_spark_makes(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    schema, key = KINDS[kind]
    draw = random.Random(7)
    tables = [upsert(tmp_path / name, key=key) for name in ("spark", "driver", "both")]
    for number in range(4):
        batch = [rows_of(kind, draw, number) for _ in range(draw.choice([1, 30]))]
        # Spark may keep either of two rows of one key and level; the key decides which rows clash.
        batch = [*{str(row[: len(key)]) + str(row[4:]): row for row in batch}.values()]
        rows = spark.createDataFrame(batch, schema).coalesce(1)
        by_spark(tables[0], rows, number)
        on_driver(tables[1], rows, number)
        # Each continues with what the other has written.
        (by_spark if number % 2 else on_driver)(tables[2], rows, number)

        wanted, *found = [current(spark, each.path) for each in tables]
        assert [texts(each) for each in found] == [texts(wanted)] * 2
        assert {each.schema.simpleString() for each in found} == {wanted.schema.simpleString()}
    kept = [
        upsert_files.read_manifest(spark, each.path).states[-1].place_of.keys() for each in tables
    ]
    assert kept[1:] == kept[:1] * 2


@pytest.fixture
def by_spark_alone(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return a list with whether Spark had to merge, for each micro-batch of the driver."""
    seen, real = [], local.LocalMerge.of

    def of(*given: Any) -> local.LocalMerge | None:  # noqa: ANN401
        found = real(*given)
        seen.append(found is None)
        return found

    monkeypatch.setattr(upsert_files.LocalMerge, "of", of)
    return seen


def test_spark_merges_what_only_it_can(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    by_spark_alone: list[bool],
) -> None:
    sink = upsert(tmp_path / "a", key=KEY)
    on_driver(sink, plain(spark, (0, "a", 1), (1, "b", 1)), 0)
    # Large rows; then large parts.
    with monkeypatch.context() as patch:
        patch.setattr(local, "MOST", 30)
        on_driver(sink, plain(spark, (0, "a", 2), (1, "b", 2)), 1)
        patch.setattr(local, "MOST", 200)
        on_driver(sink, plain(spark, (0, "a", 3)), 2)
    on_driver(sink, plain(spark, (1, "b", 4)), 3)
    assert by_spark_alone == [False, True, True, False]
    assert counts(spark, tmp_path / "a") == [("a", 3), ("b", 4)]


def test_keys_that_are_equal_with_other_bytes_are_merged_by_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    writer = ParquetWriter.of(spark)
    for key, is_merged in (("name", False), ("count", True)):
        columns = StructType().add("name", StringType("UTF8_LCASE")).add("count", LongType())
        rows = LocalRows.none(spark, columns)
        found = local.LocalMerge.of(rows, [key], columns, {}, tmp_path, writer)
        assert (found is not None) == is_merged


def test_times_of_an_old_calendar_are_read_by_spark(
    spark: SparkSession, tmp_path: Path, by_spark_alone: list[bool]
) -> None:
    sink = upsert(tmp_path, key=KEY)
    setting = "spark.sql.parquet.int96RebaseModeInWrite"
    before = spark.conf.get(setting)
    spark.conf.set(setting, "LEGACY")
    try:
        by_spark(sink, refined(spark, (0, "a", 1, 0)), 0)
    finally:
        spark.conf.set(setting, before)
    on_driver(sink, refined(spark, (0, "a", 2, 1)), 1)

    assert by_spark_alone == [True]
    assert counts(spark, tmp_path) == [("a", 2)]


def test_files_that_are_gone_are_not_taken_for_a_part_without_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    sink = upsert(tmp_path, key=KEY)
    on_driver(sink, plain(spark, (0, "a", 1)), 0)
    for path in [*tmp_path.rglob("*.parquet")]:
        path.unlink()
        path.parent.rmdir()

    with pytest.raises(Exception, match="PATH_NOT_FOUND"):
        on_driver(sink, plain(spark, (0, "b", 1)), 1)


def test_what_a_crash_has_left_in_a_place_is_not_read(spark: SparkSession, tmp_path: Path) -> None:
    sink = upsert(tmp_path, key=KEY)
    on_driver(sink, plain(spark, (0, "a", 1)), 0)
    left = tmp_path / f"rows/place=1-{sink.run[0].name}"
    by_spark(upsert(tmp_path / "x", key=KEY), plain(spark, (0, "z", 9), (3_000, "y", 9)), 0)
    next((tmp_path / "x/rows").glob("place=*")).rename(left)
    on_driver(sink, plain(spark, (0, "b", 1)), 1)

    assert counts(spark, tmp_path) == [("a", 1), ("b", 1)]
    assert [pq.read_metadata(path).num_rows for path in left.rglob("*.parquet")] == [2]


def test_old_files_that_cannot_be_removed_are_an_error(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = upsert(tmp_path, key=KEY)
    on_driver(sink, plain(spark, (0, "a", 1)), 0)
    left = tmp_path / f"rows/place=1-{sink.run[0].name}/_lc_part=0"
    left.mkdir(parents=True)
    (left / "part-0.parquet").touch()
    monkeypatch.setattr(local.shutil, "rmtree", lambda *_, **__: None)

    with pytest.raises(OSError, match="cannot be removed"):
        on_driver(sink, plain(spark, (0, "a", 2)), 1)


def test_rows_that_a_reader_has_cached_are_not_shown_to_the_next_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    sink = upsert(tmp_path, key=KEY)
    on_driver(sink, plain(spark, (0, "a", 0)), 0)
    cached = current(spark, tmp_path).cache()
    try:
        assert cached.count() == 1
        # By then the places of the first micro-batches are used again.
        for number in range(1, 9):
            on_driver(sink, plain(spark, (0, "a", number)), number)
            assert counts(spark, tmp_path) == [("a", number)]
    finally:
        cached.unpersist()


def test_times_are_written_as_every_arrow_reads_them(spark: SparkSession, tmp_path: Path) -> None:
    sink = upsert(tmp_path, key=KEY)
    on_driver(sink, refined(spark, (0, "a", 1, 0)), 0)

    (file,) = tmp_path.rglob("*.parquet")
    schema = pq.read_schema(file)
    assert pq.ParquetFile(file).schema.column(0).physical_type == "INT64"
    assert schema.field("window").type[0].type.unit == "us"


def test_a_query_on_rows_that_were_replaced_long_ago_fails(
    spark: SparkSession, tmp_path: Path
) -> None:
    sink = upsert(tmp_path, key=KEY)
    on_driver(sink, plain(spark, (0, "a", 1)), 0)
    first = current(spark, tmp_path)
    for number in range(1, 8):
        on_driver(sink, plain(spark, (0, "a", number)), number)

    with pytest.raises(Exception, match="FILE_NOT_EXIST"):
        first.collect()
    assert counts(spark, tmp_path) == [("a", 7)]


def test_an_empty_batch_with_waits_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    sink, rows = upsert(tmp_path, key=KEY), refined(spark, (0, "a", 1, 0))
    on_driver(sink, rows.where("false"), 0)
    on_driver(sink, rows, 1)
    sink.write(LocalRows.none(spark, rows.schema), 2, ParquetWriter.of(spark))

    assert counts(spark, tmp_path) == [("a", 1)]


def test_a_query_with_few_rows_needs_no_more_jobs_for_a_table_than_for_a_directory(
    spark: SparkSession, tmp_path: Path
) -> None:
    times = [datetime(2024, 3, 1, 12, minute, 30, tzinfo=UTC) for minute in range(3)]
    batches = [pa.table({"time": pa.array([time], pa.timestamp("us", "UTC"))}) for time in times]
    rows = source(spark, batches, f"{tmp_path}/rows")
    windows = lc.disordered(rows, time="time").tumbling("1 minute").wait("0 seconds")
    counted = windows.aggregate(count=agg.count())

    def jobs(name: str, ready: Any) -> int:  # noqa: ANN401
        outputs = {"ready": ready, "late": f"{tmp_path}/{name}-late"}
        query = counted.start(
            outputs, checkpoint=f"{tmp_path}/{name}-checkpoint", trigger={"availableNow": True}
        )
        query.awaitTermination()
        return len(spark.sparkContext.statusTracker().getJobIdsForGroup(str(query.runId)))

    table = jobs("table", lc.upsert(tmp_path / "table", key="window"))
    assert table == jobs("directory", f"{tmp_path}/directory")
    assert current(spark, tmp_path / "table").count() == 2
