"""Readers see whole micro-batches: those that the last owner has recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import latecomer as lc
from latecomer.errors import OptionError
from latecomer.hosts.spark.declared import read_schema
from latecomer.hosts.spark.durable.ledger import Ledger
from latecomer.hosts.spark.durable.outputs import adopt, check, clean, write
from latecomer.hosts.spark.durable.owner import Owner, known_ids
from latecomer.hosts.spark.durable.parquet import ParquetWriter
from latecomer.hosts.spark.local_rows import LocalRows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

FIRST = Owner("checkpoint", "one", 1, "r1-a")
SECOND = Owner("checkpoint", "one", 2, "r2-b")


def seen(spark: SparkSession, path: str) -> dict[int, int]:
    return {
        row.batch: row["count"] for row in lc.read(spark, path).groupBy("batch").count().collect()
    }


def test_a_batch_is_seen_once_and_as_a_whole(spark: SparkSession, tmp_path: Path) -> None:
    path = f"{tmp_path}/out"
    adopt(spark, path, FIRST)
    with pytest.raises(OptionError, match="no micro-batch is complete"):
        lc.read(spark, path)
    write(spark.range(3), path, 0, FIRST)
    write(spark.range(4), path, 1, FIRST)
    # A run that was killed while writing leaves files without a record.
    spark.range(9).write.parquet(f"{path}/batch=2/attempt=r1-a")
    assert seen(spark, path) == {0: 3, 1: 4}

    # The next run writes both again; a reader that was there before keeps its files.
    before = lc.read(spark, path)
    write(spark.range(4), path, 1, SECOND)
    assert before.count() == 7
    assert seen(spark, path) == {0: 3, 1: 4}
    write(spark.range(5), path, 2, SECOND)
    clean(spark, path, 1, SECOND)
    clean(spark, path, 2, SECOND)

    assert seen(spark, path) == {0: 3, 1: 4, 2: 5}
    plain = spark.read.parquet(path)
    assert plain.columns == ["id", "batch", "attempt"]
    assert plain.count() == 12


def test_rows_that_the_driver_writes_itself_do_not_become_a_dataframe(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{tmp_path}/out"
    adopt(spark, path, FIRST)
    rows = LocalRows.of(spark, pa.table({"id": [1, 2, 3]}), read_schema("id long"))

    with monkeypatch.context() as patched:
        patched.delattr(LocalRows, "frame")
        write(rows, path, 0, FIRST, ParquetWriter.of(spark))

    assert seen(spark, path) == {0: 3}


def test_old_micro_batches_can_be_moved_away_together_with_their_records(
    spark: SparkSession, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    for batch, rows in enumerate((3, 4)):
        write(spark.range(rows), str(out), batch, FIRST)

    (out / "batch=0").rename(tmp_path / "batch=0")
    with pytest.raises(OptionError, match=r"files are gone: .*batch=0.*\nHint: .*_latecomer"):
        lc.read(spark, str(out))
    for record in (out / "_latecomer").glob("0-*"):
        record.rename(tmp_path / record.name)

    assert seen(spark, str(out)) == {1: 4}
    assert check(spark, str(out), {FIRST.id})


def test_a_driver_that_was_replaced_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    path = f"{tmp_path}/out"
    write(spark.range(5), path, 7, SECOND)
    write(spark.range(2), path, 7, FIRST)

    assert seen(spark, path) == {7: 5}


def test_a_driver_that_was_replaced_removes_nothing_that_its_successor_wrote(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = f"{tmp_path}/out"
    third = Owner("checkpoint", "one", 3, "r3-c")
    same = Owner("checkpoint", "one", 3, "r3-d")
    # Without a lock, a driver may pause before it removes the files of an earlier run.
    for owner in (FIRST, SECOND, third, same):
        write(spark.range(5), path, 7, owner)
    clean(spark, path, 7, SECOND)
    assert spark.read.parquet(path).count() == 15
    clean(spark, path, 7, third)

    assert seen(spark, path) == {7: 5}
    assert spark.read.parquet(path).count() == 10


def test_drivers_that_began_at_the_same_time_write_for_one_checkpoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    checkpoint, path = f"{tmp_path}/checkpoint", f"{tmp_path}/out"
    # Neither saw the other, so each has named the checkpoint.
    for name in ("one", "two"):
        owner = {"id": name, "epoch": 1, "attempt": f"r1-{name}"}
        Ledger(spark, f"{checkpoint}/latecomer/owners").add(f"owner-{name}", owner)

    adopt(spark, path, Owner(checkpoint, "two", 1, "r1-two"))
    adopt(spark, path, Owner(checkpoint, "one", 1, "r1-one"))

    assert check(spark, path, known_ids(spark, checkpoint))


def test_a_directory_belongs_to_one_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    adopt(spark, f"{tmp_path}/out", FIRST)
    adopt(spark, f"{tmp_path}/out", SECOND)
    with pytest.raises(OptionError, match="has the output of another checkpoint"):
        adopt(spark, f"{tmp_path}/out", Owner("checkpoint", "two", 1, "r1-c"))

    spark.range(1).write.parquet(f"{tmp_path}/other")
    with pytest.raises(OptionError, match="files that no checkpoint of this version wrote"):
        adopt(spark, f"{tmp_path}/other", FIRST)
