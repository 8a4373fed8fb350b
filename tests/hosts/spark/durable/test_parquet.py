"""Files that the driver writes are read as those that Spark writes."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StringType, StructType

from latecomer.hosts.spark.arrow_schema import in_arrow
from latecomer.hosts.spark.declared import read_schema
from latecomer.hosts.spark.durable import parquet
from latecomer.hosts.spark.durable.parquet import ParquetWriter
from latecomer.hosts.spark.local_rows import LocalRows
from latecomer.hosts.spark.outputs import with_window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    Set = Callable[[str, str], None]

KIND = "spark.sql.parquet.outputTimestampType"
CODEC = "spark.sql.parquet.compression.codec"
TYPES = (
    "flag boolean, tiny tinyint, small smallint, id int, long long, single float, double double, "
    "name string, bytes binary, day date, at timestamp, price decimal(20, 4), cents decimal(9, 2)"
)
WINDOW = StructType().add("window", read_schema("start timestamp, end timestamp"))
WINDOWED = with_window(StructType([*WINDOW, *read_schema(TYPES)]))
NOON = datetime(2026, 3, 29, 12, tzinfo=UTC)
EARLY, FAR = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
ROWS: list[tuple[Any, ...]] = [
    (
        *({"start": EARLY, "end": FAR}, True, 1, 2, 3, 4, 0.5, 0.25, "ä", b"\0\1"),
        *(date(1582, 10, 4), EARLY, Decimal("-1.2500"), Decimal("0.01")),
    ),
    (
        *({"start": NOON, "end": None}, False, -128, -2, -3, -4, float("inf"), float("nan")),
        *("", b"", date(9999, 12, 31), FAR, Decimal("9999999999999999.9999"), None),
    ),
    (None,) * 14,
]


def local(spark: SparkSession, schema: StructType, *rows: tuple[Any, ...]) -> LocalRows:
    named = [dict(zip(schema.names, row, strict=True)) for row in rows]
    return LocalRows.of(spark, pa.Table.from_pylist(named, in_arrow(schema)), schema)


@pytest.fixture
def setting(spark: SparkSession) -> Iterator[Set]:
    before = {name: spark.conf.get(name, None) for name in (KIND, CODEC)}
    yield spark.conf.set
    for name, value in before.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


@pytest.mark.parametrize("kind", ["INT96", "TIMESTAMP_MICROS"])
@pytest.mark.parametrize("rows", [ROWS, []], ids=["rows", "none"])
def test_spark_reads_what_it_would_have_written(
    spark: SparkSession, tmp_path: Path, setting: Set, kind: str, rows: list[Any]
) -> None:
    setting(KIND, kind)
    few = local(spark, WINDOWED, *rows)
    writer = ParquetWriter.of(spark)

    assert writer is not None
    assert writer.write(few, tmp_path / "ours")
    few.frame().write.parquet(f"{tmp_path}/spark")

    ours, theirs = spark.read.parquet(f"{tmp_path}/ours"), spark.read.parquet(f"{tmp_path}/spark")
    assert ours.schema == theirs.schema
    assert ours.schema["window"].metadata == {"spark.timeWindow": True}
    # Compare as text: a NaN does not equal itself, and the year 9999 may not fit other zones.
    as_text = [F.col(name).cast("string") for name in few.schema.names]
    assert ours.select(*as_text).collect() == theirs.select(*as_text).collect()
    # Other readers find the same physical types.
    assert types(tmp_path / "ours") == types(tmp_path / "spark")


def types(directory: Path) -> list[tuple[str, str, str]]:
    (file,) = directory.glob("*.parquet")
    schema = pq.ParquetFile(file).schema
    columns = [schema.column(at) for at in range(len(schema.names))]
    return [(each.path, each.physical_type, str(each.logical_type)) for each in columns]


@pytest.mark.parametrize(("codec", "written"), [("zstd", "ZSTD"), ("none", "UNCOMPRESSED")])
def test_files_are_compressed_as_the_session_says(
    spark: SparkSession, tmp_path: Path, setting: Set, codec: str, written: str
) -> None:
    setting(CODEC, codec)
    writer = ParquetWriter.of(spark)

    assert writer is not None
    assert writer.write(local(spark, read_schema("id long"), (1,)), tmp_path)
    (file,) = tmp_path.glob("*.parquet")
    assert pq.ParquetFile(file).metadata.row_group(0).column(0).compression == written


@pytest.mark.parametrize(("name", "value"), [(CODEC, "brotli"), (KIND, "TIMESTAMP_MILLIS")])
def test_a_session_with_other_settings_writes_by_spark(
    spark: SparkSession, setting: Set, name: str, value: str
) -> None:
    setting(name, value)

    assert ParquetWriter.of(spark) is None


def test_a_session_that_encrypts_files_writes_by_spark(spark: SparkSession) -> None:
    spark.conf.set("parquet.crypto.factory.class", "org.example.Factory")
    try:
        assert ParquetWriter.of(spark) is None
    finally:
        spark.conf.unset("parquet.crypto.factory.class")


def test_timestamps_without_a_zone_keep_their_type(
    spark: SparkSession, tmp_path: Path, setting: Set
) -> None:
    rows = local(spark, read_schema("at timestamp_ntz"), (NOON.replace(tzinfo=None),))

    setting(KIND, "INT96")
    by_spark = ParquetWriter.of(spark)
    setting(KIND, "TIMESTAMP_MICROS")
    by_us = ParquetWriter.of(spark)

    assert by_spark is not None
    assert not by_spark.write(rows, tmp_path)
    assert by_us is not None
    assert by_us.write(rows, tmp_path)
    read = spark.read.parquet(str(tmp_path))
    assert read.schema == rows.schema
    assert read.collect() == rows.frame().collect()


def test_rows_that_only_spark_can_write_are_written_by_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = ParquetWriter.of(spark)
    lists = StructType().add("tags", ArrayType(StringType()))
    numbers = StructType().add("id", LongType())
    assert writer is not None

    assert not writer.write(local(spark, lists, (["a"],)), tmp_path)
    # Files of another attempt must not stay beside new ones; Spark replaces them.
    assert writer.write(local(spark, numbers, (1,)), tmp_path / "there")
    assert not writer.write(local(spark, numbers, (2,)), tmp_path / "there")
    monkeypatch.setattr(parquet, "FEW", 8)
    assert not writer.write(local(spark, numbers, (1,), (2,)), tmp_path / "many")
    assert not (tmp_path / "many").exists()
