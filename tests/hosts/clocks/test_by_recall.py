"""A stage whose wait is chosen for a recall: the laws, and the documented meaning."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer import agg
from latecomer.clock.policy import ClockByRecall, OneClock
from latecomer.clock.watermark import Clock
from latecomer.errors import HeldLimitError, LateRowError, StateFormatError
from latecomer.hosts.local import MemoryChunks
from latecomer.hosts.output import Output
from latecomer.hosts.stage import RunningStage
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.sort import Sort
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import LATE_POLICIES, LatePolicy, Plan, Source, Stage
from latecomer.time import FOREVER
from tests.support.adapting import SCHEMA, SECOND, TIME, Bucket, rows_of

RECALLS = (0.5, 0.9)

Row = tuple[int, str]
"""Time in half seconds, key."""


def windows(size: int, hop: int) -> Aggregation:
    summary = Summary(("key",), (("n", agg.count()), ("ids", agg.sum("id"))))
    return Aggregation(TIME, Windows(size * SECOND, hop * SECOND), (0,), (summary,))


OPERATORS: dict[str, Sort | Aggregation] = {
    "sort": Sort(TIME),
    "tumbling": windows(3, 3),
    "hopping": windows(5, 2),
}
operators = st.sampled_from(list(OPERATORS.values()))
streams = st.lists(
    st.lists(st.tuples(st.integers(0, 60), st.sampled_from("ab")), max_size=12),
    min_size=1,
    max_size=10,
)


def plan(
    operator: Sort | Aggregation,
    *recalls: float,
    late: LatePolicy = "divert",
    key: str = "key",
    within: int | None = None,
) -> Plan:
    policy = ClockByRecall(recalls=recalls, within=within) if recalls else OneClock((0,))
    return Plan(Source(TIME, (key,)), policy, late, (Stage((key,), (operator,)),))


def tables(parts: list[list[Row]]) -> list[pa.Table]:
    """Number the rows in order of arrival."""
    found, number = [], 0
    for rows in parts:
        times = pa.array([half * SECOND // 2 for half, _ in rows], pa.int64())
        columns = [
            list(range(number, number + len(rows))),
            times.cast(SCHEMA.field("time").type),
            [key for _, key in rows],
        ]
        found.append(pa.table(columns, SCHEMA))
        number += len(rows)
    return found


def run(spec: Plan, batches: list[pa.Table], restarts: Iterable[int] = ()) -> list[list[Output]]:
    bucket, steps = Bucket(spec), []
    for number, batch in enumerate(batches):
        if number in restarts:
            bucket.restart()
        steps.append(bucket.step(batch))
    return [*steps, bucket.finish()]


def told(steps: list[list[Output]]) -> list[list[Any]]:
    return [
        [(o.name, o.rows, None if o.batch is None else o.batch.to_pylist()) for o in step]
        for step in steps
    ]


@given(operators, streams, st.sets(st.integers(0, 9)), st.sampled_from([(0.9,), RECALLS]))
def test_recovery(
    operator: Sort | Aggregation,
    parts: list[list[Row]],
    restarts: set[int],
    recalls: tuple[float, ...],
) -> None:
    spec = plan(operator, *recalls, within=3 * SECOND if len(recalls) > 1 else None)

    assert told(run(spec, tables(parts), restarts)) == told(run(spec, tables(parts)))


@given(operators, streams, st.integers(0, 12), st.sampled_from([(0.9,), RECALLS]))
def test_a_micro_batch_may_come_in_any_number_of_parts(
    operator: Sort | Aggregation, parts: list[list[Row]], cut: int, recalls: tuple[float, ...]
) -> None:
    whole, apart = Bucket(plan(operator, *recalls)), Bucket(plan(operator, *recalls))
    found: list[list[list[Output]]] = [[], []]
    for batch in tables(parts):
        clock = Clock.at(whole.newest, 0)
        found[0].append(whole.step(batch))
        found[1].append(list(apart.stage.step(clock, [[batch.slice(0, cut), batch.slice(cut)]])))

    for name in ("ready", "late", "recall"):
        one, other = (rows_of(steps, name) for steps in found)
        assert sorted(map(str, one)) == sorted(map(str, other))


@given(operators, streams, st.sampled_from([(0.9,), RECALLS, (0.5, 0.9, 1.0)]))
def test_conservation(
    operator: Sort | Aggregation, parts: list[list[Row]], recalls: tuple[float, ...]
) -> None:
    steps = run(plan(operator, *recalls), tables(parts))

    late = [row["id"] for row in rows_of(steps, "late")]
    ready = [row for row in rows_of(steps, "ready") if row.get("is_final", True)]
    total = sum(map(len, parts))
    if isinstance(operator, Sort):
        assert sorted(late + [row["id"] for row in ready]) == list(range(total))
    elif operator.windows.overlap == 1:
        assert sum(row["n"] for row in ready) + len(late) == total
        assert sum(row["ids"] for row in ready) + sum(late) == sum(range(total))
    reports = rows_of(steps, "recall")
    for recall in recalls:
        mine = [row for row in reports if row["target"] == recall]
        assert sum(row["produced"] + row["missed"] for row in mine) == total
    if not isinstance(operator, Aggregation) or operator.windows.overlap == 1:
        assert sum(row["missed"] for row in mine) == len(late)


@given(operators, streams)
def test_each_level_is_a_stage_with_its_watermarks(
    operator: Sort | Aggregation, parts: list[list[Row]]
) -> None:
    bucket, late = Bucket(plan(operator, *RECALLS)), replace(plan(operator), late="drop")
    alone = [RunningStage(late, 0, SCHEMA, lambda _: MemoryChunks()) for _ in RECALLS]
    for batch in [*tables(parts), None]:
        clock = Clock.at(bucket.newest, 0)
        outputs = bucket.step(batch) if batch is not None else bucket.finish()
        marks = bucket.stage._policy._adaptation.watermarks
        ready = rows_of([outputs], "ready")
        for recall, stage, mark in zip(RECALLS, alone, marks, strict=True):
            # A plan without recalls computes the watermark from the newest time.
            told = Clock(FOREVER if mark == FOREVER else mark, mark)
            expected = list(stage.step(told, [[] if batch is None else [batch]]))
            mine = [
                {k: v for k, v in row.items() if k not in ("recall", "wait", "is_final")}
                for row in ready
                if row["recall"] == recall
            ]
            assert mine == rows_of([expected], "ready")
        assert all(mark <= clock.newest for mark in marks if batch is not None)


def test_a_row_at_the_watermark_comes_out_at_once_for_each_recall() -> None:
    bucket = Bucket(plan(Sort(TIME), *RECALLS))
    # All rows come in order, so every wait is 0, and the watermark is at the newest time.
    for half in (0, 2, 4):
        bucket.step(tables([[(half, "a")]])[0])

    ready = rows_of([bucket.step(tables([[(6, "a"), (4, "b"), (4, "a")]])[0])], "ready")

    came = [(row["recall"], row["key"]) for row in ready]
    assert came == [(0.5, "a"), (0.5, "b"), (0.5, "a"), (0.9, "a"), (0.9, "b"), (0.9, "a")]


@given(streams)
def test_rows_come_out_in_order(parts: list[list[Row]]) -> None:
    steps = run(plan(Sort(TIME), *RECALLS), tables(parts))

    for recall in RECALLS:
        times = [row["time"] for row in rows_of(steps, "ready") if row["recall"] == recall]
        assert times == sorted(times)


@given(operators, streams, st.integers(0, 2**32))
def test_results_do_not_depend_on_when_a_bucket_runs(
    operator: Sort | Aggregation, parts: list[list[Row]], seed: int
) -> None:
    random = np.random.default_rng(seed)
    spec = plan(operator, *RECALLS)
    one, other = Bucket(spec), Bucket(spec)
    found: list[list[Output]] = [[], []]
    for batch in tables(parts):
        # Other buckets move the clock, too.
        way = int(random.integers(0, 3)) * SECOND
        for number, bucket in enumerate((one, other)):
            bucket.newest = max(bucket.newest, 0) + way
            due = bucket.stage.due()
            if bucket is one or batch.num_rows or (due is not None and due <= bucket.newest):
                found[number] += bucket.step(batch)
    assert told([found[0]]) == told([found[1]])


@given(streams, st.sampled_from(list(OPERATORS)), st.sampled_from(LATE_POLICIES))
def test_late_rows_follow_the_late_policy(
    parts: list[list[Row]], name: str, late: LatePolicy
) -> None:
    operator = OPERATORS[name]
    diverted = run(plan(operator, *RECALLS), tables(parts))
    number = len(rows_of(diverted, "late"))
    spec = plan(operator, *RECALLS, late=late)
    if late == "raise" and number:
        with pytest.raises(LateRowError):
            run(spec, tables(parts))
        return
    steps = run(spec, tables(parts))

    dropped = sum(o.rows for step in steps for o in step if o.name == "dropped")
    assert dropped == (number if late == "drop" else 0)
    final = [row for row in rows_of(steps, "ready") if row["is_final"]]
    if late == "adjust" and name == "sort":
        assert len(final) == sum(map(len, parts))
    elif late != "adjust":
        assert final == [row for row in rows_of(diverted, "ready") if row["is_final"]]


def test_a_row_in_several_windows_is_missed_if_one_of_them_is_closed() -> None:
    spec = plan(windows(4, 2), 0.9)
    bucket = Bucket(spec)
    bucket.step(tables([[(0, "a"), (2, "a")]])[0])
    bucket.step(tables([[(4, "a")]])[0])
    bucket.newest = 3 * SECOND + SECOND // 2
    # Nothing was behind the clock so far. It is past 2 s, where the first window of the row at
    # 0.5 s ends, and before 4 s, where the second does.
    (ready, report, *_) = bucket.step(tables([[(1, "a"), (10, "a")]])[0])

    assert [row["n"] for row in ready.batch.to_pylist()] == [2]
    (row,) = report.batch.to_pylist()
    assert (row["produced"], row["missed"]) == (1, 1)
    assert row["wait"] == 0


def test_a_checkpoint_goes_on_only_with_the_same_recalls() -> None:
    bucket = Bucket(plan(Sort(TIME), *RECALLS))
    bucket.step(tables([[(1, "a")]])[0])
    saved = bucket.stage.save()

    with pytest.raises(StateFormatError, match=r"recall was 0\.5, 0\.9, is now 0\.9"):
        Bucket(plan(Sort(TIME), 0.9)).started(saved)
    with pytest.raises(StateFormatError, match="waits that follow from a recall"):
        RunningStage(plan(Sort(TIME)), 0, SCHEMA, lambda _: MemoryChunks(), saved)
    fixed = RunningStage(plan(Sort(TIME)), 0, SCHEMA, lambda _: MemoryChunks()).save()
    with pytest.raises(StateFormatError, match="another query: clock was one clock"):
        Bucket(plan(Sort(TIME), 0.9)).started(fixed)


def test_a_stage_sleeps_until_the_clock_has_passed_the_wait() -> None:
    bucket = Bucket(plan(Sort(TIME), 0.9))
    assert bucket.stage.due() is None
    bucket.step(tables([[(2, "a"), (6, "a")]])[0])
    assert bucket.stage.due() is None
    bucket.step(tables([[(6, "a"), (5, "a")]])[0])

    # A row came half a second late, which counts as 504 ms, doubled because few rows have come so
    # far. The earliest row is at 1 s.
    assert bucket.stage.due() == 2 * SECOND + 8_000


def test_a_report_has_the_wait_that_was_reached_not_the_one_aimed_at() -> None:
    bucket = Bucket(plan(Sort(TIME), *RECALLS))
    bucket.step(tables([[(0, "a")]])[0])
    bucket.step(tables([[(0, "a"), (10, "a")]])[0])
    # This row is five seconds late, so the next wait is longer, but the watermark does not fall.
    steps = [bucket.step(tables([[(0, "a"), (11, "a")]])[0])]
    steps.append(bucket.step(tables([[(11, "a")]])[0]))

    waits = [row["wait"] for row in rows_of(steps, "recall") if row["target"] == 0.9]
    assert waits == [0, 500]


def test_periods_that_miss_the_recall_are_reported() -> None:
    bucket = Bucket(plan(Sort(TIME), 0.9, within=10 * SECOND))
    # In half seconds. The newest time when they come: 0  2  15 15  25  26 26 26  70  71
    halves = (0, 2, 15, 1, 25, 26, 2, 3, 70, 71, 90)
    reports = rows_of([bucket.step(tables([[(half, "a")]])[0]) for half in halves], "recall")

    # The first period has four rows and ends with the row at 26; the second has four, and two are
    # late by more than any before.
    assert [row["periods"] for row in reports] == [0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0]
    assert [row["missed"] for row in reports] == [0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0]
    assert [row["short"] for row in reports] == [0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0]
    plain = rows_of(run(plan(Sort(TIME), 0.9), tables([[(1, "a")]])), "recall")
    assert [(row["periods"], row["short"]) for row in plain] == [(None, None)]


def test_a_checkpoint_goes_on_only_with_the_same_periods() -> None:
    bucket = Bucket(plan(Sort(TIME), 0.9))
    saved = bucket.stage.save()

    with pytest.raises(StateFormatError, match="within was not set, is now 5"):
        Bucket(plan(Sort(TIME), 0.9, within=5)).started(saved)


@pytest.mark.parametrize("recalls", [(0.9,), RECALLS])
def test_a_limit_on_held_rows_wins_over_a_watermark_that_stands_still(
    recalls: tuple[float, ...],
) -> None:
    asked = plan(Sort(TIME), *recalls)
    bucket = Bucket(replace(asked, source=replace(asked.source, held_limit=3)))

    first, second = tables([[(0, "a"), (2, "a"), (4, "a")], [(6, "a")]])

    # No delays are known yet, so the watermark stands still, and all rows are held once.
    bucket.step(first)
    assert bucket.stage.held == 3
    with pytest.raises(HeldLimitError, match=r"holds 4 rows .* allows 3.\nHint: .* lower recall"):
        bucket.step(second)
