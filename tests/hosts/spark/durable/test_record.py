"""A checkpoint goes on with the query that began it, and says in words what has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import latecomer as lc
from latecomer.errors import StateFormatError
from latecomer.hosts.spark.durable.ledger import Ledger
from latecomer.hosts.spark.durable.owner import claim, release
from latecomer.hosts.spark.durable.record import check_query, described

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def of(spark: SparkSession, states: str = "buckets", **options: Any) -> dict[str, Any]:  # noqa: ANN401
    df = spark.createDataFrame([], "time timestamp, key string")
    given: dict[str, Any] = {"wait": "2 hours", "buckets": 2, **options}
    stream = lc.disordered(df, time="time", key="key").sort(**given)
    return described(df, stream.plan, stream.buckets, states)


def test_the_same_query_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    for _ in range(2):
        check_query(spark, str(tmp_path), of(spark))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"wait": "3 hours"}, "wait was 2 hours, is now 3 hours"),
        ({"buckets": 3}, "buckets were 2, are now 3"),
        ({"states": "driver"}, "states were buckets, are now driver"),
        (
            {"wait": None, "recall": 0.9},
            "clock was one clock, is now waits that follow from a recall",
        ),
    ],
)
def test_another_query_is_refused_before_any_data(
    spark: SparkSession, tmp_path: Path, changed: dict[str, Any], words: str
) -> None:
    check_query(spark, str(tmp_path), of(spark))

    with pytest.raises(StateFormatError, match=words):
        check_query(spark, str(tmp_path), of(spark, **changed))


def total(spark: SparkSession, price: str) -> dict[str, Any]:
    df = spark.createDataFrame([], "time timestamp, price double")
    hours = lc.disordered(df, time="time").tumbling("1 hour").wait("1 hour")
    stream = hours.group_by().aggregate(total=lc.agg.sum(price))
    return described(stream.df, stream.plan, 2, "buckets")


def test_another_expression_is_another_query(spark: SparkSession, tmp_path: Path) -> None:
    check_query(spark, str(tmp_path), total(spark, "price * 2"))
    check_query(spark, str(tmp_path), total(spark, "price * 2"))

    with pytest.raises(StateFormatError, match=r'was.*Sum\(column="price \* 2.*now.*price \* 3"'):
        check_query(spark, str(tmp_path), total(spark, "price * 3"))


def test_a_record_of_another_format_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    Ledger(spark, f"{tmp_path}/latecomer/query").add("record", {"format": 99})

    with pytest.raises(StateFormatError, match="a record in format 99; this version"):
        check_query(spark, str(tmp_path), of(spark))


def test_a_query_that_is_refused_does_not_take_the_checkpoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    df = spark.readStream.schema("time timestamp, key string").parquet(f"{tmp_path}")
    checkpoint = f"{tmp_path}/checkpoint"
    check_query(spark, checkpoint, of(spark))
    running = claim(spark, checkpoint)
    release(checkpoint)

    with pytest.raises(StateFormatError, match="wait was 2 hours, is now 1 hour"):
        lc.disordered(df, time="time", key="key").sort(wait="1 hour", buckets=2).start(
            {"ready": f"{tmp_path}/ready", "late": f"{tmp_path}/late"}, checkpoint=checkpoint
        )

    running.check(spark)
