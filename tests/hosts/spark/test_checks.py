"""Checks when a stream is built; their messages to users are in tests/api/test_bad_input.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import latecomer as lc
from latecomer.errors import (
    ColumnNameError,
    ColumnNotFoundError,
    ColumnTypeError,
    OptionError,
    PartitionsWarning,
    StateStoreError,
)
from latecomer.hosts.spark.checks import (
    check_key,
    check_slowest_clock,
    check_source,
    check_state_store,
    check_types,
    in_a_replay,
    usual_ahead,
    warn_of_partitions,
)
from latecomer.plan import Source
from latecomer.time import DAY, TimeColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

AT = TimeColumn("at")


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(
        [], "at timestamp, local timestamp_ntz, n long, f double, word string, list array<int>"
    )


class Conf:
    """A session with one setting."""

    def __init__(self, value: str | None) -> None:
        self.conf = self
        self._value = value

    def get(self, _name: str) -> str | None:
        return self._value


def test_a_state_store_needs_maps_and_timers() -> None:
    check_state_store(Conf("org.apache.spark.RocksDBStateStoreProvider"))  # type: ignore[arg-type]

    for provider in ("org.apache.spark.HDFSBackedStateStoreProvider", None):
        with pytest.raises(StateStoreError, match="which has no maps and timers for Python"):
            check_state_store(Conf(provider))  # type: ignore[arg-type]


def test_sparks_default_number_of_partitions_is_warned_of() -> None:
    warn_of_partitions(Conf("8"))  # type: ignore[arg-type]

    with pytest.warns(PartitionsWarning, match=r'Hint: spark.conf.set\("spark.sql.shuffle'):
        warn_of_partitions(Conf("200"))  # type: ignore[arg-type]


def test_the_slowest_stream_sets_the_clock() -> None:
    for policy in ("min", None):
        check_slowest_clock(Conf(policy))  # type: ignore[arg-type]

    with pytest.raises(OptionError, match="rows of the slower one would be late"):
        check_slowest_clock(Conf("max"))  # type: ignore[arg-type]


def test_times_are_timestamps_dates_or_integers_with_a_unit(df: DataFrame) -> None:
    for time in (AT, TimeColumn("local"), TimeColumn("n", "s")):
        check_source(df, Source(time))

    with pytest.raises(ColumnTypeError, match="Hint: name its unit with unit="):
        check_source(df, Source(TimeColumn("n")))
    with pytest.raises(ColumnTypeError, match='the arrival column "word" is of type string'):
        check_source(df, Source(AT, arrival=TimeColumn("word")))
    with pytest.raises(ColumnTypeError, match='the end column "list" is of type array<int>'):
        check_source(df, Source(AT, end=TimeColumn("list")))


def test_columns_that_are_not_there_are_named(df: DataFrame) -> None:
    with pytest.raises(ColumnNotFoundError, match='no column "when"; the stream has "at", "local"'):
        check_source(df, Source(TimeColumn("when")))
    with pytest.raises(ColumnNotFoundError, match=r'Hint: name the column with group_by\("..."\)'):
        check_key(df, "who", "group_by")


def test_a_key_is_a_plain_value_and_a_clock_is_no_fraction(df: DataFrame) -> None:
    check_source(df, Source(AT, ("word", "f", "n")), ("word",))

    with pytest.raises(ColumnTypeError, match='the key column "list" is of type array<int>'):
        check_source(df, Source(AT, ("list",)))
    with pytest.raises(ColumnTypeError, match='the clock column "f" is of type double'):
        check_source(df, Source(AT), ("f",))


@pytest.mark.parametrize("name", ["_lc_part", "_delay", "_reason"])
def test_names_that_latecomer_uses_are_refused(df: DataFrame, name: str) -> None:
    with pytest.raises(ColumnNameError, match=f'a column "{name}", a name that Latecomer gives'):
        check_source(df.withColumnRenamed("word", name), Source(AT))


def test_two_columns_of_one_name_are_refused(df: DataFrame) -> None:
    with pytest.raises(ColumnNameError, match='two columns named "word"'):
        check_source(df.select("*", "word"), Source(AT))


def test_a_time_without_a_zone_is_not_compared_with_the_wall_clock(df: DataFrame) -> None:
    check_source(df, Source(TimeColumn("local"), arrival=TimeColumn("local"), ahead=5))

    with pytest.raises(OptionError, match="the column has no time zone"):
        check_source(df, Source(TimeColumn("local"), ahead=5))


def test_live_times_may_be_a_day_ahead_and_integers_have_no_bound(spark: SparkSession) -> None:
    live = spark.readStream.format("rate").load()
    live = live.selectExpr(
        "timestamp", "date(timestamp) AS day", "CAST(timestamp AS timestamp_ntz) AS local", "value"
    )
    time, number = TimeColumn("timestamp"), TimeColumn("value", "s")

    assert {usual_ahead(live, Source(TimeColumn(name))) for name in live.columns[:3]} == {DAY}
    assert usual_ahead(live, Source(time, arrival=time)) == DAY
    assert usual_ahead(live, Source(number)) is None
    assert usual_ahead(live, Source(time, arrival=number)) is None
    with in_a_replay():
        assert usual_ahead(live, Source(time)) is None
    assert usual_ahead(spark.createDataFrame([], "timestamp timestamp"), Source(time)) is None


def test_a_given_bound_replaces_the_default(spark: SparkSession) -> None:
    live = spark.readStream.format("rate").load()

    def bound(ahead: str | None) -> int | None:
        return lc.disordered(live, time="timestamp", ahead=ahead).source.ahead

    assert lc.disordered(live, time="timestamp").source.ahead == DAY
    assert (bound("auto"), bound(None), bound("2 days")) == (DAY, None, 2 * DAY)


def test_a_stream_with_a_watermark_of_its_own_is_refused(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().withWatermark("timestamp", "1 second")

    with pytest.raises(OptionError, match='a watermark on column "timestamp" already'):
        check_source(stream, Source(TimeColumn("timestamp")))


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("'A' COLLATE UTF8_LCASE", r"collate\(`the word`, 'UTF8_BINARY'\)"),
        ("array('A' COLLATE UTF8_LCASE)", r"of the strings inside, collate\(\.\.\., "),
        ("named_struct('in', map('x', 'A' COLLATE UTF8_LCASE))", "of the strings inside, collate"),
    ],
)
def test_strings_that_spark_compares_otherwise_are_refused(
    df: DataFrame, value: str, hint: str
) -> None:
    check_types(df.selectExpr("at", "collate(word, 'UTF8_BINARY') AS `the word`"))

    with pytest.raises(
        ColumnTypeError,
        match=rf'column "the word" has strings of collation UTF8_LCASE; .*\nHint: {hint}',
    ):
        check_source(df.selectExpr("at", f"{value} AS `the word`"), Source(AT))


@pytest.mark.parametrize("value", ["INTERVAL 1 YEAR", "array(make_interval(1, 2))"])
def test_intervals_that_spark_does_not_hand_to_python_are_refused(
    df: DataFrame, value: str
) -> None:
    check_types(df.selectExpr("INTERVAL 1 DAY AS long"))

    with pytest.raises(ColumnTypeError, match=r'"long" is of type .*interval'):
        check_source(df.selectExpr("at", f"{value} AS long"), Source(AT))
