"""Small outputs are unpacked on the driver, with the same rows as in workers."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrameReader
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DayTimeIntervalType,
    LongType,
    MapType,
    StringType,
    StructType,
)

import latecomer as lc
from latecomer.batch import encode
from latecomer.hosts.spark import collected, outputs
from latecomer.hosts.spark.arrow_schema import in_arrow
from latecomer.hosts.spark.collected import Collected
from latecomer.hosts.spark.declared import read_schema
from latecomer.hosts.spark.durable.ledger import local_path
from latecomer.hosts.spark.local_rows import LocalRows
from latecomer.hosts.spark.parcels import OUTPUT
from latecomer.hosts.tally import TALLY
from tests.support.stream_of_files import Files

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

IDS = read_schema("id long")
PLAIN = read_schema(
    "flag boolean, tiny tinyint, small smallint, id int, long long, single float, double double, "
    "name string, bytes binary, day date, at timestamp, local timestamp_ntz, price decimal(20, 4)"
).add("window", read_schema("start timestamp, end timestamp"))
NOON = datetime(2026, 3, 29, 12, tzinfo=UTC)
LOCAL = datetime(2026, 3, 29, 2, 30)  # noqa: DTZ001 - without a zone
ROW = (
    *(True, 1, 2, 3, 4, 0.5, 0.25, "ä", b"\0\1", date(1969, 1, 1), NOON, LOCAL),
    *(Decimal("-1.2500"), {"start": NOON, "end": NOON}),
)
"""A row of the columns `PLAIN`. In Berlin, the local time is in the hour skipped in spring."""


def table(schema: StructType, *rows: tuple[Any, ...]) -> pa.Table:
    names = schema.names
    return pa.Table.from_pylist(
        [dict(zip(names, row, strict=True)) for row in rows], in_arrow(schema)
    )


def packed(spark: SparkSession, *parts: tuple[str, int, bytes]) -> DataFrame:
    return spark.createDataFrame(parts, OUTPUT)


def ids(rows: LocalRows | None) -> list[int] | None:
    return None if rows is None else [row.id for row in rows.frame().collect()]


def test_small_outputs_are_collected_in_the_order_of_their_parts(spark: SparkSession) -> None:
    first, second = table(IDS, (2,), (1,)), table(IDS, (3,))
    tally = b'{"counts": {"read": 7}}'

    found = Collected.of(
        packed(
            spark,
            ("ready", 2, encode(first)),
            (TALLY, 0, tally),
            ("late", 1, encode(first)),
            ("ready", 1, encode(second)),
        ).coalesce(1)
    )

    assert ids(found.rows(spark, "ready", IDS)) == [2, 1, 3]
    assert ids(found.rows(spark, "late", IDS)) == [2, 1]
    counts, _keys = found.counts
    assert (counts["ready"], counts["late"], counts["read"]) == (3, 1, 7)


def test_a_large_output_stays_with_the_workers(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collected, "BYTES", 2 * 2_000)
    large = table(IDS, *((number,) for number in range(1_000)))
    few = table(IDS, (1,))

    found = Collected.of(
        packed(
            spark,
            ("ready", 1, encode(few)),
            ("ready", 1_000, encode(large)),
            ("late", 1, encode(few)),
        )
    )

    assert found.rows(spark, "ready", IDS) is None
    assert ids(found.rows(spark, "late", IDS)) == [1]
    assert found.counts[0]["ready"] == 1_001


def test_an_output_that_a_micro_batch_does_not_have_is_empty(spark: SparkSession) -> None:
    rows = Collected(({}, {}), {}).rows(spark, "ready", PLAIN)

    assert rows is not None
    assert rows.schema == PLAIN
    assert rows.frame().collect() == []


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_the_driver_gives_the_rows_that_workers_give(spark: SparkSession, zone: str) -> None:
    blob = encode(table(PLAIN, ROW, (None,) * len(PLAIN)))
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        parts = packed(spark, ("ready", 2, blob))
        there = outputs.ready(parts, PLAIN)
        collected_ = Collected.of(parts).rows(spark, "ready", PLAIN)

        assert collected_ is not None
        here = collected_.frame()
        assert here.schema == there.schema
        assert here.collect() == there.collect()
        assert here.selectExpr("unix_micros(at)", "CAST(local AS string)").first() == (
            1_774_785_600_000_000,
            "2026-03-29 02:30:00",
        )
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.parametrize(
    "kind",
    [
        ArrayType(StringType()),
        MapType(StringType(), LongType()),
        DayTimeIntervalType(),
        StructType().add("tags", ArrayType(StringType())),
        StructType().add("id", LongType(), nullable=False),
        StructType().add("inner", StructType().add("id", LongType(), nullable=False)),
    ],
)
def test_rows_of_other_types_are_left_to_the_workers(spark: SparkSession, kind: DataType) -> None:
    found = Collected(({}, {}), {"ready": []})

    assert found.rows(spark, "ready", StructType().add("column", kind)) is None


def test_a_struct_that_is_never_null_may_have_fields_that_are_never_null(
    spark: SparkSession,
) -> None:
    whole = StructType().add("id", LongType(), nullable=False)
    schema = StructType().add("column", whole, nullable=False)

    assert Collected(({}, {}), {"ready": []}).rows(spark, "ready", schema) is not None


def test_a_null_among_structs_of_values_that_are_never_null_is_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    files = Files(spark, tmp_path)
    files.put((1, "a"), (2, "b"))
    given = files.stream("time timestamp, key string")
    given = given.withColumn("pair", F.expr("if(key = 'b', named_struct('x', 1), null)"))

    lc.disordered(given, time="time").sort(wait="1 second").start(
        {"ready": f"{tmp_path}/ready", "late": f"{tmp_path}/late"},
        checkpoint=f"{tmp_path}/checkpoint",
        trigger={"availableNow": True},
        end="flush",
    ).awaitTermination()

    rows = lc.read(spark, f"{tmp_path}/ready").orderBy("time").collect()
    assert [(row.key, row.pair and row.pair.x) for row in rows] == [("a", None), ("b", 1)]


def test_many_parts_are_not_all_collected(spark: SparkSession) -> None:
    large = table(IDS, *((number,) for number in range(40_000)))
    blob = encode(large)
    assert collected.PART < len(blob) < collected.BYTES // 2

    found = Collected.of(packed(spark, ("late", large.num_rows, blob)))

    assert found.rows(spark, "late", IDS) is None


def test_a_micro_batch_is_one_job_and_one_for_each_output_that_has_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    files = Files(spark, tmp_path)
    files.put((1, "a"), (20, "b"))
    files.put((2, "a"), (40, "b"))
    events = lc.disordered(files.stream("time timestamp, key string"), time="time", key="key")
    plans: dict[tuple[str, int], str] = {}

    def shown(output: str) -> Any:  # noqa: ANN401
        def sink(rows: DataFrame, number: int) -> None:
            plans[output, number] = rows._jdf.queryExecution().toString()
            rows.foreach(lambda _: None)

        return sink

    query = events.sort(wait="5 seconds").start(
        {"ready": shown("ready"), "late": shown("late")},
        checkpoint=f"{tmp_path}/checkpoint",
        trigger={"availableNow": True},
    )
    query.awaitTermination()

    # Micro-batch 2 has no rows. It releases the rows that micro-batch 1 has made due.
    assert [*plans] == [("ready", 1), ("late", 1), ("ready", 2)]
    assert not [plan for plan in plans.values() if "Python" in plan or "MapInArrow" in plan]
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup(str(query.runId))
    assert len(jobs) == 3 + len(plans)


def test_a_query_whose_local_directories_are_new_starts_without_asking_spark_for_them(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files(spark, tmp_path)
    files.put((1, "a"))
    events = lc.disordered(files.stream("time timestamp, key string"), time="time", key="key")
    # A session is asked once where paths without a scheme are.
    assert local_path(spark, str(tmp_path)) == tmp_path

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    with monkeypatch.context() as patched:
        for name in ("load", "parquet", "text"):
            patched.setattr(DataFrameReader, name, refuse)
        query = events.sort(wait="5 seconds").start(
            {"ready": f"{tmp_path}/ready", "late": f"{tmp_path}/late"},
            checkpoint=f"{tmp_path}/checkpoint",
            trigger={"availableNow": True},
        )
    query.awaitTermination()

    assert lc.read(spark, f"{tmp_path}/ready").count() == 0


def test_a_micro_batch_whose_small_outputs_go_to_local_directories_is_one_job(
    spark: SparkSession, tmp_path: Path
) -> None:
    files = Files(spark, tmp_path)
    files.put((1, "a"), (20, "b"))
    files.put((2, "a"), (40, "b"))
    events = lc.disordered(files.stream("time timestamp, key string"), time="time", key="key")

    query = events.sort(wait="5 seconds").start(
        {"ready": f"{tmp_path}/ready", "late": f"{tmp_path}/late"},
        checkpoint=f"{tmp_path}/checkpoint",
        trigger={"availableNow": True},
    )
    query.awaitTermination()

    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup(str(query.runId))
    assert len(jobs) == 3
    assert [row.key for row in lc.read(spark, f"{tmp_path}/ready").orderBy("time").collect()] == [
        *("a", "b")
    ]
    assert [row.key for row in lc.read(spark, f"{tmp_path}/late").collect()] == ["a"]
