from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from latecomer.clock.policy import OneClock
from latecomer.errors import LateRowError
from latecomer.hosts.entry import admit
from latecomer.hosts.late import AHEAD, EMPTY, NO_TIME, late_schema
from latecomer.operators.sort import Sort
from latecomer.plan import LatePolicy, Plan, Source, Stage
from latecomer.time import FOREVER, TimeColumn

TIME, END, BEGIN = (TimeColumn(name, "us") for name in ("time", "end", "begin"))


def plan(source: Source, late: LatePolicy = "divert") -> Plan:
    return Plan(source, OneClock((0,)), late, (Stage((), (Sort(TIME),)),))


def table(**columns: list[int | None]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})


def test_rows_with_a_time_pass_as_they_are() -> None:
    rows = table(time=[3, 1])

    fit, aside = admit(plan(Source(TIME)), rows)

    assert fit is rows
    assert aside.num_rows == 0
    assert aside.schema == late_schema(rows.schema)


def test_rows_without_a_time_are_set_aside() -> None:
    fit, aside = admit(plan(Source(TIME)), table(time=[3, None, 1]))

    assert fit["time"].to_pylist() == [3, 1]
    assert aside["_reason"].to_pylist() == [NO_TIME]


def test_rows_that_do_not_end_after_they_begin_are_set_aside() -> None:
    rows = table(time=[3, 3, 3, 3, None], end=[4, 3, 2, None, 9])

    fit, aside = admit(plan(Source(TIME, end=END)), rows)

    assert fit["end"].to_pylist() == [4, None]
    assert sorted(aside["_reason"].to_pylist()) == sorted([EMPTY, EMPTY, NO_TIME])


def test_an_end_that_is_a_row_of_its_own_is_compared_with_its_begin() -> None:
    rows = table(time=[9, 9], begin=[3, 9], end=[9, 9])

    fit, aside = admit(plan(Source(TIME, end=END, begin=BEGIN)), rows)

    assert fit["begin"].to_pylist() == [3]
    assert aside["_reason"].to_pylist() == [EMPTY]


def test_rows_too_far_ahead_of_their_arrival_are_set_aside() -> None:
    source = Source(TIME, ahead=5)

    fit, aside = admit(plan(source), table(time=[15, 16, 3]), np.array([10, 10, 10]))

    assert fit["time"].to_pylist() == [15, 3]
    assert aside["_reason"].to_pylist() == [AHEAD]
    # Without arrivals, no row is ahead.
    assert admit(plan(source), table(time=[99]))[0].num_rows == 1


def test_a_very_long_span_does_not_wrap_around() -> None:
    source = Source(TIME, ahead=FOREVER - 1)

    assert admit(plan(source), table(time=[99]), np.array([50]))[0].num_rows == 1


def test_a_row_that_is_unfit_for_two_reasons_is_set_aside_once() -> None:
    source = Source(TIME, end=END, ahead=5)

    _, aside = admit(plan(source), table(time=[50], end=[1]), np.array([10]))

    assert aside["_reason"].to_pylist() == [EMPTY]


def test_late_raise_also_refuses_rows_that_are_set_aside() -> None:
    with pytest.raises(LateRowError, match="a row has no time"):
        admit(plan(Source(TIME), "raise"), table(time=[None]))
    admit(plan(Source(TIME), "raise"), table(time=[1]))
