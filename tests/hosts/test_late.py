from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from latecomer import agg
from latecomer.clock.policy import OneClock
from latecomer.clock.watermark import Clock
from latecomer.errors import LateRowError
from latecomer.hosts.late import (
    AHEAD,
    EMPTY,
    NO_TIME,
    behind_the_watermark,
    checked,
    found_late,
    late_outputs,
    late_schema,
    unusable,
)
from latecomer.hosts.output import DROPPED, Output
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.base import LATE, NO_BEGIN
from latecomer.operators.sort import Sort
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import LatePolicy, Plan, Source, Stage
from latecomer.time import TimeColumn

SECOND = 1_000_000
TIME = TimeColumn("time", "s")
ROWS = pa.table({"time": [3, 4], "name": ["a", "b"]})


def plan(late: LatePolicy, operator: object = None, number: int = 0) -> Plan:
    stage = Stage((), (operator or Sort(TIME),))  # type: ignore[arg-type]
    return Plan(Source(TIME, number=number), OneClock((0,)), late, (stage,))


def test_a_late_row_says_how_far_behind_it_came_and_why() -> None:
    late = behind_the_watermark(ROWS, TIME, 10 * SECOND, 5 * SECOND)

    assert late.schema == late_schema(ROWS.schema)
    assert late["_delay"].to_pylist() == [7_000, 6_000]
    assert late["_behind"].to_pylist() == [2_000, 1_000]
    assert late["_reason"].to_pylist() == [LATE, LATE]
    assert late.select(ROWS.column_names).equals(ROWS)


def test_each_row_may_have_a_watermark_of_its_own() -> None:
    newest, watermark = np.array([10, 20]) * SECOND, np.array([5, 9]) * SECOND

    late = behind_the_watermark(ROWS, TIME, newest, watermark)
    assert late["_behind"].to_pylist() == [2_000, 5_000]


def test_a_row_less_than_a_millisecond_behind_is_one_behind() -> None:
    late = behind_the_watermark(ROWS, TIME, 4 * SECOND + 1_001, 4 * SECOND + 1)

    assert late["_delay"].to_pylist() == [1_002, 2]
    assert late["_behind"].to_pylist() == [1_001, 1]


def test_a_row_without_a_usable_time_is_behind_nothing() -> None:
    late = unusable(ROWS, NO_TIME)

    assert late["_delay"].to_pylist() == late["_behind"].to_pylist() == [None, None]
    assert late["_reason"].to_pylist() == [NO_TIME, NO_TIME]


def test_late_rows_are_put_out_under_the_name_of_their_stream() -> None:
    (first,) = late_outputs(plan("divert"), ROWS, 10 * SECOND, 5 * SECOND)
    (second,) = late_outputs(plan("divert", number=1), ROWS, 10 * SECOND, 5 * SECOND, NO_BEGIN)

    assert (first.name, first.rows) == ("late", 2)
    assert second.name == "late_1"
    assert second.batch is not None
    assert second.batch["_reason"].to_pylist() == [NO_BEGIN, NO_BEGIN]


def test_late_rows_that_are_dropped_are_counted() -> None:
    (output,) = late_outputs(plan("drop"), ROWS, 10 * SECOND, 5 * SECOND)

    assert output == Output(DROPPED, 2, None)
    assert (output.name, output.batch) == (DROPPED, None)


def test_without_late_rows_there_is_no_output() -> None:
    assert list(late_outputs(plan("divert"), ROWS.slice(2), 10, 5)) == []
    assert checked(plan("raise"), unusable(ROWS.slice(2), NO_TIME)).num_rows == 0


@pytest.mark.parametrize(
    ("reason", "words", "hint"),
    [
        (NO_TIME, 'a row has no time: column "time" is null', "where('`time` IS NOT NULL')"),
        (NO_BEGIN, "a row ends something that has not begun", "wait longer"),
        (EMPTY, "a row does not end after it begins", "leave such rows out with where()"),
        (AHEAD, "a row is too far ahead of its arrival", "allow more with ahead="),
    ],
)
def test_where_late_rows_are_refused_the_first_is_named(reason: str, words: str, hint: str) -> None:
    with pytest.raises(LateRowError) as caught:
        list(late_outputs(plan("raise"), ROWS, 10 * SECOND, 5 * SECOND, reason))

    assert str(caught.value).startswith(words)
    assert "; such rows in this batch: 2, the first is time=3, name=a.\n" in str(caught.value)
    assert f"{hint}, or send such rows to late_df()" in str(caught.value)


def test_a_row_that_is_refused_says_how_far_behind_it_came() -> None:
    with pytest.raises(LateRowError, match="a row came 2 seconds behind the watermark"):
        list(late_outputs(plan("raise"), ROWS, 10 * SECOND, 5 * SECOND))


def test_late_rows_are_found_among_those_that_are_aggregated_elsewhere() -> None:
    counting = Aggregation(
        TIME, Windows(10 * SECOND, 10 * SECOND), (0,), (Summary((), (("n", agg.count()),)),)
    )
    rows = pa.table({"time": [9, 10, 3], "name": ["a", "b", "c"]})

    (output,) = found_late(plan("divert", counting), Clock.at(10 * SECOND, 0), rows)

    assert output.batch is not None
    assert output.batch["name"].to_pylist() == ["a", "c"]
    assert list(found_late(plan("divert", counting), Clock.at(9 * SECOND, 0), rows)) == []
    assert list(found_late(plan("divert"), Clock.at(10 * SECOND, 0), rows)) == []
