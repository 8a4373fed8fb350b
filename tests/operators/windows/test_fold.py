"""Rows that come after the last wait, and correct the results of their windows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer import agg
from latecomer.batch import concat
from latecomer.clock.policy import ClockByRecall, ClockPerKey, OneClock
from latecomer.clock.watermark import Clock
from latecomer.hosts.local import LocalHost, MemoryChunks, run
from latecomer.hosts.stage import RunningStage
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from latecomer.testing.strategies import Cuts, batchings, cut
from latecomer.time import NEVER, TimeColumn, parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterable

MS = 1_000
TIME = TimeColumn("time", "ms")
SCHEMA = pa.schema({"time": pa.int64(), "key": pa.string(), "value": pa.int64()})
Row = tuple[int, str | None, int]

SUMS = Summary(("key",), (("rows", agg.count()), ("total", agg.sum("value"))))
LISTS = Summary(("key",), (("all", agg.collect("value")),))
TOTAL = Summary(("key",), (("total", agg.sum("value")),))
MERGED = Summary(("key",), (("total", agg.sum("total")),))
MOST = Summary((), (("most", agg.max("rows")),))
TUMBLING = Aggregation(TIME, Windows(10 * MS, 10 * MS), (0,), (SUMS,))
HOPPING = replace(TUMBLING, windows=Windows(10 * MS, 4 * MS))
QUERIES = {
    "tumbling": TUMBLING,
    "hopping": HOPPING,
    "lists": replace(HOPPING, summaries=(LISTS,)),
    "the most of all keys": replace(TUMBLING, summaries=(SUMS, MOST)),
    "only changes": replace(TUMBLING, only_changes=True),
    "a partial query": replace(HOPPING, summaries=(TOTAL, MERGED), merges=True),
}

arrived = st.lists(
    st.tuples(st.integers(0, 90), st.sampled_from(["a", "b", None]), st.integers(-2, 2)),
    max_size=25,
)
some_waits = st.lists(st.integers(0, 20), min_size=1, max_size=3, unique=True).map(sorted)


def table(rows: Iterable[Row]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)


def plan(spec: Aggregation, waits: list[int], horizon: int | None) -> Plan:
    micros = tuple(wait * MS for wait in waits)
    within = None if horizon is None else horizon * MS
    clock = OneClock(micros, horizon=within)
    spec = replace(spec, waits=micros, horizon=within)
    return Plan(Source(TIME), clock, "divert", (Stage(spec.keyed, (spec,)),))


def result(row: dict[str, Any]) -> dict[str, Any]:
    marks = ("window", "key", "wait", "is_final", "is_changed", "is_correction")
    shown = {name: value for name, value in row.items() if name not in marks}
    # Lists are in order of arrival.
    return shown | {name: sorted(v) for name, v in shown.items() if isinstance(v, list)}


class Stored:
    """A table as `upsert` keeps it: the result of the longest wait, and the last of equal waits."""

    def __init__(self) -> None:
        self.rows: dict[Any, tuple[int, dict[str, Any]]] = {}

    def take(self, ready: pa.Table) -> None:
        corrected = set()
        for row in ready.to_pylist():
            key = row["window"]["start"], row.get("key")
            wait = parse_duration(row["wait"], "wait") if "wait" in row else 0
            before = self.rows.get(key)
            if row["is_correction"]:
                # A micro-batch has at most one correction, of the last wait, and it differs.
                assert row.get("is_final", True)
                assert row.get("is_changed", True)
                assert key not in corrected
                assert before is None or before[1] != result(row)
                corrected.add(key)
            assert before is None or before[0] <= wait
            self.rows[key] = wait, result(row)


def batch_answer(spec: Aggregation, rows: Iterable[Row]) -> dict[Any, dict[str, Any]]:
    found = run(plan(spec, [0], None), [table(rows)], SCHEMA).ready.to_pylist()
    return {(row["window"]["start"], row.get("key")): result(row) for row in found}


@pytest.mark.parametrize("name", QUERIES)
@given(rows=arrived, cuts=batchings(), waits=some_waits)
def test_the_table_in_the_end_is_the_batch_answer_over_all_rows(
    name: str, rows: list[Row], cuts: Cuts, waits: list[int]
) -> None:
    spec = QUERIES[name]
    host = LocalHost(plan(spec, waits, 1_000), SCHEMA)
    stored = Stored()
    steps = [*(host.step(table(batch)) for batch in cut(rows, cuts)), host.finish()]
    for step in steps:
        stored.take(step.ready)
        assert step.late.num_rows == 0

    once = replace(spec, only_changes=False)
    assert {key: row for key, (_, row) in stored.rows.items()} == batch_answer(once, rows)


@given(rows=arrived, cuts=batchings(), waits=some_waits, more=st.integers(1, 30))
def test_rows_behind_the_horizon_are_late_and_all_others_count(
    rows: list[Row], cuts: Cuts, waits: list[int], more: int
) -> None:
    horizon = waits[-1] + more
    host = LocalHost(plan(TUMBLING, waits, horizon), SCHEMA)
    stored, used, newest = Stored(), [], None
    for batch in cut(rows, cuts):
        step = host.step(table(batch))
        stored.take(step.ready)
        # A window of ten ends at the next multiple of ten after the row.
        is_late = [newest is not None and r[0] // 10 * 10 + 10 <= newest - horizon for r in batch]
        late = [row for row, late in zip(batch, is_late, strict=True) if late]
        assert sorted(step.late["time"].to_pylist()) == sorted(row[0] for row in late)
        used += [row for row, late in zip(batch, is_late, strict=True) if not late]
        newest = max([row[0] for row in batch] + ([] if newest is None else [newest]), default=None)
    stored.take(host.finish().ready)

    assert {key: row for key, (_, row) in stored.rows.items()} == batch_answer(TUMBLING, used)


@pytest.mark.parametrize("spec", [TUMBLING, HOPPING], ids=["tumbling", "hopping"])
@given(rows=arrived, cuts=batchings(), waits=some_waits, horizon=st.integers(21, 60))
def test_restarts_do_not_change_corrections(
    spec: Aggregation, rows: list[Row], cuts: Cuts, waits: list[int], horizon: int
) -> None:
    class Restarting(LocalHost):
        """A host whose stage is saved and restored after every step."""

        chunks = MemoryChunks()

        def _started(self, plan: Plan, at: int, schema: pa.Schema) -> RunningStage:
            return RunningStage(plan, at, schema, lambda _number: self.chunks)

        def again(self) -> None:
            saved = self._stages[0][0].save()
            self._stages[0][0] = RunningStage(asked, 0, SCHEMA, lambda _number: self.chunks, saved)

    asked = plan(spec, waits, horizon)
    one, other = LocalHost(asked, SCHEMA), Restarting(asked, SCHEMA)
    other.chunks = MemoryChunks()
    other._stages[0][0] = other._started(asked, 0, SCHEMA)
    for batch in cut(rows, cuts):
        expected, found = one.step(table(batch)), other.step(table(batch))
        assert found.ready.equals(expected.ready)
        assert found.late.equals(expected.late)
        other.again()
    assert other.finish().ready.equals(one.finish().ready)


@pytest.mark.parametrize("spec", [TUMBLING, HOPPING], ids=["tumbling", "hopping"])
@given(rows=arrived, cuts=batchings(), waits=some_waits, more=st.integers(1, 30))
def test_with_a_clock_for_each_key_late_rows_of_a_key_go_by_its_own(
    spec: Aggregation, rows: list[Row], cuts: Cuts, waits: list[int], more: int
) -> None:
    asked = plan(spec, waits, waits[-1] + more)
    own = ClockPerKey(asked.clock.waits, None, ("key",), horizon=asked.clock.horizon)
    asked = replace(asked, clock=own)
    batches = cut(rows, cuts)
    together = run(asked, map(table, batches), SCHEMA)
    alone = [
        run(asked, [table(row for row in batch if row[1] == key) for batch in batches], SCHEMA)
        for key in ("a", "b", None)
    ]

    assert in_order(together.ready) == in_order(pa.concat_tables(each.ready for each in alone))
    assert in_order(together.late) == in_order(pa.concat_tables(each.late for each in alone))


@given(rows=arrived, cuts=batchings(), recalls=st.sampled_from([(0.5,), (0.5, 0.9)]))
def test_with_a_recall_the_table_in_the_end_is_the_batch_answer(
    rows: list[Row], cuts: Cuts, recalls: tuple[float, ...]
) -> None:
    clock = ClockByRecall(recalls=recalls, horizon=1_000 * MS)
    host = LocalHost(replace(plan(TUMBLING, [0], 1_000), clock=clock), SCHEMA)
    stored: dict[Any, dict[str, Any]] = {}
    for step in [*(host.step(table(batch)) for batch in cut(rows, cuts)), host.finish()]:
        assert step.late.num_rows == 0
        for row in step.ready.to_pylist():
            # The last of several recalls gives the final result, and corrects it.
            if row.get("is_final", True):
                key = row["window"]["start"], row["key"]
                # The first result of a key is also a correction if its window had closed.
                assert row["is_correction"] or key not in stored
                stored[key] = {name: row[name] for name in ("rows", "total")}
            assert row.get("is_final", True) or not row["is_correction"]

    assert stored == batch_answer(TUMBLING, rows)


def test_with_a_recall_a_row_is_late_once_the_horizon_has_passed_the_answer() -> None:
    clock = ClockByRecall(recalls=(0.5,), horizon=20 * MS)
    host = LocalHost(replace(plan(TUMBLING, [0], 20), clock=clock), SCHEMA)
    batches = [[(1, "a", 1)], [(29, "b", 0)], [(2, "a", 1)], [(99, "b", 0)], [(3, "a", 1)]]
    steps = [host.step(table(batch)) for batch in batches]

    told = [[(r["key"], r["rows"], r["is_correction"]) for r in s.ready.to_pylist()] for s in steps]
    assert told[1:3] == [[], [("a", 1, False), ("a", 2, True)]]
    assert [step.late.num_rows for step in steps] == [0, 0, 0, 0, 1]


def test_states_are_forgotten_when_the_horizon_has_passed_and_the_bucket_is_woken_for_it() -> None:
    asked = plan(TUMBLING, [0], 100)
    chunks = MemoryChunks()
    stage = RunningStage(asked, 0, SCHEMA, lambda _number: chunks)
    held = []
    for newest, rows in ((-1, [(1, "a", 5)]), (10, []), (109, []), (110, [])):
        clock = Clock.at(newest * MS if newest >= 0 else NEVER, asked.clock.wait)
        list(stage.step(clock, [[table(rows)]]))
        held.append((stage.held, stage.due()))

    assert held == [(1, 10 * MS), (1, 110 * MS), (1, 110 * MS), (0, None)]


def in_order(rows: pa.Table) -> list[str]:
    return sorted(map(repr, rows.to_pylist()))


def test_a_correction_is_given_once_in_the_micro_batch_of_its_rows() -> None:
    host = LocalHost(plan(TUMBLING, [0], 100), SCHEMA)
    batches = [[(1, "a", 5), (12, "b", 0)], [], [(2, "a", 4), (3, "a", 1)], [(4, "a", 0)]]
    steps = [host.step(table(batch)) for batch in [*batches, [(5, "a", 0)] * 0]]

    told = [
        [(row["key"], row["rows"], row["total"], row["is_correction"]) for row in each]
        for each in (step.ready.to_pylist() for step in steps)
    ]
    assert told == [[], [("a", 1, 5, False)], [("a", 3, 10, True)], [("a", 4, 10, True)], []]


def test_rows_that_change_nothing_correct_nothing() -> None:
    host = LocalHost(
        plan(
            replace(TUMBLING, summaries=(TOTAL,)),
            [0],
            100,
        ),
        SCHEMA,
    )
    steps = [
        host.step(table(b)) for b in ([(1, "a", 5), (12, "b", 0)], [], [(2, "a", 4), (3, "a", -4)])
    ]

    assert concat([step.ready for step in steps], steps[0].ready.schema).num_rows == 1
