"""A checkpoint continues only with its own query; an error says in words what has changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

import latecomer as lc
from latecomer.errors import StateFormatError
from latecomer.hosts.spark.columns import arrow_schema
from latecomer.hosts.spark.durable.ledger import Ledger
from latecomer.hosts.spark.durable.owner import claim, release
from latecomer.hosts.spark.durable.record import History, check_query, described
from latecomer.time import NEVER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession


HOUR = 3_600_000_000


@dataclass(frozen=True)
class Asked:
    """A query, and the place of its states."""

    stream: Any
    states: str = "buckets"

    def check(self, spark: SparkSession, checkpoint: object, newest: int = NEVER) -> History:
        """Check a query as `start` does."""
        plan = self.stream.plan
        query = described(self.stream.dfs, plan, self.stream.buckets, self.states)
        history = check_query(spark, str(checkpoint), plan, query, lambda: newest)
        history.write(spark, str(checkpoint))
        return history


def rows(
    spark: SparkSession,
    columns: str = "time timestamp, key string",
    clock: str | None = None,
    idle: str | None = None,
    states: str = "buckets",
    **options: Any,  # noqa: ANN401
) -> Asked:
    df = spark.createDataFrame([], columns)
    given: dict[str, Any] = {"wait": "2 hours", "buckets": 2, **options}
    stream = lc.disordered(df, time="time", key="key", clock=clock, idle=idle).sort(**given)
    return Asked(stream, states)


def windows(
    spark: SparkSession,
    wait: Any = "2 hours",  # noqa: ANN401
    price: str = "price * 2",
    *,
    states: str = "buckets",
    more: bool = False,
    **options: Any,  # noqa: ANN401
) -> Asked:
    df = spark.createDataFrame([], "time timestamp, price double")
    hours = lc.disordered(df, time="time").tumbling("1 hour").wait(wait, **options)
    results = {"total": lc.agg.sum(price)} | ({"n": lc.agg.count()} if more else {})
    return Asked(hours.group_by().aggregate(**results), states)


FOLD = {"late": "fold", "horizon": "7 days"}


def test_the_same_query_continues(spark: SparkSession, tmp_path: Path) -> None:
    for _ in range(2):
        history = rows(spark).check(spark, tmp_path)
        assert history.resumed(rows(spark).stream.plan, pytest.fail) == rows(spark).stream.plan


@pytest.mark.parametrize(
    ("kind", "before", "changed", "words"),
    [
        (rows, {}, {"buckets": 3}, r"buckets were 2, are now 3\.\nHint: .* with migrate\(\)"),
        (windows, {}, {"states": "driver"}, r"states were buckets, are now driver.*\n.*migrate"),
        (
            rows,
            {},
            {"wait": None, "recall": 0.9},
            "clock was one clock, is now waits that follow from a recall",
        ),
        (rows, {}, {"wait": ["1 hour", "2 hours"]}, "wait was 2 hours, is now 1 hour, 2 hours"),
        (
            windows,
            {"wait": ["1 hour", "2 hours"]},
            {"wait": ["1 hour", "3 hours"]},
            "wait was 1 hour, 2 hours, is now 1 hour, 3 hours",
        ),
        (
            rows,
            {"idle": "1 minute"},
            {"idle": "1 minute", "wait": "3 hours"},
            "wait was 2 hours, is now 3 hours",
        ),
        (rows, {}, {"idle": "1 minute"}, "idle was not set, is now 1 minute"),
        (windows, {}, {"more": True}, "results were window, total, are now window, total, n"),
        (windows, {}, FOLD, "late was divert, is now fold"),
        (windows, FOLD, FOLD | {"wait": "3 hours"}, "wait was 2 hours, is now 3 hours"),
        (windows, FOLD, FOLD | {"horizon": "8 days"}, "horizon was 7 days, is now 8 days"),
        (
            windows,
            {},
            {"price": "price * 3"},
            r'query: "total": column was "price \* 2", is now "price \* 3"\.\n',
        ),
        (
            rows,
            {},
            {"columns": "time timestamp, key int"},
            'column "key" was string, is now int32',
        ),
        (
            rows,
            {"columns": "time timestamp, key string, more int"},
            {},
            'column "more" was int32, is no longer there',
        ),
    ],
)
def test_a_change_that_is_not_allowed_is_refused_in_words_before_any_data(
    spark: SparkSession,
    tmp_path: Path,
    kind: Callable[..., Asked],
    before: dict[str, Any],
    changed: dict[str, Any],
    words: str,
) -> None:
    kind(spark, **before).check(spark, tmp_path)

    with pytest.raises(StateFormatError, match=words) as caught:
        kind(spark, **changed).check(spark, tmp_path)
    assert "docs/checkpoints.md" in str(caught.value)


def test_a_column_that_rows_with_lifetimes_cannot_take_in_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    def lifetimes(columns: str, late: str = "divert") -> Asked:
        return Asked(rows(spark, columns, late=late).stream.alter(duration="1 hour"))

    before = "time timestamp, key string"
    lifetimes(before).check(spark, tmp_path)

    with pytest.raises(StateFormatError, match='column "more" was not there, is now int32'):
        lifetimes(f"{before}, more int").check(spark, tmp_path)
    with pytest.raises(StateFormatError, match="late was divert, is now adjust"):
        lifetimes(before, "adjust").check(spark, tmp_path)


def test_a_column_that_is_never_null_is_refused_where_rows_are_held(
    spark: SparkSession, tmp_path: Path
) -> None:
    columns = "time timestamp, key string"
    rows(spark, columns).check(spark, tmp_path)

    with pytest.raises(StateFormatError, match='column "more" is new and never null, and held'):
        rows(spark, f"{columns}, more int not null").check(spark, tmp_path)


def test_another_wait_continues_from_the_watermark_that_was_reached(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows(spark).check(spark, tmp_path)

    def resumed(wait: str, newest: int) -> tuple[int, tuple[int, ...]]:
        asked = rows(spark, wait=wait)
        clock = asked.check(spark, tmp_path, newest).resumed(asked.stream.plan, pytest.fail).clock
        return clock.floor, clock.former

    assert resumed("3 hours", 10 * HOUR) == (8 * HOUR, (2 * HOUR, 3 * HOUR))
    assert resumed("3 hours", 99 * HOUR) == (8 * HOUR, (2 * HOUR, 3 * HOUR))
    # By the wait of 3 hours the watermark would be at 7, but it never falls.
    assert resumed("4 hours", 10 * HOUR)[0] == 8 * HOUR
    assert resumed("2 hours", 20 * HOUR) == (16 * HOUR, (2 * HOUR, 3 * HOUR, 4 * HOUR))


def test_each_of_two_streams_has_a_floor_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    def met(wait: str) -> Asked:
        left, right = (
            rows(spark, wait=each).stream.alter(duration="1 hour") for each in ("1 hour", wait)
        )
        return Asked(left.join(right, on="key"))

    met("2 hours").check(spark, tmp_path)
    asked = met("3 hours")
    plan = asked.check(spark, tmp_path, 10 * HOUR).resumed(asked.stream.plan, pytest.fail)

    assert [each.clock.floor for each in plan.inputs] == [9 * HOUR, 8 * HOUR]


def test_clocks_of_keys_and_a_shorter_wait_with_silences_may_change(
    spark: SparkSession, tmp_path: Path
) -> None:
    for number, changed in enumerate(
        ({"clock": "key", "wait": "3 hours"}, {"idle": "1 minute", "wait": "1 hour"})
    ):
        rows(spark, **(changed | {"wait": "2 hours"})).check(spark, tmp_path / str(number))
        asked = rows(spark, **changed)
        plan = asked.check(spark, tmp_path / str(number), 10 * HOUR).resumed(
            asked.stream.plan, pytest.fail
        )
        # The watermark of a key is in its bucket.
        assert plan.clock.floor == (NEVER if plan.clock.columns else 8 * HOUR)


def test_columns_and_the_late_policy_may_change(spark: SparkSession, tmp_path: Path) -> None:
    rows(spark).check(spark, tmp_path)
    rows(spark, late="drop").check(spark, tmp_path)
    wider = rows(spark, "more int, time timestamp, key string", late="adjust")
    history = wider.check(spark, tmp_path)

    plan = history.resumed(wider.stream.plan, lambda: arrow_schema(wider.stream.df))
    assert plan.source.rows is not None
    assert plan.source.rows.names == ["more", "time", "key", "_original_time"]
    assert len(history.records) == 3


def test_a_record_of_another_format_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    Ledger(spark, f"{tmp_path}/latecomer/query").add("record", {"format": 99})

    with pytest.raises(StateFormatError, match="a record in format 99; this version"):
        rows(spark).check(spark, tmp_path)


def test_a_query_that_is_refused_does_not_take_the_checkpoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    df = spark.readStream.schema("time timestamp, key string").parquet(f"{tmp_path}")
    checkpoint = f"{tmp_path}/checkpoint"
    rows(spark).check(spark, checkpoint)
    running = claim(spark, checkpoint)
    release(checkpoint)

    with pytest.raises(StateFormatError, match="buckets were 2, are now 3"):
        lc.disordered(df, time="time", key="key").sort(wait="2 hours", buckets=3).start(
            {"ready": f"{tmp_path}/ready", "late": f"{tmp_path}/late"}, checkpoint=checkpoint
        )

    running.check(spark)
