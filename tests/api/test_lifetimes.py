from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import latecomer as lc
from latecomer.errors import (
    ColumnNotFoundError,
    ColumnTypeError,
    ConditionError,
    OptionError,
    OrderError,
)
from latecomer.operators.temporal.alter import Alter, PointAtEnd, Quantize, Shift
from latecomer.operators.temporal.chop import Chop
from latecomer.operators.temporal.clip import Clip, ClipBy, UntilNext
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.temporal.extend import Extend
from latecomer.operators.temporal.join import Join
from latecomer.operators.temporal.session import Closing, Session
from latecomer.operators.temporal.stitch import Stitch
from latecomer.operators.temporal.union import Union

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

SECOND = 1_000_000


@pytest.fixture(scope="module")
def left(spark: SparkSession) -> lc.OrderedStream:
    df = spark.createDataFrame([], "time timestamp, key string, x int")
    return lc.disordered(df, time="time").sort(wait="5 s")


@pytest.fixture(scope="module")
def right(spark: SparkSession) -> lc.OrderedStream:
    df = spark.createDataFrame([], "time timestamp, key string, y int")
    return lc.disordered(df, time="time").sort(wait="9 s")


def last(stream: lc.TemporalStream) -> Any:  # noqa: ANN401
    """Return the last operator, or the one that joins another stream."""
    found = stream.plan.stages[-1].operators[-1]
    return getattr(found, "operator", found)


@pytest.mark.parametrize(
    ("ask", "operator"),
    [
        (lambda rows: rows.alter(duration="1 s"), Alter(SECOND)),
        (lambda rows: rows.alter(duration=None), Alter(None)),
        (lambda rows: rows.extend("-5 s"), Extend(-5 * SECOND)),
        (lambda rows: rows.shift("5 s"), Shift(5 * SECOND)),
        (lambda rows: rows.quantize("2 s"), Quantize(2 * SECOND, 2 * SECOND)),
        (
            lambda rows: rows.quantize("2 s", "1 s", origin="1 s"),
            Quantize(2 * SECOND, SECOND, SECOND),
        ),
        (lambda rows: rows.chop("2 s"), Chop(2 * SECOND)),
        (lambda rows: rows.stitch(), Stitch()),
        (lambda rows: rows.point_at_end(), PointAtEnd()),
        (lambda rows: rows.until_next("key"), UntilNext(("key",))),
        (lambda rows: rows.session("2 s", "key"), Session(("key",), Closing(2 * SECOND, None))),
        (lambda rows: rows.clip("2 s"), Clip(2 * SECOND)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_method_makes_its_operator(
    left: lc.OrderedStream, ask: Callable[[lc.OrderedStream], lc.TemporalStream], operator: object
) -> None:
    assert last(ask(left)) == operator


def test_streams_meet_by_the_columns_that_are_named(
    left: lc.OrderedStream, right: lc.OrderedStream
) -> None:
    inner, anti = left.join(right, on="key"), left.anti_join(right, on={"x": "y"}, broadcast=True)

    assert isinstance(last(inner), Join)
    assert (last(inner).how, last(inner).on.left) == ("inner", ("key",))
    assert (last(anti).how, last(anti).broadcast) == ("anti", True)
    assert (
        last(left.left_join(right, on="key")).how,
        last(left.full_join(right, on="key")).how,
    ) == (
        "left",
        "full",
    )
    assert isinstance(last(left.clip(right, on="key")), ClipBy)
    assert isinstance(last(left.union(left)), Union)
    assert len(inner.dfs) == 2


def test_an_asof_join_is_with_the_last_that_began_by_then(
    left: lc.OrderedStream, right: lc.OrderedStream
) -> None:
    joined = left.asof_join(right, on="key", tolerance="2 s")

    (signal,) = joined.plan.stages[-1].rights
    # A row that began exactly that long ago still counts.
    assert signal.stages[-1].operators[-2:] == (UntilNext(("key",)), Clip(2 * SECOND + 1))
    assert Alter(1) in joined.plan.stages[-1].operators


def test_an_asof_join_keeps_the_time_under_its_name(
    left: lc.OrderedStream, right: lc.OrderedStream, spark: SparkSession
) -> None:
    joined = left.asof_join(right, on="key")
    best = right.temporal().group_by("key").aggregate(z=lc.agg.max("y"))
    again = joined.asof_join(best, on="key")
    rows = spark.createDataFrame([], "start int, until int, key string")
    edges = lc.disordered(rows, time="start", end="until", unit="s", edges=True).sort(wait="1 s")

    assert joined.to_df().columns == ["start", "end", "time", "key", "x", "y"]
    assert joined.to_df().schema["time"] == left.df.schema["time"].__class__(
        "time", left.df.schema["time"].dataType, nullable=False
    )
    assert again.schema().names == ["time", "key", "x", "y", "z"]
    # The time column already has this name.
    assert edges.asof_join(right, on="key").schema().names == ["key", "y"]


def test_rows_are_stitched_by_a_key_or_a_function(left: lc.OrderedStream) -> None:
    def is_near(before: Any, after: Any) -> bool:  # noqa: ANN401
        return abs(before.x - after.x) < 2

    assert last(left.stitch("key")) == Stitch(("key",))
    assert last(left.stitch(equal=is_near)) == Stitch((), Condition(is_near))
    grouped = left.temporal().group_by("key").apply(lambda rows: rows.stitch("x", equal=is_near))
    assert last(grouped) == Stitch(("key", "x"), Condition(is_near))
    assert left.stitch("key").plan.stages[-1].key == ("key",)
    assert "if test_rows" in left.stitch("key", equal=is_near).explain()
    with pytest.raises(ColumnNotFoundError, match='no column "y"'):
        left.stitch("y")
    with pytest.raises(ConditionError, match="one row of each of before, after"):
        left.stitch(equal=lambda row: row.x > 1)  # type: ignore[arg-type, misc]


def test_streams_meet_in_order(left: lc.OrderedStream, spark: SparkSession) -> None:
    df = spark.createDataFrame([], "time timestamp, key string")

    with pytest.raises(OrderError, match="both streams must be sorted; got a DisorderedStream"):
        left.join(lc.disordered(df, time="time"), on="key")  # type: ignore[arg-type]


def test_keys_are_of_one_type(left: lc.OrderedStream, right: lc.OrderedStream) -> None:
    with pytest.raises(ColumnTypeError, match='"key" is of type string and "y" of type int32'):
        left.join(right, on={"key": "y"})


def test_a_limit_cuts_all_rows(left: lc.OrderedStream) -> None:
    with pytest.raises(OptionError, match="on= needs a stream that cuts"):
        left.clip("2 s", on="key")
    with pytest.raises(OptionError, match="by must be longer than 0"):
        left.clip("0 s")
