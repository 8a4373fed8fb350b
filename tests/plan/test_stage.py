from __future__ import annotations

import pyarrow as pa

from latecomer import agg
from latecomer.clock.policy import OneClock
from latecomer.clock.watermark import Clock
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.alter import Alter, Shift
from latecomer.operators.temporal.binary import On
from latecomer.operators.temporal.join import Join
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.operators.window_join.buffer_size_manager import Quality
from latecomer.operators.window_join.equalities import Equalities
from latecomer.operators.window_join.joiner import WindowJoin
from latecomer.operators.window_join.quality_join import Input, QualityJoin
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Gathering, Meeting, Plan, Source, Stage
from latecomer.time import TimeColumn

MS = 1_000
TIME = TimeColumn("time", "us")
ROWS = pa.schema({"time": pa.int64(), "city": pa.string(), "x": pa.int64()})
COUNT = Aggregation(TIME, Windows(10, 10), (0,), (Summary(("city",), (("n", agg.count()),)),))
ON = On(("city",), ("city",))


def plan(*operators: object, wait: int = 0, key: tuple[str, ...] = ()) -> Plan:
    return Plan(Source(TIME), OneClock((wait,)), "divert", (Stage(key, operators),))  # type: ignore[arg-type]


def met(right: Plan) -> Meeting:
    return Meeting(Join(ON), right, ROWS)


RIGHT = plan(Sort(TIME), Lifetimes(TIME), wait=5 * MS)


def test_a_stage_may_run_anywhere_until_an_operator_needs_a_key() -> None:
    assert Stage((), (Sort(TIME), Alter(5))).is_free
    assert not Stage((), (Sort(TIME), COUNT)).is_free
    assert not Stage((), (met(RIGHT),)).is_free


def test_the_output_of_a_stage_is_that_of_its_last_operator() -> None:
    stage = Stage((), (Sort(TIME), COUNT))

    assert stage.output_schema(ROWS).names == ["window", "city", "n"]
    assert Stage(()).output_schema(ROWS) is ROWS


def test_a_checkpoint_identifies_a_stage_by_its_operators() -> None:
    assert Stage((), (Sort(TIME), Alter(5))).labels == [Sort(TIME).label, "Alter(duration=5)"]
    assert RIGHT.stages[0].labels[0] in met(RIGHT).label


def test_the_streams_that_come_in_are_found_also_behind_others() -> None:
    inner = plan(Sort(TIME), met(RIGHT))
    outer = Stage((), (Sort(TIME), met(inner)))

    assert outer.rights == (inner,)
    assert plan(*outer.operators).inputs[1:] == (inner, RIGHT)
    assert outer.branches == (outer, inner.stages[0], RIGHT.stages[0])
    # Two operators here, two in the stream that joins, and two in the one that joins that.
    assert outer.width == 6


def test_a_new_key_is_also_set_on_joined_streams() -> None:
    stage = Stage(("a",), (met(RIGHT),)).with_key(("city",))

    assert stage.key == ("city",)
    assert stage.rights[0].stages[-1].key == ("city",)


def test_where_streams_meet_the_result_is_complete_as_far_as_both_are() -> None:
    meeting = met(RIGHT)
    clock = Clock.at(100 * MS, 0)

    # The second stream waits for 5, and is complete up to 95.
    assert meeting.complete(99 * MS, clock) == 95 * MS
    assert meeting.complete(90 * MS, clock) == 90 * MS
    assert meeting.led(0) == -5 * MS
    assert meeting.led(-9 * MS) == -9 * MS


def test_a_stream_that_was_moved_ahead_leads() -> None:
    ahead = plan(Sort(TIME), Lifetimes(TIME), Shift(3 * MS), wait=5 * MS)

    assert met(ahead).complete(99 * MS, Clock.at(100 * MS, 0)) == 98 * MS
    assert met(ahead).led(0) == -2 * MS


def test_plans_of_streams_that_come_in_can_be_changed() -> None:
    other = plan(Sort(TIME))

    assert met(RIGHT).with_rights(lambda _: other).right is other
    assert met(RIGHT).keyed == ("city",)


def test_a_join_of_disordered_streams_has_a_stage_of_its_own() -> None:
    join = QualityJoin(
        (Input("l", TIME), Input("r", TIME)),
        WindowJoin((5, 5), Equalities.common("city", "city")),
        5,
        Quality(1.0),
    )
    stage = Stage((), join=Gathering(join, (plan(),), (ROWS, ROWS)), as_read=True)

    assert stage.width == 1
    assert stage.labels == [join.label]
    assert stage.output_schema(ROWS).names[:2] == ["time", "l_time"]
    assert len(stage.rights) == 1
