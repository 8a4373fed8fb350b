"""The plans that arguments give; errors are in test_bad_input.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import latecomer as lc
from latecomer.clock.policy import ClockByRecall, ClockPerKey, OneClock
from latecomer.errors import OptionError
from latecomer.operators.in_order import InOrder
from latecomer.operators.levels import Levels
from latecomer.operators.sort import Sort
from latecomer.operators.windows.grid import Lifetime, Windows
from latecomer.time import TimeColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SECOND = 1_000_000


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(
        [], "time timestamp, until timestamp, key string, other string, n int"
    )


def test_a_source_describes_how_rows_are_read(df: DataFrame) -> None:
    stream = lc.disordered(
        df, time="n", key=["key", "other"], end="n", arrival="n", ahead="1 hour", unit="s"
    )

    source = stream.source
    assert (source.time, source.key) == (TimeColumn("n", "s"), ("key", "other"))
    assert source.end == source.arrival == TimeColumn("n", "s")
    assert source.ahead == 3_600 * SECOND
    assert source.begin is None


def test_begins_and_ends_may_be_rows_of_their_own(df: DataFrame) -> None:
    edges = lc.disordered(df, time="time", end="until", edges=True)

    assert edges.source.begin == TimeColumn("time")
    # A row is then known when it happens: an end at its end.
    assert edges.sort(wait="1 s").plan.source.time.name == "_lc_known"
    with pytest.raises(OptionError, match="needs the column with the ends"):
        lc.disordered(df, time="time", edges=True)


def test_clocks_are_those_of_the_key_or_of_columns(df: DataFrame) -> None:
    def clock(**options: object) -> tuple[str, ...]:
        return lc.disordered(df, time="time", **options).clock  # type: ignore[arg-type]

    assert clock(key=["key", "other"], clock="key") == ("key", "other")
    assert clock(clock="other") == ("other",)
    assert clock(clock=["key", "other"]) == ("key", "other")
    assert clock() == ()
    with pytest.raises(OptionError, match="and the stream has none"):
        clock(clock="key")


def test_a_sort_is_by_one_wait_by_several_by_a_recall_or_none(df: DataFrame) -> None:
    events = lc.disordered(df, time="time", key="key", idle="1 minute")
    idle = 60 * SECOND

    one, several = events.sort(wait="5 s").plan, events.sort(wait=["1 s", "5 s"]).plan
    recall = events.sort(recall=0.9).plan
    ordered = lc.disordered(df, time="time").sort(presorted=True).plan

    assert one.clock == OneClock((5 * SECOND,), idle)
    assert one.stages[0].operators == (Sort(TimeColumn("time")),)
    assert several.stages[0].operators == (Levels(TimeColumn("time"), (SECOND, 5 * SECOND)),)
    assert recall.clock == ClockByRecall(idle=idle, recalls=(0.9,))
    assert ordered.stages[0].operators == (InOrder(TimeColumn("time")),)


def test_with_clocks_of_their_own_rows_lie_by_them(df: DataFrame) -> None:
    plan = lc.disordered(df, time="time", key="key", clock="other").sort(wait="5 s").plan

    assert plan.clock == ClockPerKey((5 * SECOND,), None, ("other",))
    assert plan.stages[0].key == ("other",)


def test_moved_rows_keep_their_original_time(df: DataFrame) -> None:
    moved = lc.disordered(df, time="time").sort(wait="1 s", late="adjust")

    assert "_original_time" in moved.df.columns
    assert "_original_time" not in lc.disordered(df, time="time").sort(wait="1 s").df.columns


def test_rows_in_order_need_nothing_else(df: DataFrame) -> None:
    with pytest.raises(OptionError, match="cannot be combined with a wait, a recall"):
        lc.disordered(df, time="time", idle="1 s").sort(presorted=True)


def test_windows_are_of_a_size_and_a_hop_or_slide(df: DataFrame) -> None:
    events = lc.disordered(df, time="time")
    hour = 3_600 * SECOND

    assert events.tumbling("1 hour").windows == Windows(hour, hour)
    assert events.hopping("1 hour", "15 minutes", origin="5 s").windows == Windows(
        hour, hour // 4, 5 * SECOND
    )
    assert events.lifetime("1 hour").windows == Lifetime(hour)


def test_optimistic_streams_have_no_clocks_of_keys_and_move_no_rows(df: DataFrame) -> None:
    assert lc.disordered(df, time="time").optimistic(wait="5 s").plan.clock.waits == (5 * SECOND,)

    with pytest.raises(OptionError, match="does not support edges="):
        lc.disordered(df, time="time", clock="other").optimistic()
    with pytest.raises(OptionError, match="late cannot be 'adjust'"):
        lc.disordered(df, time="time").optimistic(late="adjust")
