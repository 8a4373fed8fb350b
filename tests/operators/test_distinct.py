"""`distinct`: its boundary rule, the laws, and a slow twin."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.clock.policy import OneClock
from latecomer.clock.watermark import TICK
from latecomer.hosts.local import LocalHost, MemoryChunks
from latecomer.operators.distinct import Deduplicator, Distinct
from latecomer.operators.sort import Sort
from latecomer.plan import Plan, Source, Stage
from latecomer.testing import TIME, play, ready, rows, watermark
from latecomer.testing.notation import Mark, as_batch, as_marks
from latecomer.testing.strategies import Cuts, batchings, cut
from latecomer.time import FOREVER

DISTINCT = Distinct(TIME, ("name",), 10)


def running(chunks: MemoryChunks | None = None, saved: bytes | None = None) -> Deduplicator:
    return DISTINCT.start(as_batch(()).schema, chunks or MemoryChunks(), saved)


def twin(marks: list[tuple[int, str]], within: int = 10) -> list[tuple[int, str]]:
    """Filter the ordered rows one by one."""
    last: dict[str, int] = {}
    through = []
    for time, name in marks:
        if name not in last or time - last[name] >= within:
            last[name] = time
            through.append((time, name))
    return through


def test_the_example_of_the_file() -> None:
    marks = [(0, "a"), (4, "a"), (5, "b"), (10, "a"), (12, "a"), (19, "a"), (20, "a")]

    assert play(DISTINCT, rows(*marks)) == [ready((0, "a"), (5, "b"), (10, "a"), (20, "a"))]
    assert twin(marks) == [(0, "a"), (5, "b"), (10, "a"), (20, "a")]


def test_a_kept_row_removes_rows_of_later_batches() -> None:
    seen = play(DISTINCT, rows((3, "a")), watermark(3), rows((12, "a"), (12, "b"), (13, "a")))

    assert seen == [ready((3, "a")), ready((12, "b"), (13, "a"))]


def test_nothing_in_nothing_out() -> None:
    assert play(DISTINCT, rows(), watermark(5), watermark(FOREVER)) == []


def test_nulls_are_equal_to_each_other() -> None:
    assert play(DISTINCT, rows(1, 2, 11)) == [ready(1, 11)]


def test_nans_are_equal_and_so_are_zeros() -> None:
    nan = float("nan")
    table = pa.table({"time": [1, 2, 3, 4], "x": [nan, 0.0, -0.0, nan]})
    operator = Distinct(TIME, ("x",), 10).start(table.schema, MemoryChunks())

    assert operator.push(table).ready["time"].to_pylist() == [1, 2]


def test_of_rows_of_equal_time_the_first_to_arrive_is_let_through() -> None:
    schema = pa.schema({"time": pa.int64(), "name": pa.string(), "id": pa.int64()})
    plan = Plan(Source(TIME), OneClock((5 * TICK,)), "divert", (Stage((), (Sort(TIME), DISTINCT)),))
    host = LocalHost(plan, schema)
    host.step(pa.table([[7, 7], ["a", "a"], [1, 2]], schema))
    host.step(pa.table([[7], ["a"], [3]], schema))

    assert host.finish().ready["id"].to_pylist() == [1]


def test_values_that_can_no_longer_remove_a_row_are_forgotten() -> None:
    operator = running()
    operator.push(as_batch([(1, "a"), (2, "b"), (3, "c")]))
    assert (operator.held, operator.due()) == (3, 11)

    operator.advance(10)
    assert operator.held == 3
    operator.advance(12)
    assert (operator.held, operator.due()) == (1, 13)
    operator.advance(FOREVER)
    assert (operator.held, operator.due()) == (0, None)


def test_an_unchanged_state_is_not_written_again() -> None:
    chunks = MemoryChunks()
    operator = running(chunks)
    operator.save()
    assert chunks.batches == {}
    operator.push(as_batch([(1, "a")]))
    operator.save()
    before = chunks.batches[0]
    operator.advance(5)
    operator.push(as_batch([(6, "a")]))
    operator.save()

    assert chunks.batches == {0: before}
    assert chunks.batches[0] is before
    operator.advance(FOREVER)
    operator.save()
    assert chunks.batches == {}


class CountingChunks(MemoryChunks):
    """Chunks that count the rows that are written."""

    written = 0

    def put(self, number: int, rows: pa.Table) -> None:
        self.written += rows.num_rows
        super().put(number, rows)


def test_a_value_is_written_a_few_times_however_many_are_held() -> None:
    chunks = CountingChunks()
    operator = running(chunks)
    for number in range(256):
        operator.push(as_batch([(number // 64, f"{number}-{each}") for each in range(4)]))
        operator = running(chunks, operator.save())

    assert operator.held == 1_024
    assert chunks.written <= 10 * 1_024, "more than the logarithm says"
    assert len(chunks.batches) <= 10


@pytest.mark.parametrize("time", [-(2**62), 2**63 - 5])
def test_times_at_the_ends_do_not_overflow(time: int) -> None:
    assert play(DISTINCT, rows((time, "a"), (time + 1, "a")), watermark(time)) == [
        ready((time, "a"))
    ]


arrivals = st.lists(st.tuples(st.integers(-40, 40), st.sampled_from("abc")), max_size=40)


def through_the_sort(batches: list[list[tuple[int, str]]], wait: int) -> list[Mark]:
    spec = replace(DISTINCT, within=10 * TICK)
    plan = Plan(Source(TIME), OneClock((wait * TICK,)), "divert", (Stage((), (Sort(TIME), spec)),))
    host = LocalHost(plan, as_batch(()).schema)
    steps = [*(host.step(as_batch(batch, TICK)) for batch in batches), host.finish()]
    return [mark for step in steps for mark in as_marks(step.ready, TICK)]


@given(marks=arrivals, cuts=batchings())
def test_order_and_batching_leave_no_trace(marks: list[tuple[int, str]], cuts: Cuts) -> None:
    expected = twin(sorted(marks, key=lambda mark: mark[0]))

    assert through_the_sort(cut(marks, cuts), wait=100) == expected


@given(marks=arrivals, cuts=batchings(), stop=st.integers(0, 10), is_often=st.booleans())
def test_a_restart_leaves_no_trace(
    marks: list[tuple[int, str]],
    cuts: Cuts,
    stop: int,
    is_often: bool,  # noqa: FBT001 - drawn
) -> None:
    marks.sort(key=lambda mark: mark[0])
    chunks = MemoryChunks()
    operator = running(chunks)
    through: list[Mark] = []
    for number, batch in enumerate(cut(marks, cuts)):
        if number in (stop, stop + 1) or is_often:
            held, due = operator.held, operator.due()
            operator = running(chunks, operator.save())
            assert (operator.held, operator.due()) == (held, due)
        through += as_marks(operator.push(as_batch(batch)).ready)
        if batch:
            operator.advance(batch[-1][0])
            assert operator.held <= 3

    assert through == twin(marks)
