"""Rows on the driver have the columns that users see, and go to one file if they are few."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.types import MapType, StringType, StructType

from latecomer.hosts.spark import local_rows
from latecomer.hosts.spark.declared import read_schema
from latecomer.hosts.spark.local_rows import LocalRows

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from pyspark.sql import SparkSession

SCHEMA = read_schema("id long, _lc_order long")


def rows(spark: SparkSession, *ids: int) -> LocalRows:
    return LocalRows.of(spark, pa.table({"id": ids, "_lc_order": ids}), SCHEMA)


def test_columns_of_our_own_are_left_out(spark: SparkSession) -> None:
    few = rows(spark, 1, 2)

    assert few.schema.names == few.table.column_names == ["id"]
    assert [row.asDict() for row in few.frame().collect()] == [{"id": 1}, {"id": 2}]


def test_no_rows_have_columns_too(spark: SparkSession) -> None:
    none = LocalRows.none(spark, SCHEMA)

    assert none.schema.names == none.frame().columns == ["id"]
    assert none.frame().collect() == []


def test_few_rows_are_written_to_one_file(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = rows(spark, *range(100))

    few.frame().write.parquet(f"{tmp_path}/few")
    monkeypatch.setattr(local_rows, "FEW", 8)
    few.frame().write.parquet(f"{tmp_path}/many")

    assert len([*(tmp_path / "few").glob("*.parquet")]) == 1
    assert len([*(tmp_path / "many").glob("*.parquet")]) > 1


def test_maps_are_not_plain(spark: SparkSession) -> None:
    assert rows(spark).are_plain
    assert not LocalRows.none(
        spark, StructType().add("map", MapType(StringType(), StringType()))
    ).are_plain
