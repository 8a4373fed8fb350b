from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import latecomer as lc
from latecomer.errors import ColumnNotFoundError, OptionError, StepError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


NEXT = 'put the rows in order with sort(wait=...), or into windows with tumbling("1 hour")'


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> lc.DisorderedStream:
    df = spark.createDataFrame([], "time timestamp, key string, x int, words array<string>")
    return lc.disordered(df, time="time", key="key")


def test_columns_are_computed_by_spark_before_any_wait(events: lc.DisorderedStream) -> None:
    changed = events.with_columns(y="x + 1").where("y > 0").select("time", "key", "y")

    assert type(changed) is lc.DisorderedStream
    assert changed.df.columns == ["time", "key", "y"]
    assert changed.source is events.source


def test_windows_stay_the_same_after_a_filter(events: lc.DisorderedStream) -> None:
    windows = events.tumbling("1 hour").where("x > 0")

    assert type(windows) is lc.DisorderedWindows
    assert windows.windows == events.tumbling("1 hour").windows


def test_columns_that_the_stream_needs_must_be_kept(events: lc.DisorderedStream) -> None:
    with pytest.raises(ColumnNotFoundError, match='no column "time"'):
        events.select("key", "x")
    with pytest.raises(ColumnNotFoundError, match='no column "key"'):
        events.select("time", "x")


def test_rows_are_made_of_one_list_at_a_time(events: lc.DisorderedStream) -> None:
    assert events.select_many(word="words").df.schema["word"].dataType.simpleString() == "string"

    with pytest.raises(OptionError, match="one list at a time; got 2"):
        events.select_many(a="words", b="words")


def test_a_step_that_comes_too_early_says_what_has_to_come_before(
    events: lc.DisorderedStream,
) -> None:
    with pytest.raises(
        StepError, match=r"DisorderedStream has no to_df.\nHint: put the rows in order"
    ):
        events.to_df()  # type: ignore[attr-defined]
    with pytest.raises(StepError, match="DisorderedWindows has no group_by"):
        events.tumbling("1 hour").group_by("key")  # type: ignore[attr-defined]
    assert not hasattr(events, "_repr_html_")


def test_it_is_explained_what_is_known_and_what_comes_next(spark: SparkSession) -> None:
    df = spark.createDataFrame([], "time timestamp, key string")
    events = lc.disordered(df, time="time", key="key", clock="key")

    assert events.explain().split("\n") == [
        'rows by "time", in order of arrival',
        "  key: key",
        "  a clock for each key",
        "  Spark SQL computes filters and columns of single rows",
        f"  next: {NEXT}",
    ]
