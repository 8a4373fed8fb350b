from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest

import latecomer as lc
from latecomer.api.readable import check_answer_names
from latecomer.errors import ColumnNameError, OptionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], "time timestamp, key string")


def ordered(df: DataFrame, **options: object) -> lc.OrderedStream:
    return lc.disordered(df, time="time", key="key").sort(**options)  # type: ignore[arg-type]


def test_rows_come_out_unchanged_and_late_ones_have_their_delay(df: DataFrame) -> None:
    stream = ordered(df, wait="5 s")

    assert stream.to_df().columns == ["time", "key"]
    assert stream.late_df().columns == ["time", "key", "_delay", "_behind", "_reason"]


def test_a_stream_without_its_late_rows_says_where_they_are(
    spark: SparkSession, df: DataFrame
) -> None:
    live = spark.readStream.format("rate").load().selectExpr("timestamp AS time", "'a' AS key")

    with pytest.warns(
        lc.LateRowsWarning, match=r"They are in late_df\(\),.*\nHint.*late=\"drop\""
    ) as found:
        ordered(live, wait="5 s").to_df()
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ordered(live, wait="5 s", late="drop").to_df()
        ordered(live, wait="5 s").late_df()
        ordered(df, wait="5 s").to_df()


def test_the_rows_of_one_wait_can_be_read_alone(df: DataFrame) -> None:
    stream = ordered(df, wait=["1 s", "5 s"])

    assert stream.to_df().columns == ["time", "key", "wait", "is_final"]
    assert stream.to_df(wait="5 s").columns == ["time", "key"]
    with pytest.raises(
        OptionError, match="'2 s' is not one of several waits of the stream; it has 1 second, 5"
    ):
        stream.to_df(wait="2 s")
    with pytest.raises(OptionError, match="'5 s' is not one of several waits"):
        ordered(df, wait="5 s").to_df(wait="5 s")


def test_columns_are_formatted_on_request(df: DataFrame) -> None:
    waits = ordered(df, wait=["1 s", "5 s"])
    counts = lc.disordered(df, time="time").tumbling("5 s").wait(["1 s", "5 s"]).group_by("key")
    stream = counts.aggregate(n=lc.agg.count()).formatted(durations="interval", windows="columns")

    assert waits.to_df().schema["wait"].dataType.simpleString() == "string"
    assert waits.late_df().schema["_delay"].dataType.simpleString() == "bigint"
    assert stream.to_df().columns[:4] == ["window_start", "window_end", "key", "n"]
    assert stream.to_df(wait="5 s").columns == ["window_start", "window_end", "key", "n"]
    for frame, name in ((stream.to_df(), "wait"), (stream.late_df(), "_behind")):
        assert frame.schema[name].dataType.simpleString() == "interval day to second"
    with pytest.raises(OptionError, match=r'there is no column "window" to split into two'):
        waits.formatted(windows="columns")


def test_the_rows_of_one_recall_can_be_read_alone(df: DataFrame) -> None:
    stream = ordered(df, recall=[0.9, 0.99])

    assert stream.to_df().columns == ["time", "key", "recall", "wait", "is_final"]
    assert stream.to_df(recall=0.9).columns == ["time", "key"]
    with pytest.raises(
        OptionError, match=r"0\.5 is not one of several recalls of the stream; it has 0\.9, 0\.99"
    ):
        stream.to_df(recall=0.5)
    with pytest.raises(OptionError, match="the stream has a recall and no waits"):
        stream.to_df(wait="5 s")


def test_the_recall_is_measured_if_it_is_requested(df: DataFrame) -> None:
    assert "recall" in ordered(df, recall=0.9).recall_df().columns

    with pytest.raises(OptionError, match="no stated recall to report on; it waits 5 seconds"):
        ordered(df, wait="5 s").recall_df()


def test_late_rows_are_those_of_one_of_the_joined_streams(df: DataFrame) -> None:
    both = ordered(df, wait="5 s").union(ordered(df, wait="5 s"))

    assert both.late_df(1).columns[:2] == ["time", "key"]
    with pytest.raises(
        OptionError, match="there is no stream 2; the query reads 2, counted from 0"
    ):
        both.late_df(2)


def test_what_runs_is_explained(df: DataFrame) -> None:
    text = ordered(df, wait="5 s", late="drop").explain()

    assert text.startswith('stream 0, by "time": wait 5 seconds')
    assert "late rows: they are counted and dropped" in text


def test_only_a_stream_is_started(df: DataFrame) -> None:
    with pytest.raises(OptionError, match="this DataFrame is not streaming"):
        ordered(df, wait="5 s").start({"ready": "out"}, checkpoint="nowhere")


def test_columns_are_not_named_like_those_that_identify_results() -> None:
    check_answer_names(["time", "recall", "wait", "is_final"])

    with pytest.raises(ColumnNameError, match='the rows have a column "wait"'):
        check_answer_names(["time", "Wait", "recall", "wait", "is_final"])
