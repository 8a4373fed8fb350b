from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

import latecomer as lc
from latecomer import agg
from latecomer.errors import ColumnNameError, ColumnNotFoundError, OptionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], "time timestamp, city string, kind string, x int, unread int")


@pytest.fixture(scope="module")
def rows(df: DataFrame) -> lc.WindowedStream:
    return lc.disordered(df, time="time").tumbling("1 hour").wait("5 s")


def test_one_operator_answers_for_windows_and_keys(rows: lc.WindowedStream) -> None:
    answers = rows.group_by("city").aggregate(n=agg.count(), most=agg.max("2 * x"))

    (stage,) = answers.plan.stages
    assert stage.key == ("city",)
    assert answers.aggregation.keyed == ("city",)
    assert answers._ready_schema().names == ["window", "city", "n", "most"]


def test_unread_columns_do_not_go_to_python_unless_late_rows_need_them(
    df: DataFrame,
) -> None:
    windows = lc.disordered(df, time="time").tumbling("1 hour")

    dropped = windows.wait("5 s", late="drop").group_by("city").aggregate(s=agg.sum("x"))
    diverted = windows.wait("5 s").group_by("city").aggregate(s=agg.sum("x"))

    assert dropped.df.columns == ["time", "city", "x"]
    assert "unread" in diverted.df.columns


def test_results_can_be_grouped_again_by_some_of_their_keys(rows: lc.WindowedStream) -> None:
    by_both = rows.group_by("city", "kind").aggregate(n=agg.count())

    again = by_both.group_by("city").aggregate(most=agg.max("n"))

    assert again.plan.stages[0].key == ("city",)
    assert again._ready_schema().names == ["window", "city", "most"]
    with pytest.raises(OptionError, match='grouped by "city", "kind" cannot be grouped by "x"'):
        by_both.group_by("x").aggregate(n=agg.count())
    with pytest.raises(ColumnNotFoundError, match="no result 'x' to aggregate; the results are"):
        by_both.group_by("city").aggregate(s=agg.sum("x"))


def test_results_over_lifetimes_are_not_aggregated_again(df: DataFrame) -> None:
    sliding = lc.disordered(df, time="time").lifetime("1 hour").wait("5 s")
    answers = sliding.group_by("city").aggregate(n=agg.count())

    with pytest.raises(OptionError, match="results over lifetimes cannot be aggregated again"):
        answers.group_by().aggregate(n=agg.sum("n"))


@pytest.mark.parametrize("name", ["window", "wait", "is_final", "is_changed", "_lc_x", "city"])
def test_a_result_is_not_named_like_something_else(rows: lc.WindowedStream, name: str) -> None:
    with pytest.raises(ColumnNameError, match=f'cannot be named "{name}"'):
        rows.group_by("city").aggregate(**{name: agg.count()})
    with pytest.raises(ColumnNameError, match=f'cannot be named "{name}"'):
        rows.group_by("city").aggregate(**{name.upper(): agg.count()})


def test_two_results_do_not_have_one_name(rows: lc.WindowedStream) -> None:
    with pytest.raises(ColumnNameError, match='cannot be named "n"'):
        rows.group_by("city").aggregate(n=agg.count(), N=agg.count())


def test_something_must_be_computed(rows: lc.WindowedStream) -> None:
    with pytest.raises(OptionError, match="aggregate was given nothing to compute"):
        rows.group_by("city").aggregate()


def test_a_pivot_gives_results_side_by_side(rows: lc.WindowedStream) -> None:
    answers = rows.group_by("city").pivot("kind", ["a", "b"]).aggregate(n=agg.count())

    assert answers._ready_schema().names == ["window", "city", "a", "b"]


def test_a_pivot_needs_the_values_and_rows(rows: lc.WindowedStream) -> None:
    for values in (None, [], "ab"):
        with pytest.raises(OptionError, match='pivot needs the list of values of "kind"'):
            rows.group_by("city").pivot("kind", values)
    results = rows.group_by("city", "kind").aggregate(n=agg.count())
    with pytest.raises(OptionError, match="pivot works on rows, and these are results"):
        results.group_by("city").pivot("kind", ["a"])


def test_with_clocks_of_their_own_rows_lie_by_them_and_keys_contain_them(df: DataFrame) -> None:
    clocked = lc.disordered(df, time="time", clock="city").tumbling("1 hour").wait("5 s")

    answers = clocked.group_by("city", "kind").aggregate(n=agg.count())

    assert answers.plan.stages[0].key == ("city",)
    with pytest.raises(OptionError, match='each "city" has a clock of its own'):
        clocked.group_by("kind").aggregate(n=agg.count())


def test_windows_are_windows_to_spark(df: DataFrame, rows: lc.WindowedStream) -> None:
    sliding = lc.disordered(df, time="time").lifetime("1 hour").wait(["5 s", "9 s"])
    for stream in (rows, sliding):
        found = stream.group_by("city").aggregate(n=agg.count()).to_df()
        assert found.select(F.window_time("window")).dtypes == [
            ("window_time(window)", "timestamp")
        ]
        assert found.groupBy(F.window("window", "1 day")).count().columns == ["window", "count"]
    counted = lc.disordered(df, time="x", unit="s").tumbling("1 hour").wait("5 s")
    assert not counted.group_by().aggregate(n=agg.count()).to_df().schema["window"].metadata
