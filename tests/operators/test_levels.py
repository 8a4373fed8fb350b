"""Several waits for rows: each level gives the rows of a sort with that wait alone."""

from dataclasses import replace

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from latecomer.clock.policy import OneClock
from latecomer.hosts.local import LocalHost, MemoryChunks
from latecomer.operators.levels import Levels
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.temporal.rowwise import Keep
from latecomer.plan import Plan, Source, Stage
from latecomer.testing import TIME
from latecomer.testing.notation import as_batch
from latecomer.testing.strategies import Cuts, batchings, cut
from latecomer.time import FOREVER, parse_duration

WAITS = (0, 3_000, 8_000)


def named(times: list[int]) -> list[tuple[int, str]]:
    return [(time, str(i)) for i, time in enumerate(times)]


def run(plan: Plan, batches: list[list[tuple[int, str]]]) -> LocalHost:
    host = LocalHost(plan, as_batch(()).schema)
    steps = [host.step(as_batch(batch, 1_000)) for batch in batches]
    return [*steps, host.finish()]


@given(times=st.lists(st.integers(0, 30), max_size=30), cuts=batchings())
def test_each_level_is_a_sort_of_its_own(times: list[int], cuts: Cuts) -> None:
    batches = cut(named(times), cuts)
    several = run(
        Plan(Source(TIME), OneClock(WAITS), "divert", (Stage((), (Levels(TIME, WAITS),)),)), batches
    )

    for level, wait in enumerate(WAITS):
        alone = run(
            Plan(Source(TIME), OneClock((wait,)), "divert", (Stage((), (Sort(TIME),)),)), batches
        )
        for step, expected in zip(several, alone, strict=True):
            of_level = [
                r["name"]
                for r in step.ready.to_pylist()
                if parse_duration(r["wait"], "wait") == wait
            ]
            assert of_level == expected.ready.column("name").to_pylist()
        if level == len(WAITS) - 1:
            late = [step.late.column("name").to_pylist() for step in several]
            assert late == [step.late.column("name").to_pylist() for step in alone]
    # Every row is counted at the first level that gets it, or is late.
    seen = sum(sum(step.in_time) for step in several)
    assert seen + sum(step.late.num_rows for step in several) == len(times)


def test_a_wait_is_the_text_that_was_given_also_to_operators_behind() -> None:
    levels = Levels(TIME, (0, 60_000_000), texts=("0 s", "60 seconds"))
    keep = Keep(Condition(lambda row: row.wait == "60 seconds"))
    plan = Plan(Source(TIME), OneClock(levels.waits), "divert", (Stage((), (levels, keep)),))

    (*_, last) = run(plan, [named([3, 1])])

    assert last.ready["wait"].to_pylist() == ["60 seconds"] * 2
    assert replace(levels, texts=()) == levels


@given(
    times=st.lists(st.integers(0, 30), max_size=20),
    after=st.integers(0, 20),
    marks=st.lists(st.integers(-9, 40), max_size=3).map(sorted),
)
def test_it_goes_on_where_it_was_saved(times: list[int], after: int, marks: list[int]) -> None:
    spec, schema = Levels(TIME, (0, 3, 8)), as_batch(()).schema

    def play(*, restart: bool) -> list[pa.Table]:
        chunks = MemoryChunks()
        running = spec.start(schema, chunks)
        seen = [running.push(as_batch(named(times[:after]))).ready]
        for mark in marks:
            due = running.due()
            emission = running.advance(mark)
            # Rows come out only at a watermark that was due.
            assert due is None or due <= mark or not emission.ready.num_rows
            seen.append(emission.ready)
            if restart:
                running = spec.start(schema, chunks, running.save())
        seen.append(running.push(as_batch(named(times[after:]))).ready)
        seen.append(running.advance(FOREVER).ready)
        assert running.held == 0
        assert chunks.batches == {}
        return seen

    assert play(restart=True) == play(restart=False)


def test_a_row_is_held_and_written_once_for_all_waits() -> None:
    chunks = MemoryChunks()
    running = Levels(TIME, (0, 3, 8)).start(as_batch(()).schema, chunks)
    running.push(as_batch(named([1, 5, 9, 20])))
    # The watermarks are 10, 7 and 2: the first wait has released three rows, the last wait one.
    running.advance(2)
    running.save()

    assert running.held == 3
    assert sorted(row["time"] for rows in chunks.batches.values() for row in rows.to_pylist()) == [
        row["time"] for row in as_batch(named([5, 9, 20])).to_pylist()
    ]
