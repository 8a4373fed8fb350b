"""Aggregates with several waits: a slow twin, and the laws."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer import agg
from latecomer.clock.policy import OneClock
from latecomer.hosts.local import LocalHost, MemoryChunks, Step
from latecomer.operators import leaves
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import LatePolicy, Plan, Source, Stage
from latecomer.testing.strategies import Cuts, batchings, cut
from latecomer.time import FOREVER, TimeColumn, parse_duration

TIME = TimeColumn("time", "ms")
MS = 1_000
SCHEMA = pa.schema({"time": pa.int64(), "key": pa.string(), "value": pa.int64()})
COUNTS = Summary(("key",), (("rows", agg.count()), ("total", agg.sum("value"))))
TUMBLING = Aggregation(TIME, Windows(10 * MS, 10 * MS), (0,), (COUNTS,))
HOPPING = replace(TUMBLING, windows=Windows(10 * MS, 4 * MS, 1 * MS))

Row = tuple[int, str, int]
rows_of_a_stream = st.lists(
    st.tuples(st.integers(-20, 60), st.sampled_from("ab"), st.integers(-5, 5)), max_size=30
)
several_waits = st.lists(st.integers(0, 25), min_size=1, max_size=3, unique=True).map(sorted)


class Answer(NamedTuple):
    """The result of a level for a window and key."""

    step: int
    level: int
    start: int
    key: str | None
    rows: int
    total: int | None


def table(rows: Sequence[Row]) -> pa.Table:
    return pa.table([list(column) for column in zip(*rows, strict=True)] or [[], [], []], SCHEMA)


def host(spec: Aggregation, waits: Sequence[int], late: LatePolicy = "divert") -> LocalHost:
    micros = tuple(wait * MS for wait in waits)
    spec = replace(spec, waits=micros)
    plan = Plan(Source(TIME), OneClock(micros), late, (Stage(spec.summaries[-1].keys, (spec,)),))
    return LocalHost(plan, SCHEMA)


def answers(steps: Sequence[Step], waits: Sequence[int]) -> list[Answer]:
    return sorted(
        Answer(
            number,
            waits.index(parse_duration(row["wait"], "wait") // MS) if "wait" in row else 0,
            row["window"]["start"],
            row.get("key"),
            row["rows"],
            row["total"],
        )
        for number, step in enumerate(steps)
        for row in step.ready.to_pylist()
    )


def run(
    spec: Aggregation, batches: Sequence[Sequence[Row]], waits: Sequence[int]
) -> tuple[list[Answer], list[Step]]:
    running = host(spec, waits)
    steps = [*(running.step(table(batch)) for batch in batches), running.finish()]
    return answers(steps, waits), steps


def twin(
    windows: Windows, batches: Sequence[Sequence[Row]], waits: Sequence[int]
) -> tuple[list[Answer], list[list[Row]]]:
    """Return the results by definition: keep all rows, and compute every window from them."""
    size, hop, origin = (part // MS for part in (windows.size, windows.hop, windows.origin))
    arrived: list[Row] = []
    told: set[tuple[int, int]] = set()
    seen: list[Answer] = []
    late: list[list[Row]] = []
    newest: float = float("-inf")
    for step, batch in enumerate([*batches, None]):
        for level, wait in enumerate(waits):
            watermark = float("inf") if batch is None else newest - wait
            groups: dict[tuple[int, str], list[int]] = defaultdict(list)
            for time, key, value in arrived:
                for start in range(time - size + 1, time + 1):
                    is_window = (start - origin) % hop == 0
                    if is_window and start + size <= watermark and (level, start) not in told:
                        groups[start, key].append(value)
            # A window that has closed stays closed, even if it had no rows.
            told |= {
                (level, start)
                for start in range(-50, 120)
                if start + size <= watermark and (start - origin) % hop == 0
            }
            seen += [
                Answer(step, level, start, key, len(values), sum(values))
                for (start, key), values in groups.items()
            ]
        if batch is None:
            break
        closed = newest - waits[-1]
        late.append([r for r in batch if _last_end(r[0], size, hop, origin) <= closed])
        arrived += [r for r in batch if _last_end(r[0], size, hop, origin) > closed]
        newest = max([newest, *(row[0] for row in batch)])
    return sorted(seen), late


def _last_end(time: int, size: int, hop: int, origin: int) -> int:
    return time - (time - origin) % hop + size


@pytest.mark.parametrize("spec", [TUMBLING, HOPPING], ids=["tumbling", "hopping"])
@given(rows=rows_of_a_stream, cuts=batchings(), waits=several_waits)
def test_each_level_gives_the_results_of_the_slow_twin(
    spec: Aggregation, rows: list[Row], cuts: Cuts, waits: list[int]
) -> None:
    batches = cut(rows, cuts)

    seen, steps = run(spec, batches, waits)

    expected, late = twin(spec.windows, batches, waits)
    assert seen == expected
    found = [
        [(r["time"], r["key"], r["value"]) for r in step.late.to_pylist()] for step in steps[:-1]
    ]
    assert found == late
    # Conservation: every row is counted at the first level that gets it, or is late.
    assert sum(sum(step.in_time) for step in steps) + sum(map(len, late)) == len(rows)


TOTAL = Summary(("key",), (("total", agg.sum("value")),))
LISTS = Summary(("key",), (("values", agg.collect("value")), ("total", agg.sum("value"))))
MOST = Summary((), (("total", agg.max("total")),))
MERGED = Summary(("key",), (("total", agg.sum("total")),))
CHANGING = {
    "rows": TUMBLING,
    "a sum": replace(TUMBLING, summaries=(TOTAL,)),
    "a sum, hopping": replace(HOPPING, summaries=(TOTAL,)),
    "lists, hopping": replace(HOPPING, summaries=(LISTS,)),
    "the most of all keys": replace(TUMBLING, summaries=(TOTAL, MOST)),
    "a partial query": replace(HOPPING, summaries=(TOTAL, MERGED), merges=True),
}


@pytest.mark.parametrize("name", CHANGING)
@given(rows=rows_of_a_stream, cuts=batchings(), waits=several_waits)
def test_a_level_has_changed_a_window_if_its_answer_is_another(
    name: str, rows: list[Row], cuts: Cuts, waits: list[int]
) -> None:
    running = host(CHANGING[name], waits)
    steps = [running.step(table(batch)) for batch in cut(rows, cuts)]

    said: dict[Any, Any] = {}
    for step in [*steps, running.finish()]:
        for row in step.ready.to_pylist():
            window = row.pop("window")["start"], row.get("key")
            wait, is_final, is_changed = (
                row.pop(mark, None) for mark in ("wait", "is_final", "is_changed")
            )
            if wait is not None:
                assert is_changed == (said.get(window) != row)
                assert is_final == (parse_duration(wait, "wait") == waits[-1] * MS)
            said[window] = row


def test_rows_that_cancel_out_change_nothing() -> None:
    running = host(replace(TUMBLING, summaries=(TOTAL,)), [0, 50])
    steps = [running.step(table(rows)) for rows in ([(1, "a", 5), (12, "b", 0)], [(2, "a", 4)], [])]
    steps += [running.step(table([(3, "a", -4)])), running.finish()]

    found = [
        (row["total"], row["is_final"], row["is_changed"])
        for step in steps
        for row in step.ready.to_pylist()
        if row["key"] == "a"
    ]
    assert found == [(5, False, True), (5, True, False)]


@given(rows=rows_of_a_stream, cuts=batchings(), waits=several_waits)
def test_only_changes_leaves_out_the_rest(rows: list[Row], cuts: Cuts, waits: list[int]) -> None:
    batches = cut(rows, cuts)
    _, steps = run(HOPPING, batches, waits)

    _, only = run(replace(HOPPING, only_changes=True), batches, waits)

    for full, part in zip(steps, only, strict=True):
        changed = [row for row in full.ready.to_pylist() if row.get("is_changed", True)]
        assert part.ready.to_pylist() == changed


@pytest.mark.parametrize("spec", [TUMBLING, HOPPING], ids=["tumbling", "hopping"])
@given(rows=rows_of_a_stream, marks=st.lists(st.integers(-30, 70), max_size=4).map(sorted))
def test_it_goes_on_where_it_was_saved_and_wakes_when_it_must(
    spec: Aggregation, rows: list[Row], marks: list[int]
) -> None:
    spec = replace(spec, waits=(0, 5 * MS, 20 * MS))
    size = -(-len(rows) // (len(marks) + 1))
    parts = [rows[i * size : (i + 1) * size] for i in range(len(marks) + 1)]

    def play(*, restart: bool, by_states: bool) -> list[list[str]]:
        chunks = MemoryChunks()
        running = spec.start(SCHEMA, chunks)
        seen = []
        for mark, part in zip([*marks, None], parts, strict=True):
            if by_states:
                running.fold(spec.partial(table(part)))
            else:
                running.push(table(part))
            due, at = running.due(), FOREVER if mark is None else mark * MS
            emission = running.advance(at)
            assert emission.ready.num_rows == 0 or (due is not None and due <= at)
            # Keys may come in any order.
            seen.append(sorted(map(str, emission.ready.to_pylist())))
            if restart:
                running = spec.start(SCHEMA, chunks, running.save())
        assert running.held == 0
        assert chunks.batches == {}
        return seen

    plain = play(restart=False, by_states=False)
    assert play(restart=True, by_states=False) == plain
    assert play(restart=False, by_states=True) == plain


@given(rows=rows_of_a_stream, cuts=batchings())
def test_small_leaves_change_nothing(rows: list[Row], cuts: Cuts) -> None:
    batches, waits = cut(rows, cuts), [0, 15]
    expected, _ = run(HOPPING, batches, waits)
    before, leaves.LEAF_ROWS = leaves.LEAF_ROWS, 2
    try:
        seen, _ = run(HOPPING, batches, waits)
    finally:
        leaves.LEAF_ROWS = before

    assert seen == expected


@given(rows=rows_of_a_stream, cuts=batchings(), data=st.data())
def test_disorder_within_the_first_wait_leaves_no_trace(
    rows: list[Row], cuts: Cuts, data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(rows))
    waits = [100, 200]

    def told(arrivals: list[Row]) -> list[Answer]:
        seen, _ = run(TUMBLING, cut(arrivals, cuts), waits)
        return sorted(answer._replace(step=0) for answer in seen)

    assert told(shuffled) == told(sorted(rows))


def test_a_key_that_falls_silent_still_gets_its_windows() -> None:
    seen, _ = run(TUMBLING, [[(1, "a", 1)], [(12, "b", 1)], [], [(40, "b", 1)], []], [0, 20])

    assert [answer for answer in seen if answer.key == "a"] == [
        Answer(2, 0, 0, "a", 1, 1),
        Answer(4, 1, 0, "a", 1, 1),
    ]


def test_late_rows_can_be_moved_up_to_the_watermark() -> None:
    running = host(TUMBLING, [0], "adjust")

    steps = [
        running.step(table([(25, "a", 1)])),
        running.step(table([(3, "a", 5)])),
        running.finish(),
    ]

    assert answers(steps, [0]) == [Answer(2, 0, 20, "a", 2, 6)]


def test_results_can_be_aggregated_again_within_their_windows() -> None:
    best = Summary((), (("rows", agg.sum("rows")), ("total", agg.max("total"))))
    spec = replace(TUMBLING, summaries=(COUNTS, best))

    seen, steps = run(spec, [[(1, "a", 1), (2, "b", 5), (3, "a", 2)], [(4, "b", 1)]], [5, 50])

    assert seen == [Answer(2, level, 0, None, 4, 6) for level in (0, 1)]
    assert [row["is_changed"] for row in steps[-1].ready.to_pylist()] == [True, False]


@given(rows=rows_of_a_stream, cuts=batchings(), waits=several_waits)
def test_a_partial_query_and_its_merge_give_what_the_aggregates_give(
    rows: list[Row], cuts: Cuts, waits: list[int]
) -> None:
    batches = cut(rows, cuts)
    add_up = Summary(("key",), (("rows", agg.sum("rows")), ("total", agg.sum("total"))))

    for spec in (TUMBLING, HOPPING):
        seen, _ = run(replace(spec, summaries=(COUNTS, add_up), merges=True), batches, waits)

        assert seen == run(spec, batches, waits)[0]


def test_states_are_held_once_for_all_waits_and_keys_of_a_window() -> None:
    running = replace(TUMBLING, waits=(0, 5 * MS, 900 * MS)).start(SCHEMA, MemoryChunks())
    for _ in range(50):
        running.push(table([(time, key, 1) for time in range(20) for key in "abc"]))

    assert running.held == 2 * 3
