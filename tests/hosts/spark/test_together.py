"""Several actions run at the same time, as parts of one query."""

from __future__ import annotations

from threading import Barrier
from typing import TYPE_CHECKING

import pytest

from latecomer.hosts.spark.together import together

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_actions_run_at_the_same_time(spark: SparkSession) -> None:
    both = Barrier(2)

    # Each action waits for the other, so they would never end one after the other.
    together([lambda: both.wait(timeout=600), lambda: both.wait(timeout=600)])

    assert not both.broken


def test_no_actions_are_allowed() -> None:
    together([])


def test_their_jobs_belong_to_the_query_of_the_caller(spark: SparkSession) -> None:
    context = spark.sparkContext
    context.setJobGroup("latecomer-together", "two jobs")
    try:
        together([lambda: spark.range(1).foreach(print), lambda: spark.range(2).foreach(print)])
        jobs = context.statusTracker().getJobIdsForGroup("latecomer-together")
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
        context.setLocalProperty("spark.job.description", None)

    assert len(jobs) == 2


def test_the_error_of_the_first_action_is_raised_when_all_have_ended(spark: SparkSession) -> None:
    ended = []

    def fail(word: str) -> None:
        ended.append(word)
        raise ValueError(word)

    with pytest.raises(ValueError, match="second"):
        together([lambda: ended.append("first"), lambda: fail("second"), lambda: fail("third")])

    assert sorted(ended) == ["first", "second", "third"]
