from __future__ import annotations

import pyarrow as pa
import pytest

from latecomer import agg
from latecomer.clock.policy import ClockByRecall, ClockPerKey, ClockPolicy, OneClock
from latecomer.errors import OptionError
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.optimistic.enter import Enter
from latecomer.operators.optimistic.flat_map import FlatMap
from latecomer.operators.optimistic.grouping import Grouping
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.aggregate import SnapshotAggregate
from latecomer.operators.temporal.alter import Alter
from latecomer.operators.temporal.binary import On
from latecomer.operators.temporal.join import Join
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.operators.temporal.union import Union
from latecomer.plan import Plan, Source, Stage
from latecomer.plan.placement import meet, then, then_optimistic
from latecomer.time import TimeColumn

TIME = TimeColumn("time", "us")
ROWS = pa.schema({"time": pa.int64(), "a": pa.string(), "b": pa.string()})
RIGHT_ROWS = pa.schema({"time": pa.int64(), "c": pa.string(), "y": pa.int64()})


def begun(clock: ClockPolicy | None = None, key: tuple[str, ...] = ()) -> Plan:
    stage = Stage(key, (Sort(TIME), Lifetimes(TIME)))
    return Plan(Source(TIME), clock or OneClock((0,)), "divert", (stage,))


def by(*key: str) -> SnapshotAggregate:
    return SnapshotAggregate(Summary(key, (("n", agg.count()),)))


def keys(plan: Plan) -> list[tuple[str, ...]]:
    return [stage.key for stage in plan.stages]


def test_the_first_operator_that_needs_a_key_chooses_that_of_the_stage() -> None:
    plan = then(then(begun(), Alter(5)), by("a", "b"))

    assert keys(plan) == [("a", "b")]
    assert len(plan.stages[0].operators) == 4


def test_rows_travel_again_where_a_coarser_key_is_needed() -> None:
    plan = then(then(begun(), by("a", "b")), by("a"))

    assert keys(plan) == [("a", "b"), ("a",)]


def test_rows_of_a_finer_key_are_together_already() -> None:
    plan = then(then(begun(), by("a")), by("a", "b"))

    assert keys(plan) == [("a",)]


def test_without_a_key_all_rows_are_in_one_bucket() -> None:
    assert keys(then(then(begun(), by("a")), by())) == [("a",), ()]
    assert keys(then(then(begun(), by()), by("a"))) == [(), ("a",)]


def test_an_operator_that_needs_no_key_stays_where_rows_are() -> None:
    plan = then(then(begun(), by("a")), Alter(5))

    assert keys(plan) == [("a",)]


def test_with_a_clock_for_each_key_rows_stay_and_the_key_must_contain_it() -> None:
    clocked = begun(ClockPerKey((0,), None, ("a",)), ("a",))

    assert keys(then(then(clocked, by("a", "b")), by("a"))) == [("a",)]
    with pytest.raises(OptionError, match='each "a" has a clock of its own'):
        then(clocked, by("b"))


def test_with_a_recall_rows_do_not_travel_a_second_time() -> None:
    plan = then(begun(ClockByRecall(recalls=(0.9,))), by("a"))

    assert keys(plan) == [("a",)]
    with pytest.raises(OptionError, match="needs another shuffle"):
        then(plan, by("b"))


def test_where_streams_meet_the_second_comes_to_the_key_of_the_first() -> None:
    plan = meet(begun(), Join(On(("a",), ("c",))), begun(), RIGHT_ROWS)

    assert keys(plan) == [("a",)]
    (right,) = plan.stages[0].rights
    assert keys(right) == [("c",)]
    assert right.source.number == 1


def test_a_second_stream_that_lies_by_another_key_travels() -> None:
    right = then(begun(), by("y"))

    plan = meet(begun(), Join(On(("a",), ("c",))), right, RIGHT_ROWS)

    assert keys(plan.stages[0].rights[0]) == [("y",), ("c",)]


def test_in_a_join_by_two_columns_rows_may_stay_in_buckets_of_one_of_them() -> None:
    left = then(begun(), by("a"))

    plan = meet(left, Join(On(("a", "b"), ("c", "y"))), begun(), RIGHT_ROWS)

    assert keys(plan) == [("a",)]
    assert keys(plan.stages[0].rights[0]) == [("c",)]


def test_a_stream_that_is_everywhere_leaves_the_first_where_it_is() -> None:
    left = then(begun(), by("a"))

    plan = meet(left, Join(On(), broadcast=True), begun(), RIGHT_ROWS)

    assert keys(plan) == [("a",)]
    (right,) = plan.stages[0].rights
    assert right.stages[-1].everywhere


def test_a_column_that_only_the_other_stream_has_is_no_key_of_this_stage() -> None:
    met = meet(begun(), Join(On(), broadcast=True), begun(), RIGHT_ROWS)

    assert keys(then(met, by("a"))) == [("a",)]
    assert keys(then(met, by("y"))) == [(), ("y",)]


def test_streams_are_numbered_in_the_order_in_which_they_come_in() -> None:
    both = meet(begun(), Union(), begun(), ROWS)

    plan = meet(both, Union(), meet(begun(), Union(), begun(), ROWS), ROWS)

    assert [each.source.number for each in plan.inputs] == [0, 1, 2, 3]


@pytest.mark.parametrize("clock", [ClockPerKey((0,), None, ("a",)), ClockByRecall(recalls=(0.9,))])
def test_streams_without_a_common_watermark_do_not_meet(clock: ClockPolicy) -> None:
    with pytest.raises(OptionError, match="cannot be combined"):
        meet(begun(clock), Union(), begun(), ROWS)
    with pytest.raises(OptionError, match="cannot be combined"):
        meet(begun(), Union(), begun(clock), ROWS)


def entered(*key: str) -> Plan:
    stage = Stage(key, (Enter(TIME, key),))
    return Plan(Source(TIME), OneClock((0,)), "divert", (stage,))


def test_optimistic_steps_stay_together_while_the_key_contains_that_of_the_stage() -> None:
    pairs, more = Grouping(TIME, ("a",), 2), Grouping(TIME, ("a", "b"), 2)

    assert keys(then_optimistic(then_optimistic(entered("a"), pairs), more)) == [("a",)]
    assert keys(then_optimistic(entered("a", "b"), pairs)) == [("a", "b"), ("a",)]


def test_behind_a_function_the_columns_of_a_key_may_be_others() -> None:
    made = then_optimistic(entered("a"), FlatMap(TIME, lambda row: row, ROWS))

    assert keys(then_optimistic(made, Grouping(TIME, ("a",), 2))) == [("a",), ("a",)]


def test_without_any_key_steps_are_in_one_stage() -> None:
    assert keys(then_optimistic(entered(), Grouping(TIME, (), 2))) == [()]
