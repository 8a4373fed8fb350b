"""Optimistic streams as users write them: errors, and the stages of their plans."""

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StructField, StructType

import latecomer as lc

SCHEMA = "time timestamp, account string, shop string, cents long, tags array<string>, items long"


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], SCHEMA)


def events(df: DataFrame, **options: Any) -> lc.DisorderedStream:  # noqa: ANN401
    return lc.disordered(df, time="time", key="account", **options)


def optimistic(df: DataFrame) -> lc.OptimisticStream:
    return events(df).optimistic(wait="1 hour")


def same(state: object, _row: object) -> tuple[object, None]:
    return state, None


def stages(stream: lc.CorrectedStream) -> list[tuple[tuple[str, ...], list[str]]]:
    return [
        (stage.key, [type(operator).__name__ for operator in stage.operators])
        for stage in stream.plan.stages
    ]


def test_the_time_and_the_key_come_before_what_a_function_makes(df: DataFrame) -> None:
    made = optimistic(df).stateful(same, outputs="balance double, is_low boolean")

    assert made.barrier().to_df().columns == ["time", "account", "balance", "is_low"]
    assert made.changelog_df().columns[-2:] == ["_change_type", "_change_number"]
    assert made.barrier().late_df().columns[-3:] == ["_delay", "_behind", "_reason"]
    given = StructType([StructField("n", LongType())])
    assert optimistic(df).flat_map(same, outputs=given).barrier().to_df().columns == ["time", "n"]


def test_rows_travel_only_where_the_key_changes(df: DataFrame) -> None:
    by_account = optimistic(df).stateful(same, outputs="shop string")

    two = by_account.grouping(2, key=["account", "shop"]).barrier()
    assert stages(two) == [(("account",), ["Enter", "Stateful", "Grouping", "Barrier"])]
    other = by_account.stateful(same, key="shop", outputs="n long").changelog()
    assert stages(other) == [
        (("account",), ["Enter", "Stateful"]),
        (("shop",), ["Stateful", "Changelog"]),
    ]


def test_rows_are_numbered_where_the_first_step_with_a_key_needs_them(df: DataFrame) -> None:
    by_shop = optimistic(df).stateful(same, key="shop", outputs="n long").barrier()
    assert stages(by_shop) == [(("shop",), ["Enter", "Stateful", "Barrier"])]
    without = lc.disordered(df, time="time").optimistic(wait="1 s")
    assert stages(without.grouping(2).grouping(3).barrier()) == [
        ((), ["Enter", "Grouping", "Grouping", "Barrier"])
    ]


def test_a_function_may_say_anything_of_the_key_so_rows_travel_behind_it(df: DataFrame) -> None:
    mapped = optimistic(df).flat_map(same, outputs="account string")

    assert stages(mapped.grouping(2).barrier()) == [
        (("account",), ["Enter", "FlatMap"]),
        (("account",), ["Grouping", "Barrier"]),
    ]


def test_the_wait_is_given_once(df: DataFrame) -> None:
    unsaid = events(df).optimistic().grouping(2, key="shop")

    assert unsaid.barrier(wait="5 s").plan.clock.waits == (5_000_000,)
    assert optimistic(df).grouping(1).changelog(wait="60 minutes").plan.clock.waits == (
        3_600_000_000,
    )
    with pytest.raises(lc.DurationError, match="the wait is missing"):
        unsaid.changelog_df()
    with pytest.raises(lc.DurationError, match="a wait of 1 hour, and this step 5 seconds"):
        optimistic(df).grouping(2).barrier(wait="5 s")


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda s: s.stateful(3, outputs="n long"), lc.OptionError, "update must be a function"),
        (lambda s: s.flat_map("x", outputs="n long"), lc.OptionError, "function must be a functi"),
        (
            lambda s: s.stateful(same, outputs="n long", initial=(i for i in "")),
            lc.OptionError,
            "a state must be one that can be saved",
        ),
        (lambda s: s.stateful(same, outputs="n long", every=0), lc.OptionError, "1 or more"),
        (lambda s: s.stateful(same, outputs="n long", every="3"), lc.OptionError, "1 or more"),
        (lambda s: s.grouping(0), lc.OptionError, "1 row or more"),
        (lambda s: s.grouping(2.5), lc.OptionError, "1 row or more; got 2.5"),
        (lambda s: s.stateful(same, outputs="n lng"), lc.ColumnTypeError, "outputs must name"),
        (lambda s: s.stateful(same, outputs=7), lc.ColumnTypeError, "outputs must name"),
        (lambda s: s.stateful(same, outputs=""), lc.ColumnTypeError, "outputs"),
        (
            lambda s: s.stateful(same, outputs="account string, n long"),
            lc.ColumnNameError,
            '"account", which the result has already',
        ),
        (
            lambda s: s.flat_map(same, outputs="Time long"),
            lc.ColumnNameError,
            '"Time", which the',
        ),
        (
            lambda s: s.flat_map(same, outputs="a long, A int"),
            lc.ColumnNameError,
            '"A", which the',
        ),
        (lambda s: s.grouping(2, key="items"), lc.ColumnNameError, 'named "items"'),
        (lambda s: s.grouping(2, key="bank"), lc.ColumnNotFoundError, 'no column "bank"'),
        (lambda s: s.grouping(2, key="tags"), lc.ColumnTypeError, "compared by plain values"),
        (
            lambda s: s.flat_map(same, outputs="n long").grouping(2),
            lc.ColumnNotFoundError,
            'no column "account"',
        ),
    ],
)
def test_invalid_steps_are_refused_when_they_are_written(
    df: DataFrame,
    build: Any,  # noqa: ANN401
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        build(optimistic(df))


def test_a_changelog_of_a_changelog_is_refused_until_its_column_is_renamed(df: DataFrame) -> None:
    for name in ("_Change_Type", "_change_number"):
        changes = df.withColumnRenamed("shop", name)
        with pytest.raises(lc.ColumnNameError, match=f'already has a column "{name.lower()}"'):
            optimistic(changes).changelog()


def test_methods_of_sorted_streams_are_refused(df: DataFrame) -> None:
    with pytest.raises(lc.StepError, match="DisorderedWindows has no optimistic"):
        events(df).tumbling("1 hour").optimistic()  # type: ignore[attr-defined]
    with pytest.raises(lc.OptionError, match="does not support edges="):
        events(df, clock="key").optimistic()
    with pytest.raises(lc.OptionError, match="late cannot be 'adjust'"):
        events(df).optimistic(late="adjust")
    with pytest.raises(lc.OptionError, match="buckets must be from 1"):
        events(df).optimistic(buckets=0)
