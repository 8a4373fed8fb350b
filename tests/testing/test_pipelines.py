"""`same_under_disorder` passes for a good pipeline and fails for a bad one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import latecomer as lc
from latecomer.errors import OptionError
from latecomer.testing import same_under_disorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from latecomer.api.readable import Readable


def orders(count: int = 200, every: int = 1) -> pa.Table:
    times = pa.array([i * every * 1_000_000 for i in range(count)], pa.timestamp("us", "UTC"))
    return pa.table({"id": range(count), "time": times})


def sorted_with(wait: str) -> Callable[[Any], Readable]:
    return lambda rows: lc.disordered(rows, time="time").sort(wait=wait)


def counted_with(wait: str) -> Callable[[Any], Readable]:
    def pipeline(rows: Any) -> Readable:  # noqa: ANN401
        windows = lc.disordered(rows, time="time").tumbling("1 minute").wait(wait)
        return windows.group_by().aggregate(n=lc.agg.count())

    return pipeline


@pytest.mark.parametrize("pipeline", [sorted_with, counted_with])
@pytest.mark.parametrize("seed", range(3))
def test_a_pipeline_that_waits_long_enough_passes_without_spark(
    pipeline: Callable[[str], Callable[[Any], Readable]], seed: int
) -> None:
    delayed: dict[str, Any] = {"time": "time", "max_delay": "90 seconds", "seed": seed}
    same_under_disorder(None, pipeline("90 seconds"), orders(), **delayed)

    with pytest.raises(AssertionError, match=r"only without disorder \(\d+\): \{"):
        same_under_disorder(None, pipeline("1 second"), orders(), **delayed)


def test_a_wait_that_is_a_little_too_short_fails_with_few_micro_batches() -> None:
    for batches in (2, 3, 8):
        with pytest.raises(AssertionError, match="only without disorder"):
            same_under_disorder(
                None,
                sorted_with("85 seconds"),
                orders(),
                time="time",
                max_delay="90 seconds",
                batches=batches,
            )


def test_rows_that_are_too_far_apart_are_no_test() -> None:
    with pytest.raises(
        OptionError, match=r"nothing would be tested.\nHint: rows are further apart"
    ):
        same_under_disorder(
            None, sorted_with("1 second"), orders(every=100), time="time", max_delay="90 seconds"
        )


def test_without_spark_a_pipeline_must_return_a_stream() -> None:
    with pytest.raises(OptionError, match="must return a stream that can be run; got"):
        same_under_disorder(None, lambda rows: rows, orders(), time="time", max_delay="90 seconds")


def test_a_pipeline_that_waits_long_enough_passes(spark: SparkSession) -> None:
    def pipeline(df: DataFrame) -> DataFrame:
        return lc.disordered(df, time="time").sort(wait="60 seconds").to_df()

    same_under_disorder(spark, pipeline, orders(), time="time", max_delay="60 seconds", batches=4)


def test_a_pipeline_that_loses_rows_fails_and_the_message_shows_them(spark: SparkSession) -> None:
    with pytest.raises(AssertionError, match=r"only without disorder \(\d+\): Row\(id="):
        same_under_disorder(
            spark, sorted_with("1 second"), orders(), time="time", max_delay="90 seconds", batches=2
        )
