"""The slowest source sets the clock, and a promise moves it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import latecomer as lc
from latecomer.clock.policy import ClockBySource
from latecomer.clock.source_clocks import SourceClocks, told
from latecomer.hosts.local import LocalHost
from latecomer.time import NEVER, TimeColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MILLI = 1_000
TIME = TimeColumn("time", "ms")
WAIT = 5
POLICY = ClockBySource((WAIT * MILLI,), sources=("partition",), promise="is_last")

Row = tuple[int, int, bool]
"""Time, partition, and whether the row is a promise."""


def table(rows: Sequence[Row], first: int = 0) -> pa.Table:
    schema = pa.schema(
        {"time": pa.int64(), "partition": pa.int32(), "is_last": pa.bool_(), "id": pa.int64()}
    )
    columns = [*zip(*rows, strict=True)] if rows else [(), (), ()]
    return pa.table([*map(list, columns), [*range(first, first + len(rows))]], schema=schema)


def test_rows_advance_their_sources_and_may_be_promises() -> None:
    found = told(POLICY, TIME, table([(3, 0, False), (9, 1, True), (12, 1, False)]))

    by_source = {row.pop("source"): row for row in found.to_pylist()}
    assert by_source == {
        "[0]": {"newest": 3 * MILLI, "promised": NEVER},
        "[1]": {"newest": 12 * MILLI, "promised": 9 * MILLI},
    }
    alone = ClockBySource((0,), promise="is_last")
    assert told(alone, TIME, table([(3, 0, True)])).to_pylist() == [
        {"source": "[]", "newest": 3 * MILLI, "promised": 3 * MILLI}
    ]


def test_the_watermark_never_falls_and_the_clocks_go_on_where_they_were_saved() -> None:
    clocks = SourceClocks()
    assert clocks.clock(POLICY, 0).watermark == NEVER
    clocks.hear(told(POLICY, TIME, table([(40, 0, False)])), 0)
    assert clocks.clock(POLICY, 0).watermark == 35 * MILLI
    clocks.hear(told(POLICY, TIME, table([(12, 1, False)])), 0)

    again = SourceClocks.read(clocks.save())
    clock = again.clock(POLICY, 0)
    assert (clock.newest, clock.watermark) == (12 * MILLI, 35 * MILLI)


def test_silent_sources_are_left_out_and_if_all_are_the_fastest_counts() -> None:
    policy = ClockBySource((0,), 10, sources=("partition",))
    clocks = SourceClocks()
    clocks.hear(told(policy, TIME, table([(12, 1, False)])), 0)
    clocks.hear(told(policy, TIME, table([(40, 0, False)])), 6)

    assert [clocks.clock(policy, at).watermark // MILLI for at in (6, 9)] == [12, 12]
    assert clocks.clock(policy, 10).watermark == 40 * MILLI
    # All sources are silent since 6, so the clock advances by itself.
    assert clocks.clock(policy, 6 + 25 * MILLI).watermark == 65 * MILLI


def brute(batches: Sequence[Sequence[Row]]) -> list[list[int]]:
    """Return the late rows of each micro-batch, from all rows before it, source by source."""
    late, before, mark, number = [], [], -1, 0
    for batch in batches:
        marks = []
        for partition in {partition for _, partition, _ in before}:
            own = [(time, is_last) for time, source, is_last in before if source == partition]
            promised = [time for time, is_last in own if is_last]
            marks.append(max([max(time for time, _ in own) - WAIT, *promised]))
        mark = max([mark, min(marks)]) if marks else mark
        late.append([number + i for i, (time, _, _) in enumerate(batch) if time < mark])
        number += len(batch)
        before += batch
    return late


ROWS = st.tuples(st.integers(0, 40), st.integers(0, 2), st.booleans())


@given(batches=st.lists(st.lists(ROWS, max_size=5), max_size=6))
@settings(max_examples=150, deadline=None)
def test_rows_are_late_by_the_slowest_source_and_behind_promises(
    batches: list[list[Row]],
) -> None:
    stream = lc.disordered(
        table([]), time="time", unit="ms", sources="partition", promise="is_last"
    ).sort(wait="5 milliseconds")

    tables, first = [], 0
    for batch in batches:
        tables.append(table(batch, first))
        first += len(batch)
    found = stream.run(tables)
    late = [sorted(step.late["id"].to_pylist()) for step in found.steps[:-1]]
    assert late == brute(batches)
    assert sorted(found.ready["id"].to_pylist() + found.late["id"].to_pylist()) == [*range(first)]
    assert found.ready.column_names == ["time", "partition", "is_last", "id"]


def test_silence_leaves_a_source_out_of_a_running_stream() -> None:
    stream = lc.disordered(
        table([]), time="time", unit="ms", sources="partition", idle="20 milliseconds"
    ).sort(wait="0 milliseconds")
    host = LocalHost(stream.plan, table([]).schema)
    host.step(table([(10, 0, False), (5, 1, False)]), now=0)

    marks = [
        host.step(table([(10 + at, 0, False)]), now=at * MILLI).watermark // MILLI
        for at in range(5, 40, 5)
    ]
    assert marks == sorted(marks)
    assert marks[0] == 5
    assert marks[-1] > 20


@given(batches=st.lists(st.lists(ROWS, max_size=5), max_size=6))
@settings(max_examples=100, deadline=None)
def test_promises_move_the_clock_of_their_key_alone(batches: list[list[Row]]) -> None:
    """The rows of a key move its clock in their own micro-batch, after they were processed."""
    ordered = lc.disordered(
        table([]), time="time", unit="ms", key="partition", clock="key", promise="is_last"
    ).sort(wait="5 milliseconds")
    tables, first = [], 0
    for batch in batches:
        tables.append(table(batch, first))
        first += len(batch)

    late, number = [], 0
    marks: dict[int, int] = {}
    for batch in batches:
        late += [number + i for i, (t, key, _) in enumerate(batch) if t < marks.get(key, -99)]
        number += len(batch)
        for time, key, is_last in batch:
            marks[key] = max(marks.get(key, -99), time if is_last else time - WAIT)

    # First one operator for all keys, then a chain for each key.
    distinct = ordered.distinct("id", within="1 second")
    for stream in (ordered, distinct):
        found = stream.run(tables)
        assert sorted(found.late["id"].to_pylist()) == late
        assert found.ready.num_rows == first - len(late)


def test_options_that_exclude_sources_and_promises_are_refused() -> None:
    def rows(**options: Any) -> lc.DisorderedStream:  # noqa: ANN401
        return lc.disordered(table([]), time="time", unit="ms", **options)

    sources, promise = {"sources": "partition"}, {"promise": "is_last"}
    bad: list[tuple[Callable[[], object], str]] = [
        (lambda: rows(key="partition", clock="key", **sources), "sources= needs one clock"),
        (lambda: rows(sources="nowhere"), 'no column "nowhere"'),
        (lambda: rows(promise="id").sort(wait="1 second"), "the promise is of type bigint"),
        (lambda: rows(**sources).sort(recall=0.9), "cannot be combined with sources= or promise="),
        (lambda: rows(**promise).sort(recall=0.9), "cannot be combined with sources= or promise="),
        (
            lambda: rows(**promise).sort(wait=["1 second", "2 seconds"]),
            "cannot be combined with several waits",
        ),
        (
            lambda: rows(**promise).tumbling("1 hour").wait("1 s", late="fold", horizon="1 hour"),
            "cannot be combined with promise=",
        ),
        (lambda: rows(**sources).sort(presorted=True), "cannot be combined with a wait, a recall"),
        (lambda: rows(**sources).optimistic(wait="1 second"), "does not support edges="),
        (
            lambda: lc.window_join({"a": rows(**sources), "b": rows()}, within="1 second"),
            "does not support end=, clock=",
        ),
    ]
    for ask, words in bad:
        with pytest.raises(lc.LatecomerError, match=words):
            ask()


def test_explain_names_the_slowest_source() -> None:
    stream = lc.disordered(
        table([]), time="time", unit="ms", sources="partition", promise=pc.field("id") > 3
    )

    assert "the clock of the slowest partition" in stream.explain()
    assert "with promises where (id > 3)" in stream.sort(wait="1 second").explain()
