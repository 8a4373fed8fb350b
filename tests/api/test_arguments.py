from __future__ import annotations

import pyarrow as pa
import pytest

from latecomer.api.arguments import (
    check_choice,
    check_columns,
    check_key_types,
    check_names,
    clashing,
    is_number,
    length,
    read_closing,
    read_on,
    signed,
)
from latecomer.errors import ColumnNameError, ColumnNotFoundError, ColumnTypeError, OptionError
from latecomer.operators.temporal.binary import On
from latecomer.operators.temporal.session import Closing

SECOND = 1_000_000
SCHEMA = pa.schema({"a": pa.string(), "n": pa.int64(), "list": pa.list_(pa.int64())})


def test_a_length_is_positive_and_finite() -> None:
    assert length("5 seconds", "size") == 5 * SECOND

    with pytest.raises(OptionError, match='size="10 minutes"'):
        length("0 seconds", "size")
    with pytest.raises(OptionError, match="size is longer than tens of thousands of years"):
        length("30000000 days", "size")


def test_a_shift_may_be_negative_but_not_endless() -> None:
    assert signed("-5 seconds", "by") == -5 * SECOND
    assert signed("0 seconds", "by") == 0

    with pytest.raises(OptionError, match="by is longer than tens of thousands of years"):
        signed("-30000000 days", "by")


def test_a_session_ends_after_a_timeout_and_may_have_a_longest_duration() -> None:
    assert read_closing("5 seconds", None).timeout == 5 * SECOND
    assert read_closing("5 seconds", "1 minute") == Closing(5 * SECOND, 60 * SECOND)
    with pytest.raises(OptionError, match="max_duration must be longer than 0; got 0 seconds"):
        read_closing("5 seconds", "0 seconds")


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        (None, On()),
        ("a", On(("a",), ("a",))),
        (["a", "b"], On(("a", "b"), ("a", "b"))),
        ({"a": "x", "b": "y"}, On(("a", "b"), ("x", "y"))),
    ],
)
def test_rows_are_equal_in_a_column_in_several_or_under_other_names(
    on: object, expected: On
) -> None:
    assert read_on(on) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("names", [["Start"], ["a", "A"], ["edge"]])
def test_names_that_are_taken_are_refused_whatever_their_case(names: list[str]) -> None:
    check_names(SCHEMA)

    with pytest.raises(ColumnNameError, match=f'cannot be named "{names[0].lower()}"'):
        check_names(pa.schema([(name, pa.int64()) for name in names]))


def test_columns_must_be_there_and_be_plain() -> None:
    check_columns(SCHEMA, ["a", "n"])

    with pytest.raises(ColumnNotFoundError, match='no column "b"; the stream has "a", "n", "list"'):
        check_columns(SCHEMA, ["b"])
    with pytest.raises(ColumnNotFoundError, match="the stream has none but its lifetime"):
        check_columns(pa.schema([]), ["b"])
    with pytest.raises(ColumnTypeError, match='column "list" is of type list'):
        check_columns(SCHEMA, ["list"])


def test_keys_of_two_streams_are_of_one_type() -> None:
    check_key_types(SCHEMA, SCHEMA, On(("a", "n"), ("a", "n")))

    with pytest.raises(ColumnTypeError, match='"a" is of type string and "n" of type int64'):
        check_key_types(SCHEMA, SCHEMA, On(("a",), ("n",)))


def test_a_choice_must_be_one_that_is_allowed() -> None:
    check_choice("late", "drop", ("drop", "raise"))

    with pytest.raises(
        OptionError, match=r"late cannot be 'adjust'\.\nHint: use one of drop, raise"
    ):
        check_choice("late", "adjust", ("drop", "raise"))


def test_a_boolean_is_no_number() -> None:
    assert [is_number(each) for each in (1, 0.5, True, "1", None)] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_names_clash_if_they_are_reserved_or_differ_only_in_case() -> None:
    assert clashing(["a", "b"], ["c"]) is None
    assert clashing(["a", "C"], ["c"]) == "C"
    assert clashing(["a", "b", "B"]) == "b"
    assert clashing(["a", "_lc_a"]) == "_lc_a"
