from __future__ import annotations

import re
from typing import Any

import pytest

from latecomer import agg
from latecomer.hosts.differences import OTHER_WAITS, changed, changed_operators
from latecomer.labels import Labelled
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.optimistic.grouping import Grouping
from latecomer.operators.sort import Sort
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.time import TimeColumn
from tests.operators.catalogue import EXAMPLES

TIME = TimeColumn("time", "us")
MINUTE = 60_000_000


def windows(minutes: int = 1, **aggregates: Any) -> str:  # noqa: ANN401
    named = tuple((aggregates or {"total": agg.sum("price")}).items())
    grid = Windows(minutes * MINUTE, minutes * MINUTE)
    return Aggregation(TIME, grid, (MINUTE,), (Summary(("key",), named),)).label


def told(before: str, now: str) -> list[str]:
    return [*changed_operators([before], [now])]


def test_only_what_differs_is_named_and_durations_are_durations() -> None:
    assert told(windows(), windows(5)) == [
        "windows: size was 1 minute, is now 5 minutes",
        "windows: hop was 1 minute, is now 5 minutes",
    ]
    assert told(windows(), windows()) == []


def test_a_result_is_named_by_the_name_that_the_user_gave() -> None:
    assert told(windows(), windows(total=agg.sum("price * 2, 3"))) == [
        '"total": column was "price", is now "price * 2, 3"'
    ]
    assert told(windows(), windows(total=agg.max("price"))) == [
        '"total" was sum("price"), is now max("price")'
    ]
    assert told(windows(), windows(total=agg.sum("price", where="price > 0"))) == [
        '"total": where was not set, is now "price > 0"'
    ]


def test_other_operators_are_named_in_words() -> None:
    (found,) = told(Sort(TIME).label, windows())
    assert found.startswith(
        'operator was sort("time" in us), is now aggregation(time "time" in us,'
    )
    assert "windows windows(size 1 minute, hop 1 minute" in found
    assert [*changed_operators([Sort(TIME).label], [])] == [
        'operators were sort("time" in us), are now none'
    ]


def test_a_number_of_rows_is_no_duration() -> None:
    sizes = [Grouping(TIME, ("key",), size).label for size in (3, 4)]

    assert told(*sizes) == ["grouping: size was 3, is now 4"]


def test_a_function_is_shown_by_its_name_without_a_hash() -> None:
    marks = ("<3.11 code 0123456789abcdef>", "<3.11 code fedcba9876543210>")
    before, now = (f'Stateful(time="time", update=f{mark})' for mark in marks)

    assert told(before, now) == ["stateful: update: the code or the version of f has changed"]
    assert "code" not in told(before, "Sort(by=1)")[0]


@pytest.mark.parametrize(
    "operator", [each for each, _ in EXAMPLES], ids=lambda each: type(each).__name__
)
def test_every_operator_is_described_without_microseconds(operator: Labelled) -> None:
    (found,) = told(operator.label, 'Other(column="a")')

    assert re.search(r"\d{6}", found) is None, found
    assert re.search(r"[A-Z]\w*\(", found) is None, found


def test_settings_are_described_in_words() -> None:
    assert changed("wait", 7_200_000_000, [MINUTE, 2 * MINUTE]) == (
        "wait was 2 hours, is now 1 minute, 2 minutes"
    )
    assert changed(OTHER_WAITS, [MINUTE], [None]) == (
        "waits of other streams were 1 minute, are now not set"
    )
    assert changed("key", [], ["a", "b"]) == "key was not set, is now a, b"
