"""The tools for tests can tell a good pipeline from a bad one."""

import pyarrow as pa
import pytest
from hypothesis import given
from pyspark.sql import DataFrame, SparkSession

import latecomer as lc
from latecomer.operators.sort import Sort
from latecomer.testing import TIME, replay, same_under_disorder
from latecomer.testing.strategies import Cuts, batchings, cut, disordered


def orders(count: int = 200) -> pa.Table:
    return pa.table(
        {
            "id": range(count),
            "time": pa.array([i * 1_000_000 for i in range(count)], pa.timestamp("us", "UTC")),
        }
    )


def sorted_with(wait: str) -> "object":
    def pipeline(df: DataFrame) -> DataFrame:
        return lc.disordered(df, time="time").sort(wait=wait).to_df()

    return pipeline


def test_a_pipeline_that_waits_long_enough_passes(spark: SparkSession) -> None:
    same_under_disorder(
        spark, sorted_with("60 seconds"), orders(), time="time", max_delay="60 seconds", batches=4
    )


def test_a_pipeline_that_loses_rows_fails_and_the_message_shows_them(spark: SparkSession) -> None:
    with pytest.raises(AssertionError, match=r"only without disorder \(\d+\): Row\(id="):
        same_under_disorder(
            spark,
            sorted_with("0 seconds"),
            orders(),
            time="time",
            max_delay="60 seconds",
            batches=2,
        )


@given(arrivals=disordered(max_delay=7))
def test_drawn_streams_are_no_more_disordered_than_asked(arrivals: list[int]) -> None:
    newest = -(10**9)
    for time in arrivals:
        newest = max(newest, time)
        assert newest - time <= 7


@given(arrivals=disordered(max_delay=7), cuts=batchings())
def test_a_cut_keeps_all_rows_in_order(arrivals: list[int], cuts: Cuts) -> None:
    assert [row for batch in cut(arrivals, cuts) for row in batch] == arrivals


def test_a_replay_shows_what_came_too_late() -> None:
    seen = replay(Sort(TIME), [[10, 14], [12, 19], [13, 20]], wait=5)

    assert (seen.ready, seen.late) == ([10, 12, 14, 19, 20], [13])
