from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from latecomer import agg
from latecomer.clock.policy import OneClock
from latecomer.clock.watermark import Clock
from latecomer.hosts.chain import OperatorChain, arranged
from latecomer.hosts.local import MemoryChunks
from latecomer.hosts.output import DROPPED
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.distinct import Distinct
from latecomer.operators.optimistic.changelog import Changelog
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.operators.temporal.union import Union
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import LatePolicy, Plan, Source, Stage
from latecomer.plan.placement import meet
from latecomer.testing import TIME
from latecomer.testing.notation import as_batch, as_marks
from latecomer.time import FOREVER, NEVER, TimeColumn

SCHEMA = as_batch(()).schema
COUNT = Aggregation(TIME, Windows(10, 10), (0,), (Summary((), (("n", agg.count()),)),))


def plan(*operators: object, late: LatePolicy = "divert", wait: int = 0) -> Plan:
    return Plan(Source(TIME), OneClock((wait,)), late, (Stage((), operators),))  # type: ignore[arg-type]


def chain(asked: Plan, saved: bytes | None = None, chunks: list | None = None) -> OperatorChain:
    width = asked.stages[0].width
    return OperatorChain(asked, 0, SCHEMA, chunks or [MemoryChunks() for _ in range(width)], saved)


def told(running: OperatorChain, watermark: int, *rows: object, wait: int = 0) -> list[tuple]:
    """Run a micro-batch; return the name, the number of rows and the times of each output."""
    clock = Clock(watermark + wait, watermark)
    outputs = running.step(clock, [[as_batch(rows)]] if rows else [[]])  # type: ignore[arg-type]
    return [
        (each.name, each.rows, as_marks(each.batch.select(SCHEMA.names)) if each.batch else None)
        for each in outputs
    ]


def test_in_the_first_stage_the_clock_comes_before_the_rows() -> None:
    running = chain(plan(Sort(TIME)))

    assert told(running, NEVER, 7, 9, 12) == []
    # Rows up to the watermark come out first. Then a row at the watermark is on time, and one
    # before it is late.
    assert told(running, 10, 10, 9) == [
        ("ready", 2, (7, 9)),
        ("late", 1, (9,)),
        ("ready", 1, (10,)),
    ]


def test_operators_after_the_first_get_the_rows_before_the_watermark() -> None:
    running = chain(plan(Sort(TIME), Sort(TIME)))
    told(running, NEVER, 3, 1)

    assert told(running, 3, 3) == [("ready", 3, (1, 3, 3))]


def test_late_rows_that_are_moved_take_part_at_the_watermark() -> None:
    running = chain(plan(Sort(TIME), late="adjust"))
    told(running, NEVER, 7)

    assert told(running, 10, (3, "late")) == [("ready", 1, (7,)), ("ready", 1, ((10, "late"),))]


def test_late_rows_that_are_dropped_are_counted() -> None:
    running = chain(plan(Sort(TIME), late="drop"))

    assert told(running, 10, 3, 4) == [(DROPPED, 2, None)]


def test_rows_in_time_are_counted_for_each_wait() -> None:
    running = chain(plan(COUNT))
    list(running.step(Clock(NEVER, NEVER), [[as_batch((3, 4))]]))

    outputs = list(running.step(Clock(10, 10), [[]]))

    assert [(each.name, each.rows) for each in outputs] == [("ready", 1), ("in_time_0", 2)]


def test_states_are_folded_and_late_ones_counted_only_where_rows_are_not_needed() -> None:
    for late, expected in (("divert", []), ("drop", [(DROPPED, 1)])):
        running = chain(plan(COUNT, late=late))  # type: ignore[arg-type]
        list(running.step(Clock(10, 10), [[]]))

        states = COUNT.partial(as_batch((3,)))
        outputs = list(running.step(Clock(10, 10), [[]], [states]))

        assert [(each.name, each.rows) for each in outputs] == expected


def test_a_chain_sleeps_until_the_clock_has_passed_the_wait() -> None:
    running = chain(plan(Sort(TIME), wait=5))
    assert running.due() is None

    told(running, NEVER, 7, 3)

    assert running.due() == 3 + 5
    assert running.held == 2


def test_a_chain_continues_where_it_was_stopped() -> None:
    asked, chunks = plan(Sort(TIME), Sort(TIME)), [MemoryChunks(), MemoryChunks()]
    running = chain(asked, None, chunks)
    told(running, NEVER, 7, 3)

    again = chain(asked, running.save(), chunks)

    assert told(again, FOREVER) == [("ready", 2, (3, 7))]


def test_a_joined_stream_has_chunks_and_a_clock_of_its_own() -> None:
    left, right = (plan(Sort(TIME), Lifetimes(TIME), wait=wait) for wait in (0, 5))
    asked = meet(left, Union(), right, SCHEMA)
    running = chain(asked)

    assert asked.stages[0].width == 5
    inputs = [[as_batch((10_000,))], [as_batch((9_996, 9_995))]]
    ready = [output.batch for output in running.step(Clock(10_000, 10_000), inputs)]

    # The second stream waits for 5: its row at 9,996 is not complete yet.
    assert sorted(time for batch in ready for time in batch["_lc_at"].to_pylist()) == [
        9_995,
        10_000,
    ]
    assert running.held == 1
    assert running.due() == 9_996 + 5


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (Sort(TIME), [[3], [1, 2]]),
        (Changelog(), [[3, 1, 2]]),
    ],
)
def test_rows_are_passed_on_in_the_form_that_the_first_operator_needs(
    operator: object, expected: list[list[int]]
) -> None:
    batches = arranged(plan(operator), 0, [as_batch((3,)), as_batch((1, 2))], SCHEMA)

    assert [batch["time"].to_pylist() for batch in batches] == expected


def test_an_operator_that_takes_rows_in_order_gets_those_of_several_partitions_merged() -> None:
    asked = plan(Distinct(TIME, ("name",), 5))

    (rows,) = arranged(asked, 0, [as_batch((3, 9)), as_batch((1, 4))], SCHEMA)

    assert rows["time"].to_pylist() == [1, 3, 4, 9]
    # One partition is in order already.
    assert [
        each["time"].to_pylist() for each in arranged(asked, 0, [as_batch((3, 9))], SCHEMA)
    ] == [[3, 9]]


def test_rows_of_equal_time_are_put_in_order_of_arrival_where_that_is_known() -> None:
    schema = pa.schema({"time": pa.int64(), "came": pa.int64()})
    rows = pa.table({"time": [5, 5, 3], "came": [2, 1, 9]}, schema)
    source = Source(TIME, arrival=TimeColumn("came", "us"))
    asked = replace(plan(Sort(TIME)), source=source)

    (first,) = arranged(asked, 0, [rows], schema)

    assert first["came"].to_pylist() == [9, 1, 2]
