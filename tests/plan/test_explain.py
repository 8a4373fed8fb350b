from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from latecomer import agg
from latecomer.clock.policy import ClockPerKey, OneClock
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.aggregate import SnapshotAggregate
from latecomer.operators.temporal.binary import On
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.temporal.join import Join
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.operators.window_join.buffer_size_manager import Quality
from latecomer.operators.window_join.equalities import Equalities
from latecomer.operators.window_join.joiner import WindowJoin
from latecomer.operators.window_join.quality_join import Input, QualityJoin
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Gathering, Plan, Source, Stage
from latecomer.plan.explain import explained
from latecomer.plan.placement import meet, then
from latecomer.time import TimeColumn

SECOND = 1_000_000
TIME = TimeColumn("time", "us")
ROWS = pa.schema({"time": pa.int64(), "key": pa.string(), "x": pa.int64()})
COUNT = Summary(("key",), (("n", agg.count()),))


def plan(*operators: object, key: tuple[str, ...] = ()) -> Plan:
    return Plan(Source(TIME), OneClock((5 * SECOND,)), "divert", (Stage(key, operators),))  # type: ignore[arg-type]


def test_a_plan_describes_its_clock_and_its_late_rows() -> None:
    lines = explained(plan(Sort(TIME)), ROWS).split("\n")

    assert lines[0] == 'stream 0, by "time": wait 5 seconds'
    assert lines[2] == "  late rows: they go to the late output"
    assert lines[3] == "  stage 1, in one bucket: there is no key"
    assert lines[4].startswith("    sort")


@pytest.mark.parametrize(
    ("late", "words"),
    [
        ("drop", "they are counted and dropped"),
        ("adjust", "their time is moved up to the watermark"),
        ("raise", "the query fails"),
    ],
)
def test_each_late_policy_is_described(late: str, words: str) -> None:
    asked = replace(plan(Sort(TIME)), late=late)  # type: ignore[arg-type]

    assert f"late rows: {words}" in explained(asked, ROWS)


def test_the_place_of_aggregation_and_the_held_rows_are_described() -> None:
    asked = plan(Aggregation(TIME, Windows(10, 10), (0,), (COUNT,)), key=("key",))
    late = replace(asked, late="adjust")

    text = explained(asked, ROWS)

    assert "stage 1, by key (rows meet here first)" in text
    assert "rows are aggregated where they are read; only states are shuffled" in text
    assert "nothing is sorted; one state for each pane and key is held" in text
    assert "where they are read" not in explained(late, ROWS)


def test_a_second_stage_explains_why_rows_are_shuffled_again() -> None:
    first = then(plan(Sort(TIME), Lifetimes(TIME)), SnapshotAggregate(Summary(("key", "x"), ())))

    text = explained(then(first, SnapshotAggregate(COUNT)), ROWS)

    assert "stage 1, by key, x (rows meet here first)" in text
    assert "stage 2, by key (rows are shuffled again, because the key changes)" in text


def test_a_joined_stream_is_shown_below_its_operator() -> None:
    left, right = plan(Sort(TIME), Lifetimes(TIME)), plan(Sort(TIME), Lifetimes(TIME))
    others = pa.schema({"time": pa.int64(), "key": pa.string(), "y": pa.int64()})

    lines = explained(meet(left, Join(On(("key",), ("key",))), right, others), ROWS).split("\n")

    at = next(i for i, line in enumerate(lines) if "inner join" in line)
    assert "rows of both are held" in lines[at]
    assert lines[at + 1] == '      stream 1, by "time": wait 5 seconds'


def test_a_stream_in_all_buckets_is_described_so() -> None:
    left, right = plan(Sort(TIME), Lifetimes(TIME)), plan(Sort(TIME), Lifetimes(TIME))
    others = pa.schema({"time": pa.int64(), "y": pa.int64()})

    text = explained(meet(left, Join(On(), broadcast=True), right, others), ROWS)

    assert "in all buckets: every bucket gets a copy of all rows" in text


def test_a_clock_for_each_key_is_described() -> None:
    asked = replace(plan(Sort(TIME)), clock=ClockPerKey((0,), None, ("key",)))

    assert 'by "time": wait 0 seconds, with a clock for each key' in explained(asked, ROWS)


def gathered(wait: object, *, everywhere: bool = False, arrival: bool = False) -> str:
    came = TimeColumn("came", "us") if arrival else None
    join = QualityJoin(
        (Input("views", TIME, came), Input("clicks", TIME, came)),
        WindowJoin((5 * SECOND, 60 * SECOND), Equalities.common("key", "key")),
        wait,  # type: ignore[arg-type]
        Quality(0.95),
    )
    right = Plan(Source(TIME), OneClock(), "divert", (Stage(("key",), everywhere=everywhere),))
    stage = Stage(("key",), join=Gathering(join, (right,), (ROWS, ROWS)))
    return explained(replace(plan(), stages=(stage,)), ROWS)


def test_the_wait_of_a_window_join_and_its_reason_are_described() -> None:
    head = "window join within views 5 seconds, clicks 1 minute: "

    assert f"{head}wait 3 seconds" in gathered(3 * SECOND)
    assert f"{head}wait as long as the longest delay so far" in gathered("max")
    assert f"{head}wait as long as a recall of 0.95 takes, chosen every 1 second" in gathered(
        "recall"
    )


def test_the_order_and_place_of_a_window_join_are_described() -> None:
    plain, spread = gathered(0), gathered(0, everywhere=True, arrival=True)

    assert 'stream 1, clicks, by "time"' in plain
    assert "in the order in which Spark reads them; nothing is sorted" in plain
    assert "stage 1, by the common key" in plain
    assert "in order of arrival" in spread
    assert "views is spread over the buckets, every bucket has all other rows" in spread


def is_near(view: object, click: object) -> bool:
    return view == click


def test_a_condition_is_named() -> None:
    join = QualityJoin(
        (Input("l", TIME), Input("r", TIME)),
        WindowJoin((1, 1), Equalities(2), Condition(is_near)),
        0,
        Quality(1.0),
    )
    stage = Stage((), join=Gathering(join, (plan(),), (ROWS, ROWS)))

    assert explained(replace(plan(), stages=(stage,)), ROWS).endswith("where is_near")
