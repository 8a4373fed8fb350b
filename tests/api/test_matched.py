from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import latecomer as lc
from latecomer.errors import ColumnNameError, ColumnNotFoundError, OptionError, PatternError
from latecomer.operators.patterns.detect import Detect
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.time import TimeColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UP_DOWN = lc.event("up", "x > 10").then("down", "x < 5")


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], "time timestamp, until timestamp, key string, x int")


@pytest.fixture(scope="module")
def rows(df: DataFrame) -> lc.OrderedStream:
    return lc.disordered(df, time="time", key="key").sort(wait="5 s")


def test_a_match_has_a_start_an_end_the_key_and_its_events(rows: lc.OrderedStream) -> None:
    matches = rows.detect(UP_DOWN, within="1 minute")

    assert matches._ready_schema().names == ["start", "end", "key", "up", "down"]
    assert matches._ready_schema()["up"].dataType.simpleString().startswith("struct<time:timestamp")


def test_arguments_become_settings_of_the_operator(rows: lc.OrderedStream) -> None:
    asked = rows.detect(UP_DOWN.within("1 minute"), contiguity="strict", overlap=False, by=[])

    detect = asked.plan.stages[-1].operators[-1]
    assert isinstance(detect, Detect)
    assert (detect.within, detect.is_strict, detect.may_overlap) == (60_000_000, True, False)
    assert detect.keys == ()


def test_with_several_waits_matches_name_their_wait(df: DataFrame) -> None:
    rows = lc.disordered(df, time="time", key="key").sort(wait=["1 s", "5 s"])

    names = rows.detect(UP_DOWN, within="1 minute")._ready_schema().names

    assert names[-2:] == ["wait", "is_final"]


def test_a_pattern_may_end_by_absence(rows: lc.OrderedStream) -> None:
    alone = rows.detect(lc.event("up", "x > 10").then_none("x < 5", duration="9 s"))
    silent = rows.detect(UP_DOWN.then_none(duration="9 s"), within="1 s")

    (one, other) = (each.plan.stages[-1].operators[-1] for each in (alone, silent))
    assert isinstance(one, Detect)
    assert isinstance(other, Detect)
    assert (one.within, one.silence, one.automaton.texts) == (0, 9_000_000, ("x < 5",))
    assert (other.within, other.silence, other.automaton.texts) == (1_000_000, 9_000_000, ("",))
    assert one.label != rows.detect(lc.event("up", "x > 10")).plan.stages[-1].operators[-1].label


def test_aggregates_take_the_place_of_the_rows(rows: lc.OrderedStream) -> None:
    matches = rows.detect(UP_DOWN.within("1 s"))
    told = matches.aggregate(total=lc.agg.sum("x * 2")).aggregate("down", n=lc.agg.count())

    assert told._ready_schema().names == ["start", "end", "key", "total", "n"]
    # The column computed for the aggregate does not replace that of a condition.
    assert told.df.columns[-3:] == ["_lc_input_0", "_lc_input_1", "_lc_input_2"]
    assert 'Sum(column="x * 2")' in told.detect.label
    with pytest.raises(PatternError, match='no event "left"; it has up, down'):
        matches.aggregate("left", n=lc.agg.count())
    with pytest.raises(ColumnNameError, match='result cannot be named "start"'):
        matches.aggregate(start=lc.agg.count())
    with pytest.raises(OptionError, match="given nothing to compute"):
        matches.aggregate("up")


def test_aggregates_of_matches_have_a_result_for_each_of_several_waits(df: DataFrame) -> None:
    rows = lc.disordered(df, time="time", key="key").sort(wait=["1 s", "5 s"])
    told = rows.detect(UP_DOWN, within="1 minute").aggregate(n=lc.agg.count())

    assert told._ready_schema().names == ["start", "end", "key", "n", "wait", "is_final"]
    with pytest.raises(OptionError, match="not available on a stream with several waits"):
        told.temporal()


def test_matches_are_rows_with_lifetimes(rows: lc.OrderedStream) -> None:
    matches = rows.detect(UP_DOWN.then_none(duration="9 s"), within="1 s")
    joined = matches.alter(duration="1 s").anti_join(rows, on="key")

    assert matches.temporal().schema().names == ["key", "up", "down"]
    assert Lifetimes(TimeColumn("start"), TimeColumn("end"), 10_000_000) in (
        joined.plan.stages[-1].operators
    )
    pairs = rows.join(matches.aggregate(n=lc.agg.count()), on="key")
    assert pairs.schema().names == ["until", "key", "x", "n"]
    with pytest.raises(OptionError, match="Spark SQL cannot be used after"):
        matches.temporal().where("x > 1")


def test_a_match_must_end(rows: lc.OrderedStream) -> None:
    with pytest.raises(PatternError, match="the longest time that a match may take"):
        rows.detect(UP_DOWN)
    with pytest.raises(OptionError, match="within was given twice"):
        rows.detect(UP_DOWN.within("1 s"), within="1 s")


def test_only_patterns_are_accepted(rows: lc.OrderedStream) -> None:
    with pytest.raises(PatternError, match="detect needs a pattern; got 'up'"):
        rows.detect("up", within="1 s")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="contiguity cannot be 'near'"):
        rows.detect(UP_DOWN, within="1 s", contiguity="near")  # type: ignore[arg-type]
    with pytest.raises(ColumnNotFoundError, match='no column "who"'):
        rows.detect(UP_DOWN, within="1 s", by="who")


@pytest.mark.parametrize("name", ["start", "Key", "wait", "Is_Final", "_lc_x", "_LC_x"])
def test_an_event_is_not_named_like_another_column(rows: lc.OrderedStream, name: str) -> None:
    with pytest.raises(ColumnNameError, match=f'an event, key or result cannot be named "{name}"'):
        rows.detect(lc.event(name, "x > 1"), within="1 s")


def test_a_pattern_is_of_whole_rows(df: DataFrame) -> None:
    edges = lc.disordered(df, time="time", end="until", edges=True).sort(wait="5 s")

    with pytest.raises(OptionError, match="patterns match whole rows"):
        edges.detect(UP_DOWN, within="1 s")
