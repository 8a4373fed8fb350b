"""Every kind of stream runs in this process, without a Spark session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import latecomer as lc

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 1_000_000
ROWS = pa.table(
    {
        "time": pa.array([t * SECOND for t in (5, 3, 9, 30, 2, 31)], pa.timestamp("us", "UTC")),
        "key": ["a", "b", "a", "b", "a", "b"],
        "price": [1.0, 2, 3, 4, 5, 6],
    }
)
CUT = [ROWS.slice(0, 4), ROWS.slice(4)]


def rows(**options: Any) -> lc.DisorderedStream:  # noqa: ANN401
    return lc.disordered(ROWS, time="time", **options)


def prices(table: pa.Table) -> list[float]:
    found: list[float] = table.column("price").to_pylist()
    return found


def test_rows_are_sorted_batch_by_batch_and_late_by_earlier_batches() -> None:
    stream = rows(key="key").sort(wait="10 seconds")

    assert prices(stream.run().ready) == [5, 2, 1, 3, 4, 6]
    found = stream.run(CUT)
    assert prices(found.ready) == [2, 1, 3, 4, 6]
    assert prices(found.late) == [5]
    assert found.late.column("_delay").to_pylist() == [28_000]
    assert [prices(step.ready) for step in found.steps] == [[], [2, 1, 3], [4, 6]]
    assert prices(stream.run(CUT, end="keep").ready) == [2, 1, 3]
    assert rows().sort(wait="10 seconds", late="drop").run(CUT).dropped == 1


def test_windows_of_columns_that_arrow_computes() -> None:
    windows = rows().where(pc.field("price") > 1).tumbling("10 seconds").wait("10 seconds")
    stream = windows.group_by("key").aggregate(
        n=lc.agg.count(where=pc.field("price") > 3), double=lc.agg.sum(pc.field("price") * 2)
    )

    found = stream.run(CUT).ready
    assert found.column_names == ["window", "key", "n", "double"]
    answers = [(each["key"], each["n"], each["double"]) for each in found.to_pylist()]
    assert sorted(answers) == [("a", 0, 6.0), ("b", 0, 4.0), ("b", 2, 20.0)]


def test_late_rows_are_moved_and_begins_and_ends_are_rows_of_their_own() -> None:
    moved = rows().sort(wait="10 seconds", late="adjust").run(CUT).ready
    assert [each["time"] != each["_original_time"] for each in moved.to_pylist()].count(True) == 1

    start = pa.array([SECOND, SECOND], pa.timestamp("us", "UTC"))
    end = pa.array([None, 4 * SECOND], pa.timestamp("us", "UTC"))
    edges = lc.disordered(
        pa.table({"start": start, "end": end}), time="start", end="end", edges=True
    )
    found = edges.sort(wait="1 second").temporal().run().ready
    assert found.column_names == ["start", "end"]
    assert found["end"].cast(pa.int64()).to_pylist() == [4 * SECOND]


def test_lifetimes_patterns_joins_and_corrections_run() -> None:
    ordered = rows(key="key").sort(wait="10 seconds")
    counts = ordered.alter(duration="4 seconds").group_by("key").aggregate(n=lc.agg.count())
    assert sorted(counts.run().ready["n"].to_pylist()) == [1, 1, 1, 1, 1, 1, 2, 2]

    cheap, dear = (lc.event(name, test) for name, test in _EVENTS.items())
    matches = ordered.detect(cheap.then(dear).within("1 minute")).run().ready
    assert [each["dear"]["price"] for each in matches.to_pylist()] == [4.0]

    met = ordered.alter(duration="4 seconds").join(
        lc.disordered(ROWS.rename_columns(["time", "key", "other"]), time="time", key="key")
        .sort(wait="10 seconds")
        .alter(duration="4 seconds"),
        on="key",
    )
    assert (
        met.run().ready.num_rows
        == met.run([ROWS], [ROWS.rename_columns(["time", "key", "other"])]).ready.num_rows
    )

    streams = {"left": rows(), "right": rows()}
    assert lc.window_join(streams, on="key", within="5 seconds").run().ready.num_rows == 12

    numbered = (
        rows(key="key")
        .optimistic(wait="10 seconds")
        .stateful(
            lambda count, _row: (count + 1, count + 1),
            initial=0,
            outputs=pa.schema({"n": pa.int64()}),
        )
    )
    assert sorted(numbered.barrier().run(CUT).ready["n"].to_pylist()) == [1, 1, 2, 2, 3]


_EVENTS = {"cheap": pc.field("price") < 3, "dear": pc.field("price") > 3}


def test_a_stream_that_cannot_run_here_says_what_to_do() -> None:
    stream = rows().sort(wait="1 second")
    bad: list[tuple[Any, str]] = [
        (lambda: lc.disordered(ROWS.schema, time="time").sort(wait="1 second").run(), "no rows"),
        (lambda: stream.run(CUT, CUT), "reads 1 streams, and batches were given for 2"),
        (lambda: stream.run(CUT, end="never"), 'must be "flush" or "keep"; got'),
        (lambda: stream.run(CUT, threads=0), "threads must be a whole number from 1 to 256; got 0"),
        (lambda: stream.run(CUT, threads=True), "whole number from 1 to 256; got True"),
        (lambda: stream.run(CUT, threads=cast("int", 1.5)), "whole number .*; got 1.5"),
        (lambda: stream.formatted(durations="interval").run(), "applies to Spark DataFrames only"),
        (stream.to_df, "this step needs Spark"),
        (lambda: stream.start({}, checkpoint="nowhere"), "this step needs Spark"),
        (lambda: rows().select_many(each="key"), "select_many needs Spark"),
        (
            lambda: rows().tumbling("1 hour").wait("1 hour").group_by().pivot("key", ["a"]),
            "pivot needs Spark",
        ),
    ]
    for ask, words in bad:
        with pytest.raises(lc.LatecomerError, match=words):
            ask()


def test_a_stream_of_spark_is_not_run_here(spark: SparkSession) -> None:
    df = spark.createDataFrame(ROWS)
    with pytest.raises(
        lc.OptionError, match=r"reads a Spark DataFrame.\nHint: use to_df\(\) or start"
    ):
        lc.disordered(df, time="time").sort(wait="1 second").run()
    with pytest.raises(lc.OptionError, match="Spark SQL or a Column, and this stream reads"):
        rows().with_columns(twice="price * 2")
