"""Durations and time columns are read and written."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.errors import ColumnNotFoundError, ColumnTypeError, DurationError
from latecomer.time import (
    TimeColumn,
    duration_text,
    format_duration,
    in_millis,
    minus,
    parse_duration,
    whole_millis,
)


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("0 seconds", 0),
        ("10 minutes", 600_000_000),
        ("1 hour 30 minutes", 5_400_000_000),
        ("1.5 hours", 5_400_000_000),
        ("500 ms", 500_000),
        ("7us", 7),
        ("2 hrs 3 mins 4 secs", 7_384_000_000),
        ("2 Days", 172_800_000_000),
        ("1 week", 604_800_000_000),
        (timedelta(milliseconds=3), 3_000),
    ],
)
def test_durations_are_read(text: str | timedelta, micros: int) -> None:
    assert parse_duration(text, "wait") == micros


def test_a_duration_must_be_a_whole_number_of_microseconds() -> None:
    with pytest.raises(DurationError, match="whole number of microseconds"):
        parse_duration("0.5 us", "wait")


@given(micros=st.integers(0, 10**17))
def test_the_text_of_a_duration_is_exact(micros: int) -> None:
    text = duration_text(timedelta(microseconds=micros))

    assert parse_duration(text, "wait") == micros
    assert duration_text(timedelta(minutes=90)) == "1 hour 30 minutes"
    assert duration_text(" 90\t min") == "90 min"


def test_milliseconds_are_rounded_up() -> None:
    assert in_millis(np.array([0, 1, 1_000, 1_001, -1])).tolist() == [0, 1, 1, 2, 0]
    assert [whole_millis(each) for each in (0, 1, 1_000, 1_001, -1)] == [0, 1, 1, 2, 0]


def test_a_duration_longer_than_time_itself_is_refused() -> None:
    with pytest.raises(DurationError, match="longer than"):
        parse_duration("999999999999 weeks", "wait")


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "0 seconds"),
        (7, "7 microseconds"),
        (1_000_000, "1 second"),
        (5_400_000_000, "1.5 hours"),
        (-90_000_000, "-1.5 minutes"),
        (172_800_000_000, "2 days"),
        (999_999, "1,000 milliseconds"),
        (10**14, "1,157 days"),
    ],
)
def test_durations_are_written_in_a_readable_unit(micros: int, text: str) -> None:
    assert format_duration(micros) == text


@pytest.mark.parametrize(
    ("kind", "unit", "values"),
    [
        (pa.timestamp("us", "UTC"), None, [datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)]),
        (pa.timestamp("ns"), None, [datetime(1969, 12, 31, 23, 59, 59)]),  # noqa: DTZ001 - no zone
        (pa.timestamp("s"), None, [datetime(1969, 12, 31, 23, 59, 59)]),  # noqa: DTZ001 - no zone
        (pa.int64(), "us", [-1_000_000]),
        (pa.int32(), "s", [-1]),
        (pa.int64(), "ns", [-1_000_000_000]),
    ],
)
def test_every_kind_of_column_is_read_as_microseconds_and_written_back(
    kind: pa.DataType, unit: str | None, values: list
) -> None:
    column = TimeColumn("t", unit)
    batch = pa.table({"t": pa.array(values, kind)})

    assert column.micros(batch).tolist() == [-1_000_000]
    assert column.replaced(batch, [-1_000_000]).equals(batch)


def test_dates_are_midnights_and_are_rounded_up() -> None:
    column = TimeColumn("t")
    batch = pa.table({"t": pa.array([date(1970, 1, 2)])})

    assert column.micros(batch).tolist() == [86_400_000_000]
    assert column.replaced(batch, [86_400_000_001])["t"].to_pylist() == [date(1970, 1, 3)]


def test_a_time_that_does_not_fit_a_small_integer_is_refused_in_words() -> None:
    batch = pa.table({"t": pa.array([127], pa.int8())})

    with pytest.raises(ColumnTypeError, match=r"is of int8.*128") as raised:
        TimeColumn("t", "s").replaced(batch, [128_000_000])
    assert "Hint: cast the column to bigint" in str(raised.value)


def test_nanoseconds_are_rounded_down_to_microseconds() -> None:
    assert TimeColumn("t", "ns").micros(pa.table({"t": [-1, 1_999]})).tolist() == [-1, 1]


def test_rows_without_a_time_are_marked_and_read_as_the_given_value() -> None:
    batch = pa.table({"t": pa.array([5, None], pa.timestamp("us"))})
    column = TimeColumn("t")

    assert column.is_null(batch).tolist() == [False, True]
    assert column.micros(batch, null=9).tolist() == [5, 9]


def test_large_times_keep_every_microsecond_beside_a_null() -> None:
    exact = 2**62 + 1
    batch = pa.table({"t": pa.array([exact, None], pa.timestamp("us"))})

    assert TimeColumn("t").micros(batch, null=0)[0] == exact


def test_spark_times_are_not_copied() -> None:
    batch = pa.table({"t": pa.array(np.arange(5), pa.timestamp("us"))})
    data = np.frombuffer(batch["t"].chunk(0).buffers()[1], np.int64)

    assert np.shares_memory(TimeColumn("t").micros(batch), data)


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(ColumnNotFoundError, match='no column "t"; the rows have "u"'):
        TimeColumn("t").micros(pa.table({"u": [1]}))


@pytest.mark.parametrize(("unit", "value"), [("s", 2 * 10**13), ("ms", -(2**60))])
def test_an_integer_too_large_for_its_unit_is_named(unit: str, value: int) -> None:
    with pytest.raises(ColumnTypeError, match=rf'column "t" holds {abs(value):,}.*\nHint: check'):
        TimeColumn("t", unit).micros(pa.table({"t": [1, value]}))


def test_a_difference_that_is_too_large_is_cut_off() -> None:
    times = np.array([-(2**63), 5, 0], np.int64)

    assert minus(2**62, times).tolist() == [2**63 - 1, 2**62 - 5, 2**62]


def test_the_smallest_integer_is_too_large_a_time_in_seconds() -> None:
    with pytest.raises(ColumnTypeError, match="beyond the year 294,000"):
        TimeColumn("time", "s").micros(pa.table({"time": [-(2**63)]}))


def test_a_time_must_be_there_and_be_one() -> None:
    schema = pa.schema({"n": pa.int64(), "word": pa.string(), "day": pa.date32()})

    TimeColumn("day").check(schema, "time")
    TimeColumn("n", "s").check(schema, "time")
    with pytest.raises(ColumnNotFoundError, match=r'no column "at"; the rows have "n", "word"'):
        TimeColumn("at").check(schema, "time")
    with pytest.raises(ColumnTypeError, match="Hint: name its unit with unit=, one of"):
        TimeColumn("n").check(schema, "arrival")
    with pytest.raises(ColumnTypeError, match='the arrival column "word" is of type string'):
        TimeColumn("word").check(schema, "arrival")
