"""The source on Spark. For the rows of each batch see test_rhythm.py, which needs no Spark."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql.datasource import CaseInsensitiveDict

from latecomer.errors import SessionError
from latecomer.generate.replay.arrivals import Arrivals, Position
from latecomer.generate.replay.rhythm import BySpan, Rhythm
from latecomer.generate.replay.source import ReplaySource
from tests.support.recordings import ARRIVAL, ids, record

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

SECOND = 1_000_000
Batches = dict[int, list[str]]


def load(spark: SparkSession, path: Path, **options: object) -> DataFrame:
    return spark.readStream.format("latecomer.replay").options(**options).load(str(path))


def run(df: DataFrame, checkpoint: Path, *, fail_in: int = -1) -> Batches:
    """Run to the end or to an error; return the rows of each micro-batch."""
    seen: Batches = {}

    def keep(rows: DataFrame, number: int) -> None:
        seen[number] = [row.id for row in rows.collect()]
        assert number != fail_in, "as the test asks"

    query = df.writeStream.foreachBatch(keep).option("checkpointLocation", str(checkpoint))
    started = query.trigger(availableNow=True).start()
    if fail_in < 0:
        started.awaitTermination()
    else:
        with pytest.raises(StreamingQueryException, match="as the test asks"):
            started.awaitTermination()
    return seen


def expected(path: Path, rhythm: Rhythm) -> Batches:
    """Return the batches of the local walk, each sorted, because tasks read file by file."""
    arrivals = Arrivals(str(path), ARRIVAL)
    position, seen = Position(), {}
    while (end := rhythm.step(arrivals, position)) != position:
        seen[len(seen)] = sorted(ids(arrivals, position, end))
        position = end
    return seen


def test_a_query_that_fails_and_is_resumed_sees_the_batches_of_one_that_does_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    record(tmp_path / "a.parquet", [3, 5, 5, 21, 34, 35, 36, 80])
    record(tmp_path / "b.parquet", [4, 13, 33, 34, 78])
    df = load(spark, tmp_path, arrivalPerBatch="10 microseconds")
    want = expected(tmp_path, BySpan(10))

    first = run(df, tmp_path / "checkpoint", fail_in=1)
    second = run(df, tmp_path / "checkpoint")

    assert first == {number: want[number] for number in (0, 1)}
    assert second == {number: want[number] for number in (1, 2, 3)}


def test_files_that_are_added_are_picked_up(spark: SparkSession, tmp_path: Path) -> None:
    record(tmp_path / "b.parquet", [1, 2, 3])
    seen = defaultdict(list)

    def keep(rows: DataFrame, number: int) -> None:
        seen[number] = [row.id for row in rows.collect()]

    query = load(spark, tmp_path, rowsPerBatch=2).writeStream.foreachBatch(keep).start()
    try:
        query.processAllAvailable()
        assert seen == {0: ["b0", "b1"], 1: ["b2"]}
        record(tmp_path / "a.parquet", [0, 9])
        query.processAllAvailable()
        assert seen[2] == ["a0", "a1"]
    finally:
        query.stop()


def test_with_a_speed_rows_come_when_they_are_due_and_the_backlog_shows(
    spark: SparkSession, tmp_path: Path
) -> None:
    record(tmp_path / "a.parquet", [n * 60 * SECOND for n in range(41)], group=10)
    seen: list[str] = []

    def slowly(rows: DataFrame, _: int) -> None:
        seen.extend(row.id for row in rows.collect())
        time.sleep(0.5)

    # Ten rows become due while a batch sleeps, and a batch takes five, so it falls behind.
    df = load(spark, tmp_path, speed=1_200, maxRowsPerBatch=5)
    began = time.monotonic()
    query = df.writeStream.foreachBatch(slowly).trigger(availableNow=True).start()
    query.awaitTermination()
    took = time.monotonic() - began

    assert seen == [f"a{n}" for n in range(41)]
    assert took >= 2, "40 minutes, 1,200 times as fast"
    sources = [p["sources"][0] for p in query.recentProgress]
    rows = [json.loads(source["endOffset"])["rows"] for source in sources]
    due = [json.loads(source["latestOffset"])["rows"] for source in sources]
    assert all(end - start <= 5 for start, end in pairwise([0, *rows]))
    assert all(taken <= latest for taken, latest in zip(rows, due, strict=True))
    assert max(latest - taken for taken, latest in zip(rows, due, strict=True)) > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs one of speed, rowsPerBatch, arrivalPerBatch; got none"),
        ({"speed": 1, "rowsPerBatch": 2}, "got speed and rowsPerBatch"),
        ({"arrivalPerBatch": "ten"}, "cannot read arrivalPerBatch='ten' as a duration"),
        ({"rowsPerBatch": 1, "maxRowsPerBatch": 1}, "maxRowsPerBatch needs speed"),
        ({"rowsPerBatch": 1, "batch": 1}, "latecomer.replay has no option batch"),
        ({"rowsPerBatch": 1, "unit": "h"}, "unknown unit 'h'"),
        ({"rowsPerBatch": 1, "arrival": "at"}, 'no column "at"'),
    ],
)
def test_files_that_cannot_be_replayed_are_refused_before_the_query_starts(
    spark: SparkSession, tmp_path: Path, options: dict[str, object], message: str
) -> None:
    record(tmp_path / "a.parquet", [1])
    with pytest.raises(PySparkException) as caught:
        load(spark, tmp_path, **options)
    assert message in str(caught.value)


def test_a_path_is_needed(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match="replay needs a path"):
        spark.readStream.format("latecomer.replay").option("speed", 1).load()


def test_a_file_out_of_order_ends_the_query(spark: SparkSession, tmp_path: Path) -> None:
    record(tmp_path / "a.parquet", [1, 2, 4, 3])
    with pytest.raises(
        StreamingQueryException, match=r"a.parquet. is not in order of arrival: row 3"
    ):
        run(load(spark, tmp_path, rowsPerBatch=4), tmp_path / "checkpoint")


def test_columns_come_as_spark_itself_reads_them(spark: SparkSession, tmp_path: Path) -> None:
    moment = pa.array([1_700_000_000_000_000])
    columns = {
        "arrival": moment.cast(pa.timestamp("us", "Europe/Berlin")),
        "nanos": moment.cast(pa.timestamp("us")).cast(pa.timestamp("ns")),
        "local": moment.cast(pa.timestamp("us")),
        "day": pa.array([3], pa.int32()).cast(pa.date32()),
        "word": pa.array(["x"]).dictionary_encode(),
        "large": pa.array(["x"], pa.large_string()),
        "blob": pa.array([b"x"], pa.large_binary()),
        "fixed": pa.array([b"xy"], pa.binary(2)),
        "small": pa.array([200], pa.uint8()),
        "huge": pa.array([2**64 - 1], pa.uint64()),
        "money": pa.array([Decimal("1.50")], pa.decimal128(10, 2)),
        "list": pa.array([[1, None]], pa.large_list(pa.int32())),
        "map": pa.array([[("k", 1.5)]], pa.map_(pa.string(), pa.float64())),
        "nested": pa.array([{"a": 1, "b": ["y"]}]),
        "nothing": pa.array([None], pa.float32()),
    }
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "plain").mkdir()
    pq.write_table(table.drop_columns("nanos"), tmp_path / "plain" / "a.parquet")
    df = load(spark, tmp_path, rowsPerBatch=1)
    seen = []
    query = df.writeStream.foreachBatch(lambda rows, _: seen.extend(rows.collect()))
    query.trigger(availableNow=True).start().awaitTermination()
    # Spark itself refuses nanoseconds.
    plain = spark.read.parquet(str(tmp_path / "plain"))

    assert dict(df.drop("nanos").dtypes) == dict(plain.dtypes)
    row = seen[0].asDict(recursive=True)
    assert row.pop("nanos") == row["local"]
    assert [row] == [other.asDict(recursive=True) for other in plain.collect()]


def test_a_schema_may_leave_columns_out(spark: SparkSession, tmp_path: Path) -> None:
    record(tmp_path / "a.parquet", [1, 2])
    reader = spark.readStream.format("latecomer.replay").option("rowsPerBatch", 2)

    assert run(reader.schema("id string").load(str(tmp_path)), tmp_path / "c") == {0: ["a0", "a1"]}
    with pytest.raises(
        StreamingQueryException, match="no column other; the files have arrival, id"
    ):
        run(reader.schema("other string").load(str(tmp_path)), tmp_path / "d")


def test_a_value_that_does_not_fit_its_type_ends_the_query(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = pa.table({"arrival": [1, 2], "id": [1, 2**32 + 3]})
    pq.write_table(table, tmp_path / "a.parquet")
    reader = spark.readStream.format("latecomer.replay").option("rowsPerBatch", 1)

    assert run(reader.schema("id long").load(str(tmp_path)), tmp_path / "c") == {
        0: [1],
        1: [2**32 + 3],
    }
    with pytest.raises(
        StreamingQueryException,
        match=r'column "id" of .*, of type int64, cannot be read as int32: .* not in range',
    ):
        run(reader.schema("id int").load(str(tmp_path)), tmp_path / "d")


@pytest.mark.parametrize("fail_in", [0, 1, -1], ids=["stopped", "stopped at the end", "done"])
def test_a_query_does_not_go_on_with_another_file_of_the_same_name(
    spark: SparkSession, tmp_path: Path, fail_in: int
) -> None:
    record(tmp_path / "a.parquet", [1, 2])
    df = load(spark, tmp_path, rowsPerBatch=1)
    run(df, tmp_path / "checkpoint", fail_in=fail_in)
    record(tmp_path / "a.parquet", [1, 3])
    with pytest.raises(StreamingQueryException, match="it is not the same file"):
        run(df, tmp_path / "checkpoint")


def test_an_older_spark_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.1.2")
    source = ReplaySource(CaseInsensitiveDict({"path": "a.parquet", "speed": "1"}))
    with pytest.raises(
        SessionError,
        match=r"needs Spark 4.2 or later, .* this is Spark 4.1.2.\nHint: use a newer Spark",
    ):
        source.schema()
    with pytest.raises(SessionError, match=r"this is Spark 4.1.2"):
        source.streamReader(pyspark.sql.types.StructType())
