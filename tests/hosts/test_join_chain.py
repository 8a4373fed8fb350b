"""Joins of disordered streams as a host drives them, against all combinations of rows."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from latecomer.batch import encode
from latecomer.clock.policy import OneClock
from latecomer.clock.watermark import TICK, Clock
from latecomer.errors import StateFormatError
from latecomer.hosts.local import LocalHost, MemoryChunks
from latecomer.hosts.output import Output
from latecomer.hosts.spark.batch_bucket import in_batch
from latecomer.hosts.spark.bucket_labels import labels
from latecomer.hosts.spark.flush import CHUNK, HELD
from latecomer.hosts.stage import RunningStage
from latecomer.operators.window_join.buffer_size_manager import Quality
from latecomer.operators.window_join.delay_history import MOST_STEPS
from latecomer.operators.window_join.equalities import Equalities
from latecomer.operators.window_join.joiner import WindowJoin
from latecomer.operators.window_join.quality_join import Input, QualityJoin
from latecomer.plan import Gathering, Plan, Source, Stage
from latecomer.time import FOREVER, NEVER, TimeColumn
from tests.support import brute

MS = TICK
"""The clock ticks in milliseconds, and so do these streams."""
TIME = TimeColumn("time", "us")
SCHEMA = pa.schema({"time": pa.int64(), "key": pa.int64(), "id": pa.int64()})
WINDOWS = (3, 2, 4)
QUALITY = Quality(0.8, 8 * MS, 2 * MS, MS, MS)

Step = list[brute.Tuple]
Wait = int | str


def plan(wait: Wait, on: Equalities | None = None, *, arrival: bool = True) -> Plan:
    on = on or Equalities.common("key", "key", "key")
    came = TimeColumn("id", "us") if arrival else None
    inputs = tuple(Input(name, TIME, came) for name in "abc")
    windows = tuple(window * MS for window in WINDOWS)
    wait = wait * MS if isinstance(wait, int) else wait
    join = QualityJoin(inputs, WindowJoin(windows, on), wait, QUALITY)  # type: ignore[arg-type]
    key = ("key",) if on.key else ()
    sources = [Source(TIME, key, came, rows=SCHEMA, number=number) for number in range(3)]
    rights = tuple(
        Plan(source, OneClock((0,)), "divert", (Stage(key, as_read=True),))
        for source in sources[1:]
    )
    gathering = Gathering(join, rights, (SCHEMA,) * 3)
    return Plan(sources[0], OneClock((0,)), "divert", (Stage(key, join=gathering, as_read=True),))


def started(asked: Plan, chunks: MemoryChunks, saved: bytes | None = None) -> RunningStage:
    return RunningStage(asked, 0, None, lambda _: chunks, saved)


def batches(step: Step, first: int) -> list[pa.Table]:
    """Return tables of tuples; the id of a row is its position among all arrivals."""
    rows: list[list[tuple[int, int, int]]] = [[], [], []]
    for at, (stream, time, value) in enumerate(step):
        rows[stream].append((time * MS, value, first + at))
    return [pa.table([[row[i] for row in some] for i in range(3)], schema=SCHEMA) for some in rows]


def played(asked: Plan, steps: Sequence[Step], buckets: int = 1) -> list[list[Output]]:
    """Run steps through buckets, each stopped and started again after every step."""
    chunks = [MemoryChunks() for _ in range(buckets)]
    saved: list[bytes | None] = [None] * buckets
    newest = [NEVER] * 3
    found, first = [], 0
    for step in [*steps, None]:
        clock = Clock.at(min(newest), 0) if step is not None else Clock(min(newest), FOREVER)
        tables = batches(step or [], first)
        first += len(step or [])
        outputs: list[Output] = []
        for bucket in range(buckets):
            stage = started(asked, chunks[bucket], saved[bucket])
            inputs = [[_of_bucket(table, bucket, buckets)] for table in tables]
            outputs += stage.step(clock, inputs)
            saved[bucket] = stage.save()
        found.append(outputs)
        for stream, table in enumerate(tables):
            newest[stream] = max([newest[stream], *table["time"].to_pylist()])
    return found


def _of_bucket(rows: pa.Table, bucket: int, buckets: int) -> pa.Table:
    return rows.filter(pa.array(rows["key"].to_numpy() % buckets == bucket))


def results(outputs: Sequence[list[Output]]) -> Iterator[brute.Result]:
    for output in (each for some in outputs for each in some):
        if output.name == "ready" and output.batch is not None:
            for row in output.batch.to_pylist():
                yield row["time"] // MS, (row["a_id"], row["b_id"], row["c_id"])


def late(outputs: Sequence[list[Output]]) -> list[dict[str, Any]]:
    return [
        row
        for some in outputs
        for output in some
        if output.name.startswith("late") and output.batch is not None
        for row in output.batch.to_pylist()
    ]


def alike(values: tuple[int, ...]) -> bool:
    return len(set(values)) == 1


def reports(outputs: Sequence[list[Output]]) -> list[dict[str, Any]]:
    return [
        row
        for some in outputs
        for output in some
        if output.name == "recall" and output.batch is not None
        for row in output.batch.to_pylist()
    ]


tuples = st.tuples(st.integers(0, 2), st.integers(-8, 12), st.integers(0, 2))
many_steps = st.lists(st.lists(tuples, max_size=8), max_size=5)
waits = st.one_of(st.integers(0, 9), st.sampled_from(["max", "recall"]))


@given(steps=many_steps, buckets=st.integers(1, 3), arrival=st.sampled_from(["told", "not told"]))
def test_a_wait_for_all_rows_finds_all_results_in_any_number_of_buckets(
    steps: list[Step], buckets: int, arrival: str
) -> None:
    outputs = played(plan(30, arrival=arrival == "told"), steps, buckets)

    every = brute.every_result([each for step in steps for each in step], WINDOWS, alike)
    assert sorted(results(outputs)) == every
    assert late(outputs) == []


@given(steps=many_steps, wait=waits, buckets=st.integers(1, 2))
def test_a_shorter_wait_finds_some_results_once_and_loses_no_row(
    steps: list[Step], wait: Wait, buckets: int
) -> None:
    outputs = played(plan(wait), steps, buckets)

    found = list(results(outputs))
    arrived = [each for step in steps for each in step]
    assert set(found) <= set(brute.every_result(arrived, WINDOWS, alike))
    assert len(set(found)) == len(found)
    rows = [row["id"] for row in late(outputs)]
    assert len(set(rows)) == len(rows)
    # A late row is in no result.
    assert not set(rows) & {row for _, joined in found for row in joined}
    if buckets == 1:
        assert [time for time, _ in found] == sorted(time for time, _ in found)


@given(steps=many_steps, wait=waits)
@example(steps=[[(0, -1, 0)], [(0, 0, 0)]], wait=0)
def test_a_join_may_be_restarted_after_every_step(steps: list[Step], wait: Wait) -> None:
    host = LocalHost(plan(wait), SCHEMA, SCHEMA, SCHEMA)
    first, through = 0, []
    for step in steps:
        through.append(host.step(*batches(step, first)))
        first += len(step)
    through.append(host.finish())

    outputs = played(plan(wait), steps)

    rows = [row for step in through for row in step.ready.to_pylist()]
    assert [(row["time"] // MS, (row["a_id"], row["b_id"], row["c_id"])) for row in rows] == list(
        results(outputs)
    )
    lates = [row for step in through for part in step.lates for row in part.to_pylist()]
    assert sorted(map(str, lates)) == sorted(map(str, late(outputs)))
    told = [row for step in through for row in step.recall.to_pylist()]
    assert told == reports(outputs)


@given(steps=many_steps, wait=waits, on=st.sampled_from(["key", "pairs", "nothing"]))
def test_produced_and_missed_results_add_up_to_all_results(
    steps: list[Step], wait: Wait, on: str
) -> None:
    common = Equalities.common("key", "key", "key")
    asked = {"key": common, "pairs": Equalities(3, common.pairs), "nothing": Equalities(3)}[on]

    outputs = played(plan(wait, asked), steps)

    told = reports(outputs)
    assert sum(row["produced"] for row in told) == len(list(results(outputs)))
    assert all(row["missed"] >= 0 for row in told)
    arrived = [each for step in steps for each in step]
    holds = (lambda _: True) if on == "nothing" else alike
    every = brute.every_result(arrived, WINDOWS, holds)
    known = sum(row["produced"] + row["missed"] for row in told)
    # Only results with a late row may be uncounted.
    lost = {row["id"] for row in late(outputs)}
    assert len([rows for _, rows in every if not lost & set(rows)]) <= known <= len(every)


@given(steps=many_steps, wait=waits)
def test_reports_say_what_the_model_expects_and_what_is_not_counted_yet(
    steps: list[Step], wait: Wait
) -> None:
    outputs = played(plan(wait), steps)

    assert all(0 <= row["extrapolated"] <= 1 for row in reports(outputs))
    for some in map(reports, [[each] for each in outputs]):
        # One row in a micro-batch has the count, because counts of buckets are added up.
        is_told = [row["held"] is not None for row in some]
        assert is_told == [False] * (len(some) - 1) + [True] * bool(some)
    assert all(row["held"] == 0 for row in reports(outputs[-1:]))


def test_results_of_a_row_that_is_later_than_any_before_are_missed() -> None:
    steps = [[(0, 5, 1), (1, 5, 1), (2, 5, 1)], [(0, 8, 1), (1, 8, 1), (2, 8, 1)], [(1, 6, 1)]]

    told = reports(played(plan(0), steps))

    every = brute.every_result([each for step in steps for each in step], WINDOWS, alike)
    assert sum(row["produced"] + row["missed"] for row in told) == len(every)


def test_a_row_whose_window_has_passed_is_late_and_says_by_how_much() -> None:
    steps = [[(0, 20, 1), (1, 20, 1), (2, 20, 1)], [(0, 21, 1), (1, 21, 1), (2, 21, 1)]]
    outputs = played(plan(0), [*steps, [(0, 18, 1), (1, 18, 1), (2, 16, 1)]])

    rows = {row["id"]: row for row in late(outputs)}
    # The windows reach back to 18, 19 and 17.
    assert rows.keys() == {7, 8}
    assert [rows[i]["_behind"] for i in (7, 8)] == [1, 1]
    assert [rows[i]["_delay"] for i in (7, 8)] == [3, 5]


def test_a_silent_bucket_gets_the_clocks_of_all_streams() -> None:
    # Keys 0 and 1 are in two buckets. After the first step no row has key 0.
    steps = [
        [(0, 5, 0), (1, 5, 0), (2, 5, 0)],
        [(0, 9, 1), (1, 9, 1), (2, 9, 1)],
        [(0, 10, 1), (1, 10, 1), (2, 10, 1)],
    ]

    outputs = played(plan(2), steps, buckets=2)

    assert list(results(outputs[2:3])) == [(5, (0, 1, 2))]


def test_a_bucket_learns_of_delays_that_only_all_buckets_together_show() -> None:
    # All rows of key 0 come in order, but 4 ms behind those of key 1, in another bucket.
    steps = [
        [(stream, at - 4 * (key == 0), key) for key in (0, 1) for stream in range(3)]
        for at in range(10, 30, 2)
    ]

    outputs = played(plan("max"), steps, buckets=2)

    assert max(row["wait"] for row in reports(outputs)) >= 2


def test_state_stays_bounded() -> None:
    asked = plan("recall")
    stage = started(asked, MemoryChunks())
    sizes = []
    for number in range(60):
        step = [(stream, 3 * number + i, i) for i in range(3) for stream in range(3)]
        newest = 3 * number - 1 if number else NEVER
        list(stage.step(Clock.at(newest * MS, 0), [[t] for t in batches(step, 9 * number)]))
        sizes.append(stage.held)
    assert max(sizes[30:]) <= max(sizes[:30])


def test_one_row_that_is_very_late_does_not_make_all_others_wait() -> None:
    asked = plan("recall")
    stage = started(asked, MemoryChunks())
    year = 365 * 86_400_000
    first = [(stream, year, 0) for stream in range(3)]
    list(stage.step(Clock(NEVER, NEVER), [[t] for t in batches([*first, (0, 0, 0)], 0)]))
    most, sizes = MOST_STEPS + MOST_STEPS // 8, []
    for number in range(20):
        step = [(stream, year + (number + 1) * most // 16, 0) for stream in range(3)]
        list(stage.step(Clock(NEVER, NEVER), [[t] for t in batches(step, 4 + 3 * number)]))
        sizes.append(stage.held)

    # The distance between rows is a 16th of the longest delay that is remembered.
    assert sizes[-1] <= 3 * 18


def test_a_late_row_that_is_in_all_buckets_comes_out_once_also_at_the_end() -> None:
    asked = plan("max", Equalities(3))
    gathering = asked.stages[0].join
    assert gathering is not None
    rights = tuple(
        replace(right, stages=(replace(right.stages[0], everywhere=True),))
        for right in gathering.rights
    )
    gathering = replace(gathering, rights=rights)
    stage = replace(asked.stages[0], join=gathering)
    asked = replace(asked, stages=(stage,))
    # When the row of 14 comes, the wait is 10, but the join has already reached 20.
    step = [(i, 20, 1) for i in range(3)] + [(1, 10, 1)] + [(i, 22, 1) for i in range(3)]
    chunks, outputs = MemoryChunks(), []
    bucket = started(asked, chunks)
    list(bucket.step(Clock(NEVER, NEVER), [[t] for t in batches([*step, (1, 14, 1)], 0)]))
    saved = bucket.save()
    for label in labels(2).tolist():
        own = {"bucket": label, "branch": 0}
        held = [{"kind": HELD, "part": 0, "rows": 2, "blob": saved, **own}]
        for number, rows in chunks.batches.items():
            held.append(
                {"kind": CHUNK, "part": number, "rows": 0, "blob": encode(rows, "lz4"), **own}
            )
        rest = in_batch(asked, 0, 2)(iter([pa.RecordBatch.from_pylist(held)]))
        names = [name for batch in rest for name in batch["output"].to_pylist()]
        outputs += [name for name in names if name.startswith("late")]

    assert outputs == ["late_1"]


def test_another_query_does_not_go_on_with_its_state() -> None:
    asked = plan(3)
    gathering = asked.stages[0].join
    assert gathering is not None
    chunks = MemoryChunks()
    stage = started(asked, chunks)
    list(stage.step(Clock(NEVER, NEVER), [[t] for t in batches([(0, 1, 1)], 0)]))
    saved = stage.save()

    longer = replace(gathering, operator=replace(gathering.operator, wait=9))
    changed = replace(asked, stages=(replace(asked.stages[0], join=longer),))
    with pytest.raises(StateFormatError, match="a changed query needs a new checkpoint"):
        started(changed, chunks, saved)

    other = pa.schema([*SCHEMA, pa.field("more", pa.int64())])
    wider = replace(gathering, rows=(SCHEMA, other, SCHEMA))
    with pytest.raises(StateFormatError, match="more"):
        started(replace(asked, stages=(replace(asked.stages[0], join=wider),)), chunks, saved)


def test_times_far_apart_are_no_more_than_far_apart() -> None:
    far = 2**62 // MS
    steps = [[(0, -far, 1), (1, -far, 1), (2, -far, 1)], [(0, far, 1), (1, far, 1), (2, far, 1)]]

    outputs = played(plan("recall"), steps)

    assert list(results(outputs)) == [(-far, (0, 1, 2)), (far, (3, 4, 5))]


def test_an_empty_stream_and_one_row() -> None:
    assert list(results(played(plan("recall"), [[], []]))) == []
    assert list(results(played(plan("max"), [[(0, 5, 1)]]))) == []


def test_without_arrivals_streams_come_side_by_side() -> None:
    from latecomer.operators.window_join.arrival_order import arrivals_of

    rows = [pa.table({"time": [1, 2, 3, 4]}), pa.table({"time": [5, 6]})]
    numbers = [np.arange(4), np.arange(2)]

    came = arrivals_of(rows, [TIME, TIME], [None, None], numbers)

    assert came.times.tolist() == [1, 5, 2, 3, 6, 4]


def test_where_one_stream_has_arrivals_its_own_rows_are_in_their_order() -> None:
    from latecomer.operators.window_join.arrival_order import arrivals_of

    rows = [pa.table({"time": [1, 2], "came": [9, 8]}), pa.table({"time": [5, 6]})]
    numbers = [np.arange(2), np.arange(2)]

    came = arrivals_of(rows, [TIME, TIME], [TimeColumn("came", "us"), None], numbers)

    assert came.times.tolist() == [2, 5, 1, 6]


def test_all_rows_at_once_are_all_results_and_nothing_is_missed() -> None:
    asked = plan("recall")
    gathering = asked.stages[0].join
    assert gathering is not None
    whole = replace(gathering, operator=replace(gathering.operator, is_whole=True))
    asked = replace(asked, stages=(replace(asked.stages[0], join=whole),))
    step = [(0, 9, 1), (1, 2, 1), (2, 9, 1), (1, 9, 1), (0, 2, 1), (2, 2, 1)]
    stage = started(asked, MemoryChunks())

    outputs = [
        list(stage.step(Clock(NEVER, NEVER), [[table] for table in batches(step, 0)])),
        list(stage.step(Clock(NEVER, FOREVER), [[], [], []])),
    ]

    assert [time for time, _ in results(outputs)] == [2, 9]
    assert [(row["produced"], row["missed"], row["wait"]) for row in reports(outputs)] == [
        (2, 0, None)
    ]
