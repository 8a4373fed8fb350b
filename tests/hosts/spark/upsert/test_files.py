"""The table after a crash at any step, and the files that a micro-batch writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from latecomer.errors import (
    ColumnNameError,
    ColumnNotFoundError,
    ColumnTypeError,
    OptionError,
    OwnerError,
)
from latecomer.hosts.spark.upsert import files as upsert_files
from latecomer.hosts.spark.upsert.rows import WINDOWS
from latecomer.hosts.spark.upsert.sink import current, upsert
from tests.support.upserts import KEY, counts, either, files, plain, refined

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.upserts import Put


class Crash(Exception):  # noqa: N818
    """A simulated crash."""


@either
def test_a_crash_at_any_step_leaves_a_table_and_a_second_run_completes_it(
    spark: SparkSession, tmp_path: Path, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = upsert(tmp_path, key=KEY)
    batch = refined(spark, (0, "EWR", 5, 1), (0, "JFK", 2, 0)), 1
    put(sink, refined(spark, (0, "EWR", 4, 0)), 0)
    before, after = [("EWR", 4)], [("EWR", 5), ("JFK", 2)]

    def crash_at_manifest(*, is_done: bool) -> None:
        write_manifest = upsert_files.write_manifest

        def crashing(*args: Any) -> None:  # noqa: ANN401
            if is_done:
                write_manifest(*args)
            raise Crash

        with monkeypatch.context() as patch:
            patch.setattr(upsert_files, "write_manifest", crashing)
            with pytest.raises(Crash):
                put(sink, *batch)

    crash_at_manifest(is_done=False)
    assert counts(spark, tmp_path) == before
    crash_at_manifest(is_done=True)
    assert counts(spark, tmp_path) == after
    # The repeated batch writes new files; the old ones stay current until it is complete.
    crash_at_manifest(is_done=False)
    assert counts(spark, tmp_path) == after
    put(sink, *batch)
    assert counts(spark, tmp_path) == after


@either
def test_only_the_parts_that_a_batch_touches_are_written(
    spark: SparkSession, tmp_path: Path, put: Put
) -> None:
    far = 10 * WINDOWS
    sink = upsert(tmp_path, key=KEY)
    put(sink, plain(spark, (-1, "a", 1), (0, "b", 1), (far, "c", 1)), 0)
    first = files(tmp_path)
    put(sink, plain(spark, (1, "d", 2), (0, "b", 2)), 1)
    second = files(tmp_path)

    run = sink.run[0].name
    assert sorted(first) == [f"rows/place=0-{run}/_lc_part={part}" for part in (-1, 0, 10)]
    assert first.items() <= second.items()
    assert sorted(second.keys() - first.keys()) == [f"rows/place=1-{run}/_lc_part=0"]
    assert counts(spark, tmp_path) == [("a", 1), ("b", 2), ("c", 1), ("d", 2)]

    # "a" now is one of three parts in its place, and moves to another place.
    put(sink, plain(spark, (far, "c", 3)), 2)
    third = files(tmp_path)

    assert sorted(third.keys() - second.keys()) == [
        f"rows/place=2-{run}/_lc_part=10",
        f"rows/place=3-{run}/_lc_part=-1",
    ]
    assert counts(spark, tmp_path) == [("a", 1), ("b", 2), ("c", 3), ("d", 2)]


@either
def test_a_driver_that_was_replaced_changes_nothing(
    spark: SparkSession, tmp_path: Path, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    zombie, successor = upsert(tmp_path, key=KEY), upsert(tmp_path, key=KEY)
    put(zombie, plain(spark, (0, "a", 1)), 0)
    read_manifest, paused = upsert_files.read_manifest, upsert_files.read_manifest(spark, tmp_path)
    put(successor, plain(spark, (0, "b", 2)), 1)
    put(successor, plain(spark, (0, "c", 3)), 2)

    # Paused after its check, it continues with the manifest that it had read.
    with monkeypatch.context() as patch:
        patch.setattr(upsert_files, "read_manifest", lambda *_: paused)
        put(zombie, plain(spark, (0, "z", 9)), 1)
    assert counts(spark, tmp_path) == [("a", 1), ("b", 2), ("c", 3)]
    put(successor, plain(spark, (0, "b", 4)), 3)
    assert counts(spark, tmp_path) == [("a", 1), ("b", 4), ("c", 3)]

    # At its next check it stops.
    with pytest.raises(OwnerError, match="another query has written to this table"):
        put(zombie, plain(spark, (0, "z", 9)), 4)
    assert read_manifest(spark, tmp_path).epoch == 2


@either
def test_an_empty_batch_makes_a_table_and_changes_none(
    spark: SparkSession, tmp_path: Path, put: Put
) -> None:
    with pytest.raises(OptionError, match=r"there is no table of current rows under .*\nHint"):
        current(spark, tmp_path)
    sink = upsert(tmp_path, key="origin")
    none = plain(spark, (0, "EWR", 1)).where("false")
    put(sink, none, 0)
    assert counts(spark, tmp_path) == []
    put(sink, plain(spark, (0, "EWR", 1)), 1)
    put(sink, none, 2)

    assert counts(spark, tmp_path) == [("EWR", 1)]
    # A repeated batch starts from the state before it, and keeps nothing of its first run.
    put(sink, none, 1)
    assert counts(spark, tmp_path) == []


@either
def test_rows_of_another_table_are_refused(spark: SparkSession, tmp_path: Path, put: Put) -> None:
    sink = upsert(tmp_path, key="origin")
    none = plain(spark, (0, "EWR", 1)).where("false")
    put(sink, none, 0)

    with pytest.raises(ColumnNameError, match='"_change_type" cannot be part of the key'):
        upsert(tmp_path, key="_change_type")(none.withColumn("_change_type", F.lit("x")), 1)
    with pytest.raises(ColumnNotFoundError, match=r'no column "carrier" .* "window", "origin"'):
        upsert(tmp_path, key=["window", "carrier"])(none, 3)
    with pytest.raises(OptionError, match=r"key of the table is origin; got key=\['count'\]"):
        upsert(tmp_path, key="count")(none, 3)
    with pytest.raises(ColumnTypeError, match=r"count:bigint>; the micro-batch has .*count:int>"):
        put(sink, none.withColumn("count", F.lit(1)), 3)
