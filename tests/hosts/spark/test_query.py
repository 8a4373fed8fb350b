"""The Spark host gives the same rows as the local host."""

import json
from contextlib import suppress
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PythonException, StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

import latecomer as lc
from latecomer.clock.policy import OneClock
from latecomer.generate.micro_batches import write_micro_batches
from latecomer.hosts.spark import outputs, query
from latecomer.hosts.spark.columns import with_wall_clock
from latecomer.hosts.spark.parcels import NOW
from latecomer.operators.sort import Sort
from latecomer.plan import LatePolicy, Plan, Source, Stage
from latecomer.time import TimeColumn
from tests.support.batches import SECOND, TIME, by_key, closing, expected, ids, random_batches
from tests.support.streaming import source, stream


@pytest.mark.parametrize(("seed", "buckets", "first"), [(0, 3, -20), (11, None, 20)])
def test_streaming_gives_the_rows_of_the_local_host_batch_by_batch(
    spark: SparkSession, seed: int, buckets: int | None, first: int
) -> None:
    batches = random_batches(seed, first=first)
    plan = Plan(
        Source(TIME, ("key",)), OneClock((7 * SECOND,)), "divert", (Stage(("key",), (Sort(TIME),)),)
    )
    want_ready, want_late = expected(batches, plan)

    ready, late = stream(
        spark,
        batches,
        lambda df: lc.disordered(df, time="time", key="key", before_1970=first < 0).sort(
            wait="7 seconds", buckets=buckets
        ),
    )

    for number in range(len(batches) + 1):
        assert by_key(ready, number) == by_key(want_ready, number), f"ready in batch {number}"
        assert ids(late, number) == ids(want_late, number), f"late in batch {number}"
    assert any(ids(late, number) for number in late), "the stream should have late rows"
    # A batch never has times before those of earlier batches.
    spans = [[row.time for row in ready[number]] for number in sorted(ready) if ready[number]]
    assert all(max(before) <= min(after) for before, after in pairwise(spans))


def test_batch_gives_the_complete_answer_whatever_the_wait(spark: SparkSession) -> None:
    table = pa.concat_tables(random_batches(20, nulls=False))
    df = spark.createDataFrame(table)
    rows = lc.disordered(df, time="time").sort(wait="0 seconds").to_df().collect()

    order = np.argsort(table["time"].cast(pa.int64()).to_numpy(), kind="stable")
    times = table["time"].cast(pa.int64()).to_numpy()[order]
    assert sorted(row.id for row in rows) == sorted(table["id"].to_pylist())
    assert [int(row.time.timestamp() * SECOND) for row in rows] == times.tolist()


def test_a_stream_that_waited_long_enough_equals_the_batch(spark: SparkSession) -> None:
    batches = random_batches(30, nulls=False)
    batches.append(closing(batches[0].schema))

    def build(df: DataFrame) -> lc.OrderedStream:
        return lc.disordered(df, time="time", key="key").sort(wait="1 hour")

    ready, late = stream(spark, batches, build)
    whole = build(spark.createDataFrame(pa.concat_tables(batches[:-1]))).to_df().collect()

    assert late == {}
    got = [row for number in sorted(ready) for row in ready[number]]
    for key in {row.key for row in whole}:
        assert [r for r in got if r.key == key] == [r for r in whole if r.key == key]


def test_two_stages_with_different_keys_chain_in_one_query(spark: SparkSession) -> None:
    batches = random_batches(40)
    stages = (Stage(("key",), (Sort(TIME),)), Stage(("id",), (Sort(TIME), Sort(TIME))))
    plan = Plan(Source(TIME, ("key",)), OneClock((7 * SECOND,)), "divert", stages)
    want_ready, want_late = expected(batches, plan)

    ready, late = stream(spark, batches, lambda df: lc.OrderedStream((df,), plan, buckets=2))

    assert any(ids(want_late, number) for number in want_late)
    for number in range(len(batches) + 1):
        assert ids(ready, number) == ids(want_ready, number)
        assert ids(late, number) == ids(want_late, number)


def test_two_stages_chain_in_batch_too(spark: SparkSession) -> None:
    df = spark.createDataFrame(pa.concat_tables(random_batches(41)))
    stages = (Stage(("key",), (Sort(TIME),)), Stage(("id",), (Sort(TIME),)))
    packed = query.outputs(
        [df], Plan(Source(TIME, ("key",)), OneClock((0,)), "divert", stages), buckets=2
    )

    ready = outputs.ready(packed, df.schema).collect()
    late = outputs.late(packed, df.schema).collect()
    assert sorted(row.id for row in [*ready, *late]) == sorted(r.id for r in df.collect())
    assert {row._reason for row in late} == {"no time"}


def test_columns_of_all_arrow_types_come_out_unchanged(spark: SparkSession) -> None:
    df = spark.createDataFrame(
        [
            (2, "b", Decimal("1.50"), [1, None], {"x": 1}, Row(a=None, b="q"), b"\x00", None, 1.5),
            (1, None, None, None, None, None, None, True, float("nan")),
            (1, "", Decimal("-0.01"), [], {}, Row(a=1, b=None), b"", False, None),
        ],
        "s int, text string, amount decimal(10,2), list array<int>, map map<string,int>, "
        "nested struct<a:int,b:string>, raw binary, flag boolean, ratio double",
    ).withColumn("time", F.timestamp_seconds("s"))

    out = lc.disordered(df, time="time").sort(wait="1 second").to_df()

    assert out.schema == df.schema
    assert repr(out.collect()) == repr([df.collect()[i] for i in (1, 2, 0)])


@pytest.mark.parametrize(
    ("column", "unit"),
    [
        ("timestamp_seconds(n)", None),
        ("cast(timestamp_seconds(n) as timestamp_ntz)", None),
        ("date_from_unix_date(n)", None),
        ("cast(n as int)", "s"),
        ("n * 1000", "ms"),
        ("n * 1000000", "us"),
        ("n * 1000000000", "ns"),
    ],
)
def test_every_kind_of_time_column_is_sorted(
    spark: SparkSession, column: str, unit: str | None
) -> None:
    numbers = [3, -1, 2, 0, -5]
    df = spark.createDataFrame([(n,) for n in numbers], "n long").withColumn("t", F.expr(column))

    out = lc.disordered(df, time="t", unit=unit).sort(wait="1 second").to_df()

    assert [row.n for row in out.collect()] == sorted(numbers)
    assert out.schema == df.schema


def test_where_select_and_with_columns_run_before_the_sort(spark: SparkSession) -> None:
    df = spark.range(6).withColumn("time", F.timestamp_seconds(-F.col("id")))

    out = (
        lc.disordered(df, time="time")
        .where("id > 0")
        .where(F.col("id") != 3)
        .with_columns(double="id * 2", half=F.col("id") / 2)
        .select("time", "double", F.col("half").alias("h"), "upper('x') AS u")
        .sort(wait="1 second")
        .to_df()
    )

    assert out.columns == ["time", "double", "h", "u"]
    assert [row.double for row in out.collect()] == [10, 8, 4, 2]


def test_arrival_decides_between_rows_of_equal_time(spark: SparkSession) -> None:
    rows = [(1, 5, 30), (2, 5, 10), (3, 4, 40), (4, 5, None), (5, 5, 20)]
    df = spark.createDataFrame(rows, "id int, t long, a long").repartition(3)

    out = lc.disordered(df, time="t", arrival="a", unit="s").sort(wait="1 second").to_df()

    assert [row.id for row in out.collect()] == [3, 2, 5, 1, 4]


def second(*times: int | None) -> pa.Table:
    values = [None if t is None else t * SECOND for t in times]
    return pa.table(
        {"id": list(range(len(times))), "time": pa.array(values, pa.timestamp("us", "UTC"))}
    )


def sort_with(late: LatePolicy) -> "object":
    return lambda df: lc.disordered(df, time="time").sort(wait="5 seconds", late=late)


def test_late_rows_say_how_late_they_were_and_why(spark: SparkSession) -> None:
    batches = [second(100), second(90, None), second(1, 2, 3)]

    _, late = stream(spark, batches, sort_with("divert"))

    behind, no_time = sorted(late[1], key=lambda row: row._reason)
    assert (behind._reason, behind._delay, behind._behind) == (
        "late",
        10_000,
        5_000,
    )
    assert (no_time._reason, no_time._delay, no_time._behind) == ("no time", None, None)
    assert len(late[2]) == 3, "all rows of a batch may be late"


def test_adjusted_rows_move_up_to_the_watermark_and_keep_what_they_were(
    spark: SparkSession,
) -> None:
    ready, late = stream(spark, [second(100), second(90, 99, None)], sort_with("adjust"))

    moved = ready[1][0]
    assert (moved.time.timestamp(), moved._original_time.timestamp()) == (95, 90)
    assert [row._reason for row in late[1]] == ["no time"]


def test_dropped_rows_are_counted_in_the_progress_of_the_query(
    spark: SparkSession, tmp_path: Path
) -> None:
    df = source(spark, [second(100), second(90, 91, 99)], f"{tmp_path}/rows")
    query = (
        lc.disordered(df, time="time")
        .sort(wait="5 seconds", late="drop")
        .start(
            {"ready": f"{tmp_path}/ready", "late": lambda *_: None},
            checkpoint=f"{tmp_path}/c",
            trigger={"availableNow": True},
        )
    )
    query.awaitTermination()

    assert lc.counts(query) == {"ready": 0, "late": 0, "dropped": 2, "ahead": 0}


@pytest.mark.parametrize(
    ("batches", "reasons"),
    [
        (
            [second(100), second(90)],
            ["5 seconds behind the watermark", "while running Sort in bucket 1 of"],
        ),
        ([second(1, None)], ['column "time" is null']),
    ],
)
def test_raise_fails_the_query_and_names_the_row(
    spark: SparkSession, batches: list[pa.Table], reasons: list[str]
) -> None:
    with pytest.raises(lc.LateRowError) as failure:
        stream(spark, batches, sort_with("raise"))

    assert str(failure.value).startswith("a row ")
    assert all(reason in str(failure.value) for reason in reasons)
    assert "id=0" in str(failure.value) or "id=1" in str(failure.value)


def test_rows_ahead_of_their_arrival_do_not_make_others_late(spark: SparkSession) -> None:
    def batch(*rows: tuple[int, int, int | None]) -> pa.Table:
        kind = pa.timestamp("us", "UTC")
        times = [t * SECOND for _, t, _ in rows]
        arrivals = [None if a is None else a * SECOND for _, _, a in rows]
        return pa.table(
            {
                "id": [i for i, _, _ in rows],
                "time": pa.array(times, kind),
                "arrival": pa.array(arrivals, kind),
            }
        )

    ready, late = stream(
        spark,
        [
            batch((1, 10, 11), (2, 9_000, 12), (3, 3_000_000_000_0, None)),
            batch((4, 8, 13), (5, 100, 100)),
        ],
        lambda df: lc.disordered(df, time="time", arrival="arrival", ahead="1 hour").sort(
            wait="5 seconds"
        ),
    )

    assert [(row.id, row._reason) for row in sorted(late[0], key=lambda r: r.id)] == [
        (2, "ahead"),
        (3, "ahead"),
    ]
    assert 1 not in late
    assert [row.id for number in sorted(ready) for row in ready[number]] == [4, 1]


def test_one_row_of_the_year_9999_closes_nothing_and_there_is_a_way_back(
    spark: SparkSession, tmp_path: Path
) -> None:
    def batch(*rows: tuple[int, int]) -> pa.Table:
        times = [time * SECOND for _, time in rows]
        kind = pa.timestamp("us", "UTC")
        return pa.table({"id": [id_ for id_, _ in rows], "time": pa.array(times, kind)})

    far = 253_402_300_799
    batches = [batch((1, 10), (2, far), (3, 12)), batch((4, 8), (5, 20)), batch((6, 40))]
    df = source(spark, batches, f"{tmp_path}/rows")

    def run(name: str, ahead: str | None) -> tuple[list[int], dict[int, str], dict[str, int]]:
        query = (
            lc.disordered(df, time="time", ahead=ahead)
            .sort(wait="5 seconds")
            .start(
                {"ready": f"{tmp_path}/{name}/ready", "late": f"{tmp_path}/{name}/late"},
                checkpoint=f"{tmp_path}/{name}/checkpoint",
                trigger={"availableNow": True},
                end="flush",
            )
        )
        ready = lc.read(spark, f"{tmp_path}/{name}/ready").orderBy("batch", "time").collect()
        late = lc.read(spark, f"{tmp_path}/{name}/late").collect()
        return [row.id for row in ready], {row.id: row._reason for row in late}, query.counts()

    jumped, lost, counted = run("jumped", None)
    assert (jumped, lost) == ([1, 3, 2], {4: "late", 5: "late", 6: "late"})
    assert counted["ahead"] == 0
    # The way back: a new checkpoint and the bound, on the same rows.
    ready, late, counted = run("back", "auto")
    assert (ready, late) == ([4, 1, 3, 5, 6], {2: "ahead"})
    assert (counted["late"], counted["ahead"]) == (1, 1)


def test_a_micro_batch_that_is_run_again_sees_the_same_wall_clock(
    spark: SparkSession, tmp_path: Path
) -> None:
    df = source(spark, [second(1)], f"{tmp_path}/rows")
    seen = []

    def write(rows: DataFrame, _number: int) -> None:
        seen.append(rows.collect()[0][NOW])
        if len(seen) == 1:
            raise RuntimeError("the machine stops")

    for _ in range(2):
        made = with_wall_clock(df, Source(TimeColumn("time"), ahead=1)).writeStream
        query = made.foreachBatch(write).option("checkpointLocation", f"{tmp_path}/checkpoint")
        with suppress(StreamingQueryException):
            query.trigger(availableNow=True).start().awaitTermination()

    (written,) = (tmp_path / "checkpoint" / "offsets").glob("0")
    batch_time = json.loads(written.read_text().splitlines()[1])["batchTimestampMs"]
    assert seen == [batch_time * 1_000] * 2


def test_without_an_arrival_the_wall_clock_says_what_is_ahead(spark: SparkSession) -> None:
    df = spark.sql(
        "SELECT 1 AS id, current_timestamp() AS time "
        "UNION ALL SELECT 2, current_timestamp() + INTERVAL 2 HOURS"
    )
    ordered = lc.disordered(df, time="time", ahead="1 hour").sort(wait="1 second")

    assert [row.id for row in ordered.to_df().collect()] == [1]
    assert [(row.id, row._reason) for row in ordered.late_df().collect()] == [(2, "ahead")]


def test_empty_input_gives_empty_output(spark: SparkSession) -> None:
    ordered = lc.disordered(spark.range(0).selectExpr("id", "timestamp_seconds(id) t"), time="t")
    ordered = ordered.sort(wait="1 second")

    assert ordered.to_df().collect() == []
    assert ordered.late_df().collect() == []
    assert stream(spark, [second(), second()], sort_with("divert")) == ({}, {})


def test_a_single_row_comes_out_once_the_clock_has_passed_it(spark: SparkSession) -> None:
    ready, late = stream(
        spark, [second(7)], lambda df: lc.disordered(df, time="time").sort(wait="0 seconds")
    )

    assert {number: len(rows) for number, rows in ready.items()} == {1: 1}
    assert late == {}


def test_a_checkpoint_continues_and_refuses_other_buckets(
    spark: SparkSession, tmp_path: Path
) -> None:
    def run(batches: list[pa.Table], buckets: int) -> None:
        df = source(spark, batches, f"{tmp_path}/rows")
        ordered = lc.disordered(df, time="time", key="key").sort(wait="1 hour", buckets=buckets)
        ordered.start(
            {"ready": f"{tmp_path}/ready", "late": lambda *_: None},
            checkpoint=f"{tmp_path}/checkpoint",
            trigger={"availableNow": True},
        ).awaitTermination()

    def ready() -> list[int]:
        return sorted(row.id for row in lc.read(spark, f"{tmp_path}/ready").collect())

    batches = random_batches(50, nulls=False)
    run(batches[:1], 2)
    assert ready() == [], "there is a directory to read, with nothing in it"
    run([*batches, closing(batches[0].schema)], 2)

    assert ready() == sorted(i for batch in batches for i in batch["id"].to_pylist())
    more = [*batches, closing(batches[0].schema), random_batches(51)[4]]
    with pytest.raises(lc.StateFormatError, match="buckets were 2, are now 3"):
        run(more, 3)


def test_two_ordered_streams_work_in_one_query(spark: SparkSession, tmp_path: Path) -> None:
    def ordered(name: str) -> DataFrame:
        df = source(spark, [second(1, 2), second(100)], f"{tmp_path}/{name}")
        return lc.disordered(df, time="time").sort(wait="5 seconds").to_df()

    query = (
        ordered("left")
        .unionByName(ordered("right"))
        .writeStream.format("parquet")
        .option("checkpointLocation", f"{tmp_path}/checkpoint")
        .trigger(availableNow=True)
        .start(f"{tmp_path}/out")
    )
    query.awaitTermination()

    assert sorted(row.id for row in spark.read.parquet(f"{tmp_path}/out").collect()) == [0, 0, 1, 1]


def test_a_query_of_ones_own_counts_its_late_rows_and_refuses_another_wait(
    spark: SparkSession, tmp_path: Path
) -> None:
    df = source(spark, [second(100), second(1, 99)], f"{tmp_path}/rows")

    def run(wait: str) -> StreamingQuery:
        rows = lc.disordered(df, time="time").sort(wait=wait).to_df()
        writer = rows.writeStream.format("noop").option("checkpointLocation", f"{tmp_path}/own")
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return query

    assert lc.counts(run("5 seconds"))["late"] == 1
    write_micro_batches(second(120), f"{tmp_path}/rows", 1, first=2)
    with pytest.raises(StreamingQueryException, match="another query: wait was"):
        run("7 seconds")


def ascending(*batches: tuple[int, ...]) -> list[pa.Table]:
    return [
        pa.table(
            {
                "id": np.arange(len(times)),
                "time": pa.array([t * SECOND for t in times], pa.timestamp("us", "UTC")),
                "key": pa.array([f"key-{t % 2}" for t in times], pa.string()),
            }
        )
        for times in batches
    ]


def test_rows_that_come_in_order_are_not_held(spark: SparkSession) -> None:
    batches = ascending((1, 1, 2, 5), (5, 6, 9))

    ready, late = stream(
        spark, batches, lambda df: lc.disordered(df, time="time", key="key").sort(presorted=True)
    )

    for number, batch in enumerate(batches):
        assert ids(ready, number) == sorted(batch["id"].to_pylist())
    assert not any(late.values())


def test_rows_that_break_the_declared_order_are_refused(spark: SparkSession) -> None:
    with pytest.raises(StreamingQueryException, match="presorted=True was given"):
        stream(
            spark,
            ascending((1, 5), (4, 6)),
            lambda df: lc.disordered(df, time="time", key="key").sort(presorted=True),
        )
    (table,) = ascending((3, 2))
    rows = lc.disordered(spark.createDataFrame(table).coalesce(1), time="time")
    with pytest.raises(PythonException, match="presorted=True was given"):
        rows.sort(presorted=True).to_df().collect()
    with pytest.raises(lc.OptionError, match="presorted=True cannot be combined"):
        rows.sort(presorted=True, wait="1 second")
