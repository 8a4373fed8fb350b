from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import pytest

from latecomer.api.query import Query, spark_query


def started(**attributes: Any) -> Query:  # noqa: ANN401
    """Wrap an object with the attributes of Spark's query."""
    spark = SimpleNamespace(name=None, id="7", runId="run", **attributes)
    return Query(spark, None, "out/checkpoint")  # type: ignore[arg-type]


def test_it_has_all_that_sparks_own_query_has() -> None:
    stopped: list[bool] = []
    query = started(isActive=True, stop=lambda: stopped.append(True))

    assert query.isActive
    query.stop()
    assert stopped == [True]
    assert {"isActive", "stop", "counts", "recall", "checkpoint"} <= set(dir(query))


def test_an_attribute_that_neither_query_has_is_an_error() -> None:
    with pytest.raises(AttributeError, match="pause"):
        started().pause()


def test_a_query_reports_its_counts() -> None:
    observed = {"latecomer_1": SimpleNamespace(asDict=lambda: ROW)}
    told = [
        SimpleNamespace(runId="run", batchId=number, observedMetrics=observed) for number in (0, 1)
    ]
    query = started(isActive=False, recentProgress=told, lastProgress=told[-1])

    assert query.counts() == {"ready": 6, "late": 2, "dropped": 0, "ahead": 0}
    assert [(each.produced, each.missed) for each in query.recall().values()] == [(8, 2), (10, 0)]


ROW = {"ready": 3, "late": 1, "in_time_0": 4, "in_time_1000000": 1}


def test_it_shows_which_query_it_is() -> None:
    query = started()
    assert repr(query) == "<Query 7 of out/checkpoint>"

    query.spark.name = "counts"
    assert repr(query) == "<Query counts of out/checkpoint>"


def test_a_copy_is_a_query_too() -> None:
    query = started(isActive=True)

    assert copy.copy(query).isActive


def test_sparks_own_query_is_found_in_ours() -> None:
    query = started()

    assert spark_query(query) is query.spark
    assert spark_query(query.spark) is query.spark
