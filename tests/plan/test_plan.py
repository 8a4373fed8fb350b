from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from latecomer import agg
from latecomer.clock.policy import ClockByRecall, ClockPerKey, ClockPolicy, OneClock
from latecomer.clock.watermark import Clock
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.alter import Shift
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.operators.temporal.union import Union
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from latecomer.plan.placement import meet
from latecomer.time import FOREVER, TimeColumn

MS = 1_000
TIME = TimeColumn("time", "us")
ROWS = pa.schema({"time": pa.int64(), "key": pa.string(), "x": pa.int64()})


def counting(aggregate: object = None) -> Aggregation:
    summary = Summary(("key",), (("n", aggregate or agg.count()),))  # type: ignore[arg-type]
    return Aggregation(TIME, Windows(10, 10), (0,), (summary,))


def plan(*operators: object, clock: ClockPolicy | None = None) -> Plan:
    return Plan(Source(TIME), clock or OneClock((0,)), "divert", (Stage((), operators),))  # type: ignore[arg-type]


def test_rows_are_aggregated_before_the_shuffle_where_a_clock_is_shared() -> None:
    asked = plan(counting())

    assert asked.early == counting()
    assert replace(asked, late="drop").early is not None
    assert plan(Sort(TIME)).early is None
    assert plan().early is None


@pytest.mark.parametrize(
    "clock", [ClockPerKey((0,), None, ("key",)), ClockByRecall(recalls=(0.9,))]
)
def test_rows_that_move_a_clock_of_their_own_reach_the_bucket_as_rows(clock: ClockPolicy) -> None:
    assert plan(counting(), clock=clock).early is None


def test_rows_that_are_moved_must_still_be_rows() -> None:
    assert replace(plan(counting()), late="adjust").early is None


def test_with_an_arrival_column_only_buckets_know_the_order() -> None:
    arrived = Source(TIME, arrival=TimeColumn("came"))
    minding = plan(counting(agg.first("x")))

    assert minding.early is not None
    assert replace(minding, source=arrived).early is None
    assert replace(plan(counting()), source=arrived).early is not None


@pytest.mark.parametrize(
    ("late", "needs", "moves"),
    [
        ("divert", True, False),
        ("drop", False, False),
        ("adjust", True, True),
        ("raise", True, False),
    ],
)
def test_a_late_row_is_needed_unless_it_is_only_counted(
    late: str,
    needs: bool,  # noqa: FBT001
    moves: bool,  # noqa: FBT001
) -> None:
    asked = replace(plan(), late=late)  # type: ignore[arg-type]

    assert (asked.needs_late_rows, asked.moves_late_rows) == (needs, moves)


def test_unread_late_rows_are_not_needed_if_rows_are_aggregated_early() -> None:
    counts, rows = plan(counting()), plan()

    assert counts.needs_late_rows
    assert not counts.with_ready_only.needs_late_rows
    assert replace(counts, late="raise").with_ready_only.needs_late_rows
    assert rows.with_ready_only is rows


def test_the_clock_advances_after_the_shortest_silence_of_all_streams() -> None:
    def silent(idle: int | None) -> Plan:
        return plan(Sort(TIME), Lifetimes(TIME), clock=OneClock((0,), idle))

    assert meet(silent(9), Union(), silent(5), ROWS).idle == 5
    assert meet(silent(None), Union(), silent(5), ROWS).idle == 5
    assert silent(None).idle is None


def test_rows_are_complete_as_far_as_the_operators_before_a_stage_pass() -> None:
    asked = plan(Sort(TIME), Lifetimes(TIME), Shift(-7 * MS), clock=OneClock((5 * MS,)))
    asked = replace(asked, stages=(*asked.stages, Stage(("key",))))
    clock = Clock.at(100 * MS, 0)

    assert asked.complete(clock, 0) == 95 * MS
    assert asked.complete(clock, 1) == 88 * MS
    assert (asked.lead(0), asked.lead(1)) == (-5 * MS, -12 * MS)
    assert asked.complete(Clock(100 * MS, FOREVER), 1) == FOREVER


def test_each_stage_gets_the_output_of_the_one_before() -> None:
    asked = plan(counting())
    asked = replace(asked, stages=(*asked.stages, Stage(("key",))))

    assert asked.schema_at(0, ROWS) is ROWS
    assert asked.schema_at(1, ROWS).names == ["window", "key", "n"]
    assert asked.output_schema(ROWS).names == ["window", "key", "n"]


def test_with_several_recalls_rows_name_their_recall() -> None:
    one, two = (plan(Sort(TIME), clock=ClockByRecall(recalls=of)) for of in ((0.9,), (0.9, 0.99)))

    assert one.output_schema(ROWS) == ROWS
    assert two.output_schema(ROWS).names == [*ROWS.names, "recall", "wait", "is_final"]
    assert (one.targets, plan().targets) == ((0.9,), ())


def test_the_first_operator_decides_what_is_late() -> None:
    assert plan(Sort(TIME), Lifetimes(TIME)).first == Sort(TIME)
    assert plan().first is None


def test_the_last_stage_can_be_exchanged() -> None:
    asked = replace(plan(Sort(TIME)), stages=(Stage(("a",)), Stage(("b",))))

    assert [stage.key for stage in asked.with_last(Stage(("c",))).stages] == [("a",), ("c",)]
