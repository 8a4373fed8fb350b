"""Rows are computed once, even if Spark refuses to cache them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException

import latecomer as lc
from latecomer.hosts.spark.kept import kept
from tests.support.stream_of_files import Files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    """Return a Spark session without a cache, like serverless Spark."""

    def persist(_rows: DataFrame) -> None:
        raise AnalysisException("[NOT_SUPPORTED_WITH_SERVERLESS] PERSIST is not supported")

    monkeypatch.setattr(type(spark.range(1)), "persist", persist)


class Computed:
    """Counts how often rows are computed, in all processes of Spark."""

    def __init__(self, spark: SparkSession) -> None:
        self._count = spark.sparkContext.accumulator(0)

    @property
    def rows(self) -> int:
        return self._count.value

    def counting(self) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
        count = self._count

        def passed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                count.add(batch.num_rows)
                yield batch

        return passed


def read_twice(spark: SparkSession, directory: Path | None) -> int:
    computed = Computed(spark)
    rows = spark.range(5).mapInArrow(computed.counting(), "id long")
    with kept(rows, None if directory is None else f"{directory}/rows") as once:
        for _ in range(2):
            assert sorted(row.id for row in once.collect()) == [0, 1, 2, 3, 4]
    return computed.rows


def test_sparks_cache_keeps_rows(spark: SparkSession, tmp_path: Path) -> None:
    assert read_twice(spark, tmp_path) == 5
    assert not [*tmp_path.iterdir()]


def test_without_a_cache_rows_are_kept_in_a_directory(
    spark: SparkSession, tmp_path: Path, refused: None
) -> None:
    assert read_twice(spark, tmp_path) == 5
    # The rows kept for the last micro-batch are removed.
    assert read_twice(spark, tmp_path) == 5


def test_without_a_cache_and_a_directory_rows_are_computed_again(
    spark: SparkSession, refused: None
) -> None:
    assert read_twice(spark, None) == 10


def test_without_a_cache_each_micro_batch_is_computed_once(
    spark: SparkSession, tmp_path: Path, refused: None
) -> None:
    files, computed = Files(spark, tmp_path), Computed(spark)
    files.put((1, "a"), (20, "a"))
    files.put((2, "a"), (15, "a"), (40, "a"))
    arriving = files.stream("time timestamp, key string")
    counted = arriving.mapInArrow(computed.counting(), "time timestamp, key string")
    windows = lc.disordered(counted, time="time").tumbling("10 seconds").wait("5 seconds")
    outputs = {"ready": lc.upsert(tmp_path / "counts", key="window"), "late": tmp_path / "late"}

    windows.aggregate(n=lc.agg.count()).start(
        outputs,
        checkpoint=f"{tmp_path}/checkpoint",
        trigger={"availableNow": True},
        states="buckets",
    ).awaitTermination()

    found = lc.current(spark, tmp_path / "counts").selectExpr("unix_seconds(window.start)", "n")
    assert sorted(map(tuple, found.collect())) == [(0, 1), (10, 1), (20, 1)]
    assert [row.time.second for row in lc.read(spark, tmp_path / "late").collect()] == [2]
    assert computed.rows == 5
