"""A query that continues with another wait, with more columns, or with another late policy."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latecomer import agg
from latecomer.clock.policy import ClockPerKey, ClockPolicy, OneClock
from latecomer.errors import StateFormatError
from latecomer.hosts.local import MemoryChunks
from latecomer.hosts.stage import RunningStage
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from latecomer.time import NEVER, TimeColumn

if TYPE_CHECKING:
    from latecomer.operators.base import Operator

TIME = TimeColumn("time", "ms")
SCHEMA = pa.schema({"time": pa.int64(), "key": pa.int32(), "id": pa.int64()})
WIDER = SCHEMA.append(pa.field("more", pa.string()))
MILLI = 1_000
SIZE = 5
"""Length of windows, in milliseconds."""


@dataclass(frozen=True)
class Run:
    """Micro-batches of (time, key), run by one query with one wait."""

    wait: int
    batches: list[list[tuple[int, int]]]


RUNS = st.lists(
    st.builds(
        Run,
        st.integers(0, 12),
        st.lists(
            st.lists(st.tuples(st.integers(0, 40), st.integers(0, 2)), max_size=4),
            min_size=1,
            max_size=4,
        ),
    ),
    min_size=1,
    max_size=4,
)


def drive(
    runs: list[Run], clock: type[ClockPolicy], *operators: Operator, is_widened: bool = False
) -> list[tuple[list[dict[str, object]], list[int]]]:
    """Run all, with a restart before each run; return the rows and the late ids of each batch."""
    chunks: dict[int, MemoryChunks] = defaultdict(MemoryChunks)
    saved, floor, waits, newest, number = None, NEVER, [0], NEVER, 0
    out = []
    for at, run in enumerate(runs):
        wait = run.wait * MILLI
        key = {"columns": ("key",)} if clock is ClockPerKey else {}
        policy = clock((wait,), **key).after([*waits], floor if clock is OneClock else NEVER)
        waits.append(wait)
        schema = WIDER if at and is_widened else SCHEMA
        plan = Plan(Source(TIME, rows=schema), policy, "divert", (Stage(("key",), operators),))
        stage = RunningStage(plan, 0, None, chunks.__getitem__, saved)
        for batch in run.batches:
            ids = range(number, number := number + len(batch))
            rows = [
                {"time": t, "key": k, "id": i, "more": "x"}
                for (t, k), i in zip(batch, ids, strict=True)
            ]
            read = policy.read(newest if clock is OneClock else NEVER)
            floor = max(floor, read.watermark)
            outputs = [*stage.step(read, [[pa.Table.from_pylist(rows, schema)]])]
            tables = {
                name: [o.batch.to_pylist() for o in outputs if o.name == name]
                for name in ("ready", "late")
            }
            ready, late = ([*chain(*each)] for each in tables.values())
            out.append((ready, sorted(row["id"] for row in late)))
            newest = max([newest, *(t * MILLI for t, _ in batch)])
        saved = stage.save()
    return out


def watermarks(runs: list[Run], key: int | None = None) -> list[int | None]:
    """Return watermarks by their definition: newest - wait, or the previous one if it is later."""
    found: list[int | None] = []
    newest = mark = None
    for run in runs:
        for batch in run.batches:
            if newest is not None:
                mark = newest - run.wait if mark is None else max(mark, newest - run.wait)
            found.append(mark)
            times = [t for t, k in batch if key in (None, k)]
            newest = max([*times, *([] if newest is None else [newest])], default=None)
            if key is not None and newest is not None:
                # The rows of a key move its clock in the same micro-batch.
                mark = newest - run.wait if mark is None else max(mark, newest - run.wait)
    return found


def brute(runs: list[Run], *, per_key: bool = False) -> list[tuple[list[int], list[int]]]:
    """Return the ready and the late rows of a sort, by brute force."""
    batches = [batch for run in runs for batch in run.batches]
    marks = {key: watermarks(runs, key if per_key else None) for key in range(3)}
    held: list[tuple[int, int, int]] = []
    out, number = [], 0
    for at, batch in enumerate(batches):
        late = []
        ready = sorted(
            row
            for row in held
            if row[0] <= (marks[row[1]][at] if marks[row[1]][at] is not None else -1)
        )
        held = [row for row in held if row not in ready]
        for time, key in batch:
            mark = marks[key][at]
            row = (time, key, number)
            if mark is not None and time < mark:
                late.append(number)
            elif mark is not None and time == mark:
                ready.append(row)
            else:
                held.append(row)
            number += 1
        out.append(([row[2] for row in ready], late))
    return out


@given(runs=RUNS, is_widened=st.booleans())
@settings(max_examples=150, deadline=None)
def test_a_sort_goes_on_with_other_waits_and_its_watermark_never_falls(
    runs: list[Run],
    is_widened: bool,  # noqa: FBT001 - drawn
) -> None:
    found = drive(runs, OneClock, Sort(TIME), is_widened=is_widened)

    expected = brute(runs)
    assert [late for _, late in found] == [late for _, late in expected]
    for (ready, _), (ids, _) in zip(found, expected, strict=True):
        assert sorted(row["id"] for row in ready) == sorted(ids)
        times = [row["time"] for row in ready]
        assert times == sorted(times)
    # Rows of the first run have no such column.
    first = sum(len(batch) for batch in runs[0].batches)
    for row in (row for ready, _ in found for row in ready if "more" in row):
        assert row["more"] == (None if row["id"] < first else "x")


@given(runs=RUNS)
@settings(max_examples=100, deadline=None)
def test_windows_go_on_with_other_waits_and_answer_once(runs: list[Run]) -> None:
    windows = Windows(SIZE * MILLI, SIZE * MILLI)
    summary = Summary(("key",), (("rows", agg.count()),))
    operator = Aggregation(TIME, windows, (0,), (summary,))
    found = drive(runs, OneClock, operator)

    marks, number = watermarks(runs), 0
    counts: dict[tuple[int, int], int] = {}
    expected = []
    for at, batch in enumerate(batch for run in runs for batch in run.batches):
        mark = marks[at]
        due = [each for each in counts if mark is not None and each[0] + SIZE <= mark]
        answers = sorted((*each, counts.pop(each)) for each in due)
        late = []
        for time, key in batch:
            start = time - time % SIZE
            if mark is not None and start + SIZE <= mark:
                late.append(number)
            else:
                counts[start, key] = counts.get((start, key), 0) + 1
            number += 1
        expected.append((answers, late))
    assert [late for _, late in found] == [late for _, late in expected]
    told = [
        sorted((row["window"]["start"], row["key"], row["rows"]) for row in ready)
        for ready, _ in found
    ]
    assert told == [answers for answers, _ in expected]


@given(runs=RUNS)
@settings(max_examples=100, deadline=None)
def test_clocks_of_keys_go_on_with_other_waits(runs: list[Run]) -> None:
    late = [late for _, late in brute(runs, per_key=True)]

    assert [late for _, late in drive(runs, ClockPerKey, Sort(TIME))] == late
    # Two operators are a chain for each key.
    assert [late for _, late in drive(runs, ClockPerKey, Sort(TIME), Sort(TIME))] == late


def test_the_time_before_a_move_is_the_time_of_rows_that_were_held_before_rows_were_moved() -> None:
    chunks: dict[int, MemoryChunks] = defaultdict(MemoryChunks)
    plan = Plan(
        Source(TIME, rows=SCHEMA), OneClock((5 * MILLI,)), "divert", (Stage((), (Sort(TIME),)),)
    )
    stage = RunningStage(plan, 0, None, chunks.__getitem__)
    row = {"time": 7, "key": 0, "id": 0}
    list(stage.step(plan.clock.read(NEVER), [[pa.Table.from_pylist([row], SCHEMA)]]))
    state = stage.save()

    moving = SCHEMA.append(pa.field("_original_time", pa.int64()))
    again = replace(plan, late="adjust", source=replace(plan.source, rows=moving))
    stage = RunningStage(again, 0, None, chunks.__getitem__, state)
    (output,) = stage.step(again.clock.read(20 * MILLI), [[]])
    assert output.batch.to_pylist() == [row | {"_original_time": 7}]

    (output,) = RunningStage(plan, 0, None, chunks.__getitem__, stage.save()).step(
        plan.clock.read(30 * MILLI), [[pa.Table.from_pylist([row | {"time": 25}], SCHEMA)]]
    )
    assert output.batch.to_pylist() == [row | {"time": 25}]


@pytest.mark.parametrize(
    "operators", [(Sort(TIME), Lifetimes(TIME)), (Sort(TIME),)], ids=["lifetimes", "to_df"]
)
def test_more_columns_are_refused_where_they_cannot_be_taken_in(
    operators: tuple[Operator, ...],
) -> None:
    chunks: dict[int, MemoryChunks] = defaultdict(MemoryChunks)
    plan = Plan(Source(TIME), OneClock((5 * MILLI,)), "divert", (Stage((), operators),))
    state = RunningStage(plan, 0, SCHEMA, chunks.__getitem__).save()
    if len(operators) > 1:
        plan = replace(plan, source=replace(plan.source, rows=WIDER))

    with pytest.raises(StateFormatError, match=r'stream now has .*"more" string'):
        RunningStage(plan, 0, WIDER, chunks.__getitem__, state)
