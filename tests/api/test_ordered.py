from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import latecomer as lc
from latecomer.errors import ColumnNotFoundError, OptionError
from latecomer.operators.distinct import Distinct
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.operators.temporal.paired import Paired
from latecomer.time import TimeColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SECOND = 1_000_000


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], "time timestamp, until timestamp, key string, id int")


def ordered(
    df: DataFrame, wait: object = "5 s", late: str = "divert", **options: object
) -> lc.OrderedStream:
    return lc.disordered(df, time="time", **options).sort(wait=wait, late=late)  # type: ignore[arg-type]


def test_rows_are_compared_by_the_key_and_the_named_columns(df: DataFrame) -> None:
    plan = ordered(df, key="key").distinct("id", within="1 minute").plan

    assert plan.stages[0].operators[-1] == Distinct(
        TimeColumn("time"), ("key", "id"), 60 * SECOND, ("key",)
    )


def test_there_must_be_something_to_compare(df: DataFrame) -> None:
    with pytest.raises(OptionError, match="distinct needs the columns to compare rows by"):
        ordered(df).distinct(within="1 minute")
    with pytest.raises(ColumnNotFoundError, match='no column "who"'):
        ordered(df).distinct("who", within="1 minute")
    with pytest.raises(OptionError, match="within must be longer than 0"):
        ordered(df).distinct("id", within="0 seconds")


def test_distinct_is_of_single_rows_in_order(df: DataFrame) -> None:
    for stream in (ordered(df, ["1 s", "5 s"]), ordered(df, end="until", edges=True)):
        with pytest.raises(OptionError, match="distinct does not support several waits"):
            stream.distinct("id", within="1 minute")


def test_rows_get_the_lifetimes_that_their_columns_say(df: DataFrame) -> None:
    def lifetimes(stream: lc.OrderedStream) -> object:
        return stream.temporal().plan.stages[0].operators[-1]

    assert lifetimes(ordered(df)) == Lifetimes(TimeColumn("time"))
    assert lifetimes(ordered(df, end="until")) == Lifetimes(TimeColumn("time"), TimeColumn("until"))
    assert isinstance(lifetimes(ordered(df, end="until", edges=True)), Paired)


def test_lifetimes_have_one_wait_and_are_not_moved_by_half(df: DataFrame) -> None:
    with pytest.raises(
        OptionError, match="lifetimes are not available on a stream with several waits"
    ):
        ordered(df, ["1 s", "5 s"]).temporal()
    with pytest.raises(OptionError, match="would move the start of a row and not its end"):
        ordered(df, late="adjust", end="until").temporal()


def test_rows_in_order_are_not_grouped_before_they_have_windows_or_lifetimes(df: DataFrame) -> None:
    with pytest.raises(
        OptionError, match=r'tumbling\("1 hour"\).wait\(...\).group_by\("key", "id"\)'
    ):
        ordered(df).group_by("key", "id")
