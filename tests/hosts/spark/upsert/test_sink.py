"""One current row per window and key: what is kept, and what a crash at any step leaves behind."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from latecomer.errors import (
    ColumnNameError,
    ColumnNotFoundError,
    ColumnTypeError,
    OptionError,
    StateFormatError,
)
from latecomer.hosts.spark.upsert import files as upsert_files
from latecomer.hosts.spark.upsert import merge as upsert_merge
from latecomer.hosts.spark.upsert.manifest import KEPT, Manifest, State
from latecomer.hosts.spark.upsert.rows import WINDOWS, level_of, part_of
from latecomer.hosts.spark.upsert.sink import current, upsert

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

KEY = ["window", "origin"]
REFINED = (
    "window struct<start: timestamp, end: timestamp>, origin string, count bigint, "
    "wait interval day to second, is_final boolean, is_changed boolean"
)
PLAIN = "window struct<start: bigint, end: bigint>, origin string, count bigint"

Row = tuple[int, str | None, int, int]
"""A window of a minute by its number, an origin, a count, and a wait in minutes."""


def refined(spark: SparkSession, *rows: Row) -> DataFrame:
    def minute(number: int) -> datetime:
        return datetime(2013, 1, 1, tzinfo=UTC) + timedelta(minutes=number)

    values = [
        ((minute(at), minute(at + 1)), origin, count, timedelta(minutes=wait), wait == 60, True)
        for at, origin, count, wait in rows
    ]
    return spark.createDataFrame(values, REFINED).coalesce(1)


def plain(spark: SparkSession, *rows: tuple[int, str, int]) -> DataFrame:
    """Rows of a single wait, with windows of ten of some integer."""
    values = [((10 * at, 10 * at + 10), origin, count) for at, origin, count in rows]
    return spark.createDataFrame(values, PLAIN).coalesce(1)


def counts(spark: SparkSession, path: object) -> list[tuple[str | None, int]]:
    """All rows of the table, each with its key: were there two of one key, we would see both."""
    rows = current(spark, str(path)).select("origin", "count").collect()
    return sorted(((row[0], row[1]) for row in rows), key=str)


def files(path: Path) -> dict[str, str]:
    """Where the rows of each current part are."""
    return {str(f.parent.relative_to(path)): f.name for f in path.rglob("*.parquet")}


def test_refined_rows_replace_early_ones(spark: SparkSession, tmp_path: Path) -> None:
    sink = upsert(tmp_path, key=KEY)
    sink(refined(spark, (0, "EWR", 4, 0), (0, "JFK", 7, 0), (0, None, 1, 0)), 0)
    # Two waits of one window in one micro-batch: the longer one counts, wherever it stands.
    sink(refined(spark, (0, "EWR", 6, 60), (0, "EWR", 5, 1), (0, None, 2, 1)), 1)
    # An answer to an earlier question is no news.
    sink(refined(spark, (0, "EWR", 3, 1), (0, "LGA", 9, 0)), 2)

    assert counts(spark, tmp_path) == [("EWR", 6), ("JFK", 7), ("LGA", 9), (None, 2)]
    assert current(spark, tmp_path).schema.simpleString() == (
        refined(spark, (0, "", 0, 0)).schema.simpleString()
    )


class Crash(Exception):  # noqa: N818
    """What a test makes happen."""


def test_a_crash_at_any_step_leaves_a_table_and_a_second_run_completes_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = upsert(tmp_path, key=KEY)
    batch = refined(spark, (0, "EWR", 5, 1), (0, "JFK", 2, 0)), 1
    sink(refined(spark, (0, "EWR", 4, 0)), 0)
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
                sink(*batch)

    crash_at_manifest(is_done=False)
    assert counts(spark, tmp_path) == before
    crash_at_manifest(is_done=True)
    assert counts(spark, tmp_path) == after
    # Run again, the batch is written beside what is there, which counts until all is written.
    crash_at_manifest(is_done=False)
    assert counts(spark, tmp_path) == after
    sink(*batch)
    assert counts(spark, tmp_path) == after


def test_only_the_parts_that_a_batch_touches_are_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    far = 10 * WINDOWS
    sink = upsert(tmp_path, key=KEY)
    sink(plain(spark, (-1, "a", 1), (0, "b", 1), (far, "c", 1)), 0)
    first = files(tmp_path)
    sink(plain(spark, (1, "d", 2), (0, "b", 2)), 1)
    second = files(tmp_path)

    assert sorted(first) == [f"rows/place=0/_lc_part={part}" for part in (-1, 0, 10)]
    assert first.items() <= second.items()
    assert sorted(second.keys() - first.keys()) == ["rows/place=1/_lc_part=0"]
    assert counts(spark, tmp_path) == [("a", 1), ("b", 2), ("c", 1), ("d", 2)]

    # Now "a" is one of three in its place, and moves to rest in another.
    sink(plain(spark, (far, "c", 3)), 2)
    third = files(tmp_path)

    assert sorted(third.keys() - second.keys()) == [
        "rows/place=2/_lc_part=10",
        "rows/place=3/_lc_part=-1",
    ]
    assert counts(spark, tmp_path) == [("a", 1), ("b", 2), ("c", 3), ("d", 2)]


def test_an_empty_batch_makes_a_table_and_changes_none(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"there is no table of current rows under .*\nHint"):
        current(spark, tmp_path)
    sink = upsert(tmp_path, key="origin")
    none = plain(spark, (0, "EWR", 1)).where("false")
    sink(none, 0)
    assert counts(spark, tmp_path) == []
    sink(plain(spark, (0, "EWR", 1)), 1)
    sink(none, 2)

    assert counts(spark, tmp_path) == [("EWR", 1)]
    # Run again, a batch starts from the state before it: of its first run nothing is left.
    sink(none, 1)
    assert counts(spark, tmp_path) == []


def test_rows_of_another_table_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    sink = upsert(tmp_path, key="origin")
    none = plain(spark, (0, "EWR", 1)).where("false")
    sink(none, 0)

    with pytest.raises(ColumnNameError, match='told apart by "_change_type", which says whether'):
        upsert(tmp_path, key="_change_type")(none.withColumn("_change_type", F.lit("x")), 1)
    with pytest.raises(ColumnNotFoundError, match=r'no column "carrier" .* "window", "origin"'):
        upsert(tmp_path, key=["window", "carrier"])(none, 3)
    with pytest.raises(OptionError, match=r"apart by origin; got key=\['count'\]"):
        upsert(tmp_path, key="count")(none, 3)
    with pytest.raises(ColumnTypeError, match=r"count:bigint>; the micro-batch has .*count:int>"):
        sink(none.withColumn("count", F.lit(1)), 3)


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
            parts.append(rows.select(part_of(rows.schema, ["window"])).collect()[0][0])
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(zone))
        rows.unpersist()

    assert parts == ["376", "376"]


def test_either_a_path_or_a_table_and_a_key() -> None:
    with pytest.raises(OptionError, match=r"either a path or a table; got neither\.\nHint"):
        upsert(key="window")
    with pytest.raises(OptionError, match="got both"):
        upsert("out", table="counts", key="window")
    with pytest.raises(OptionError, match=r"needs the columns .* got key=\[\]"):
        upsert("out", key=[])
    with pytest.raises(OptionError, match=r"cannot be kept under 'out/\[1\]'\.\nHint"):
        upsert("out/[1]", key="window")


def test_a_merge_compares_keys_null_safe_and_never_goes_back_to_a_shorter_wait() -> None:
    assert upsert_merge.statement("lake.db.counts", ["window", "a`{b"], level="wait") == (
        "MERGE INTO lake.db.counts AS t USING {batch} AS s "
        "ON t.`window` <=> s.`window` AND t.`a``{{b` <=> s.`a``{{b` "
        "WHEN MATCHED AND s.`wait` >= t.`wait` THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert "WHEN MATCHED THEN UPDATE SET *" in upsert_merge.statement("t", ["k"], level=None)


def test_of_several_recalls_the_highest_is_kept_though_its_wait_is_shorter(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = spark.createDataFrame(
        [("EWR", 6, 0.9, timedelta(minutes=5), False), ("EWR", 7, 0.99, timedelta(0), True)],
        "origin string, count bigint, recall double, wait interval day to second, is_final boolean",
    )

    upsert(f"{tmp_path}/current", key="origin")(rows, 0)

    assert counts(spark, tmp_path / "current") == [("EWR", 7)]
    assert "s.`recall` >= t.`recall`" in upsert_merge.statement("t", ["k"], level="recall")
    assert level_of(rows) == "recall"
    assert level_of(rows.withColumn("is_changed", F.lit("yes"))) == "wait"


def test_a_wait_becomes_seconds_where_a_table_has_no_intervals(spark: SparkSession) -> None:
    rows = refined(spark, (0, "EWR", 5, 1))

    def fit(wait: str) -> DataFrame:
        target = StructType.fromDDL(REFINED.replace("interval day to second", wait))
        return upsert_merge.fitted(rows, target, "counts")

    assert fit("interval day to second").collect() == rows.collect()
    assert [row.wait for row in fit("double").collect()] == [60.0]
    with pytest.raises(ColumnTypeError, match=r'"wait" of table counts is of type string.*\nHint'):
        fit("string")
    with pytest.raises(ColumnNotFoundError, match=r'counts has no column "window"; it has "a"'):
        upsert_merge.fitted(rows, StructType.fromDDL("a int"), "counts")


def test_a_table_without_merge_or_no_table_says_what_to_do(spark: SparkSession) -> None:
    rows = refined(spark, (0, "EWR", 5, 1))
    rows.createOrReplaceTempView("counts_without_merge")

    with pytest.raises(OptionError, match=r"does not know MERGE.*\nHint: .* USING delta"):
        upsert(table="counts_without_merge", key=KEY)(rows, 0)
    with pytest.raises(OptionError, match=r"there is no table nowhere\.\nHint: create it"):
        upsert(table="nowhere", key=KEY)(rows, 0)


def test_a_manifest_goes_back_a_few_batches_and_no_further() -> None:
    manifest = Manifest(("k",), {})
    for number in range(KEPT):
        manifest = manifest.with_state(State(number))

    assert manifest.before(KEPT).batch == KEPT - 1
    assert manifest.before(1).batch == 0
    with pytest.raises(OptionError, match=r"up to 5 and can go back to 1; got micro-batch 0\.\n"):
        manifest.before(0)


def test_a_manifest_of_another_format_is_refused() -> None:
    line = Manifest(("k",), {}).to_json().replace('"format": 1', '"format": 2')

    with pytest.raises(StateFormatError, match="manifest in format 2"):
        Manifest.from_json(line)


@given(st.lists(st.tuples(st.sets(st.sampled_from("ABCDEFGH"), min_size=1), st.booleans())))
def test_no_place_is_written_that_a_state_refers_to_and_dead_parts_are_few(
    batches: list[tuple[set[str], bool]],
) -> None:
    manifest = Manifest(("k",), {})
    disk: dict[tuple[int, str], int] = {}
    truth = {-1: dict[str, int]()}

    def put(parts: set[str] | list[str], place: int, content: dict[str, int]) -> None:
        for old in [where for where in disk if where[0] == place]:
            del disk[old]
        disk.update({(place, part): content[part] for part in parts})

    number = -1
    for at, (touched, is_again) in enumerate(batches):
        number += 0 if is_again and number >= 0 else 1
        before = manifest.before(number)
        content = {**truth[before.batch], **dict.fromkeys(touched, at)}
        free = manifest.free()
        state = State(number, before.place_of, before.written)
        for parts in (touched, None):
            moving = state.resting() if parts is None else parts
            if moving:
                put(moving, place := next(free), content)
                state = state.moved(moving, place)
            for kept in manifest.states:
                assert {p: disk[w, p] for p, w in kept.place_of.items()} == truth[kept.batch]
        truth[number] = content
        manifest = Manifest.from_json(manifest.with_state(state).to_json())

        assert manifest.states[-1] == state
        assert sum(state.written.values()) <= 2 * len(state.place_of)
        assert all(place <= 8 + 2 * (KEPT + 1) for place, _ in disk)


def changes(spark: SparkSession, *rows: tuple[str, int, str, int]) -> DataFrame:
    """Rows of a changelog: how they change, and as in `plain`."""
    values = [((10 * at, 10 * at + 10), origin, count, kind) for kind, at, origin, count in rows]
    return spark.createDataFrame(values, f"{PLAIN}, _change_type string").coalesce(1)


def test_rows_of_a_changelog_come_and_go(spark: SparkSession, tmp_path: Path) -> None:
    table = upsert(tmp_path / "table", key=KEY)
    far = 2 * WINDOWS
    table(changes(spark, ("insert", 0, "a", 1), ("insert", 0, "b", 2), ("insert", far, "c", 3)), 0)
    assert counts(spark, tmp_path / "table") == [("a", 1), ("b", 2), ("c", 3)]
    assert "_change_type" not in current(spark, tmp_path / "table").columns

    again = changes(spark, ("delete", 0, "a", 1), ("insert", 0, "a", 7), ("delete", far, "c", 3))
    for _ in range(2):
        # A batch that is run again changes nothing. All rows of the second part have gone.
        table(again, 1)
        assert counts(spark, tmp_path / "table") == [("a", 7), ("b", 2)]

    table(changes(spark, ("delete", 0, "a", 7), ("delete", 0, "b", 2)), 2)
    assert counts(spark, tmp_path / "table") == []
    table(changes(spark, ("insert", 0, "d", 4)), 3)
    assert counts(spark, tmp_path / "table") == [("d", 4)]


def test_rows_of_a_changelog_that_go_are_deleted_by_a_merge() -> None:
    assert upsert_merge.statement("t", ["k"], deletes=True) == (
        "MERGE INTO t AS t USING {batch} AS s ON t.`k` <=> s.`k` "
        "WHEN MATCHED AND s._change_type = 'delete' THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED AND s._change_type = 'insert' THEN INSERT *"
    )
