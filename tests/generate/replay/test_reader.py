"""The methods that Spark calls for each micro-batch, called without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import (
    DateType,
    DecimalType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from latecomer.errors import ColumnNotFoundError
from latecomer.generate.replay.reader import ReplayReader, share_out, spark_schema
from latecomer.generate.replay.row_range import RowRange
from latecomer.generate.replay.source import ReplayOptions
from tests.support.recordings import record

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = StructType([StructField("id", StringType())])


def reader(path: Path, schema: StructType = SCHEMA, **options: str) -> ReplayReader:
    return ReplayReader(ReplayOptions.read({"path": str(path), "unit": "us", **options}), schema)


def rows(source: ReplayReader, start: dict, end: dict) -> list[str]:
    parts = source.partitions(start, end)
    return [
        name for part in parts for batch in source.read(part) for name in batch["id"].to_pylist()
    ]


def test_each_micro_batch_ends_at_the_rhythm(tmp_path: Path) -> None:
    source = reader(record(tmp_path / "a.parquet", [1, 2, 3, 4, 5]), rowsPerBatch="2")
    seen, at = [], source.initialOffset()
    for _ in range(4):
        end = source.latestOffset(at, source.getDefaultReadLimit())
        seen.append(rows(source, at, end))
        at = end

    assert seen == [["a0", "a1"], ["a2", "a3"], ["a4"], []]


def test_due_rows_are_reported_beside_the_rows_read(tmp_path: Path) -> None:
    source = reader(record(tmp_path / "a.parquet", [1, 2, 3, 4, 5]), rowsPerBatch="2")

    end = source.latestOffset(source.initialOffset(), source.getDefaultReadLimit())

    assert end["rows"] == 2
    assert source.reportLatestOffset()["rows"] == 5


def test_all_available_rows_are_read_if_spark_requests_it(tmp_path: Path) -> None:
    source = reader(record(tmp_path / "a.parquet", [1, 2, 3, 4, 5]), rowsPerBatch="2")

    end = source.latestOffset(source.initialOffset(), ReadAllAvailable())

    assert rows(source, source.initialOffset(), end) == ["a0", "a1", "a2", "a3", "a4"]


def test_added_files_are_read_unless_the_query_reads_only_available_ones(tmp_path: Path) -> None:
    record(tmp_path / "b.parquet", [5, 6])
    open_end, bounded = (reader(tmp_path, rowsPerBatch="1") for _ in range(2))
    bounded.prepareForTriggerAvailableNow()
    starts = {}
    for source in (open_end, bounded):
        limit = source.getDefaultReadLimit()
        starts[source] = source.latestOffset(source.initialOffset(), limit)

    record(tmp_path / "a.parquet", [5])
    found = []
    for source, start in starts.items():
        end = source.latestOffset(start, source.getDefaultReadLimit())
        found.append(rows(source, start, end))

    assert found == [["a0"], ["b1"]]


def test_columns_that_the_files_do_not_have_are_refused(tmp_path: Path) -> None:
    asked = StructType([StructField("id", StringType()), StructField("price", LongType())])
    source = reader(record(tmp_path / "a.parquet", [1]), asked, rowsPerBatch="2")

    with pytest.raises(ColumnNotFoundError, match="no column price; the files have arrival, id"):
        source.latestOffset(source.initialOffset(), source.getDefaultReadLimit())


def test_types_that_spark_has_not_become_the_nearest_that_it_has() -> None:
    schema = pa.schema(
        {
            "small": pa.uint8(),
            "large": pa.uint64(),
            "word": pa.dictionary(pa.int32(), pa.string_view()),
            "day": pa.date64(),
            "plain": pa.int64(),
        }
    )

    found = spark_schema(schema)

    kinds = [ShortType(), DecimalType(20, 0), StringType(), DateType(), LongType()]
    assert [field.dataType for field in found] == kinds
    assert all(field.nullable for field in found)


def test_tasks_share_rows_evenly_and_in_order() -> None:
    ranges = [RowRange("a", 10, 20), RowRange("b", 0, 1), RowRange("c", 5, 12)]

    assert share_out(ranges, 6) == [
        [RowRange("a", 10, 16)],
        [RowRange("a", 16, 20), RowRange("b", 0, 1), RowRange("c", 5, 6)],
        [RowRange("c", 6, 12)],
    ]
    assert share_out(ranges, 100) == [ranges]
    assert share_out([], 6) == []
