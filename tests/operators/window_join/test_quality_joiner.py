"""The join on tables: rows in, joined rows and late rows out. For results see `test_loop`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from latecomer.hosts.local import MemoryChunks
from latecomer.operators.window_join import quality_joiner
from latecomer.operators.window_join.buffer_size_manager import Quality
from latecomer.operators.window_join.equalities import Equalities
from latecomer.operators.window_join.joiner import WindowJoin
from latecomer.operators.window_join.quality_join import Input, QualityJoin
from latecomer.time import TimeColumn

if TYPE_CHECKING:
    from collections.abc import Iterable

    from latecomer.operators.window_join.quality_joiner import Joined

SCHEMA = pa.schema({"t": pa.int64(), "k": pa.string(), "name": pa.string()})
TIME = TimeColumn("t", "us")
WAITING = QualityJoin(
    (Input("l", TIME), Input("r", TIME)),
    WindowJoin((10, 10), Equalities.common("k", "k")),
    5,
    Quality(1.0, period=40, interval=20, granularity=1, basic_window=1),
)
Row = tuple[int, str, str]


def table(*rows: Row) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], SCHEMA)


def results(joined: Iterable[Joined]) -> list[tuple[int, str, str]]:
    rows = [row for each in joined for row in each.results.to_pylist()]
    return [(row["time"], row["l_name"], row["r_name"]) for row in rows]


def late(joined: Iterable[Joined]) -> list[tuple[int, str, int, int]]:
    return [
        (some.stream, name, newest, since)
        for each in joined
        for some in each.late
        for name, newest, since in zip(
            some.rows.column("name").to_pylist(),
            some.newest.tolist(),
            some.since.tolist(),
            strict=True,
        )
    ]


def test_rows_come_out_joined_once_their_wait_is_over() -> None:
    running = WAITING.start([SCHEMA] * 2, MemoryChunks(), None)
    left, right = table((1, "x", "a"), (2, "y", "b")), table((3, "x", "A"), (4, "x", "B"))

    first = list(running.push([left, right]))
    assert results(first) == []
    assert running.due() == 1 + 5
    assert running.held > 0

    assert results([running.reach(8)]) == [(3, "a", "A")]
    assert results([running.finish()]) == [(4, "a", "B")]


@pytest.mark.parametrize(("at_once", "tables"), [(0, 6), (2, 2), (65_536, 1)])
def test_results_of_several_intervals_come_together_unless_they_are_many(
    monkeypatch: pytest.MonkeyPatch, at_once: int, tables: int
) -> None:
    monkeypatch.setattr(quality_joiner, "AT_ONCE", at_once)
    running = WAITING.start([SCHEMA] * 2, MemoryChunks(), None)
    times = (1, 21, 41, 61, 81, 101)

    joined = list(
        running.push(
            [
                table(*((time, "x", f"a{time}") for time in times)),
                table(*((time + 1, "x", f"A{time}") for time in times)),
            ]
        )
    )

    assert len(joined) == tables
    assert results(joined) == [(time + 1, f"a{time}", f"A{time}") for time in times[:-2]]


def test_all_columns_of_a_result_are_those_of_its_rows() -> None:
    running = WAITING.start([SCHEMA] * 2, MemoryChunks(), None)
    list(running.push([table((1, "x", "a")), table((3, "x", "A"))]))

    (row,) = running.finish().results.to_pylist()

    assert row == {
        "time": 3,
        "l_t": 1,
        "l_k": "x",
        "l_name": "a",
        "r_t": 3,
        "r_k": "x",
        "r_name": "A",
    }


def test_a_row_whose_window_has_passed_is_late_and_says_by_how_much() -> None:
    running = WAITING.start([SCHEMA] * 2, MemoryChunks(), None)
    list(running.push([table((50, "x", "a")), table((50, "x", "A"))]))
    # The join reaches 50, so its windows reach back to 40.
    assert late([running.reach(60)]) == []

    seen = list(running.push([table((39, "x", "late"), (40, "x", "in time")), table()]))

    assert late(seen) == [(0, "late", 60, 40)]
    assert results([*seen, *running.push([table(), table((41, "x", "B"))])]) == []


def test_a_batch_that_is_whole_misses_nothing() -> None:
    whole = replace(WAITING, is_whole=True)
    running = whole.start([SCHEMA] * 2, MemoryChunks(), None)

    seen = list(running.push([table((50, "x", "b"), (1, "x", "a")), table((3, "x", "A"))]))
    assert results(seen) == []
    seen = [running.finish()]

    assert results(seen) == [(3, "a", "A")]
    (measure,) = running.measured()
    assert (measure.wait, measure.produced, measure.missed) == (None, 1, 0)


def test_missed_results_are_measured_once_for_each_interval() -> None:
    running = replace(WAITING, wait=0).start([SCHEMA] * 2, MemoryChunks(), None)
    steps = [
        # The row at 11 shows hindsight that rows may be 9 late.
        (table((20, "z", "p"), (11, "z", "q")), table((20, "w", "P"))),
        (table((31, "x", "a")), table((32, "x", "A"))),
        (table((40, "x", "c")), table((40, "x", "B"))),
        # It would have joined A at 34, and B at 40.
        (table((34, "x", "b")), table()),
        (table((100, "y", "y")), table((100, "z", "Z"))),
    ]
    seen = [joined for step in steps for joined in running.push(step)]
    seen.append(running.finish())

    measures = running.measured()

    assert results(seen) == [(32, "a", "A"), (40, "c", "A"), (40, "a", "B"), (40, "c", "B")]
    assert sum(each.produced for each in measures) == 4
    assert sum(each.missed for each in measures) == 2
    assert [each.newest for each in measures] == [32, 40, 100]
    assert {each.wait for each in measures} == {0}
    assert running.measured() == []


def test_a_join_goes_on_where_it_was_stopped() -> None:
    chunks = MemoryChunks()
    running = WAITING.start([SCHEMA] * 2, chunks, None)
    list(running.push([table((1, "x", "a")), table((3, "x", "A"))]))

    again = WAITING.start([SCHEMA] * 2, chunks, running.save())

    assert again.held == running.held
    seen = [*again.push([table((4, "x", "b")), table((4, "y", "B"))]), again.finish()]
    assert results(seen) == [(3, "a", "A"), (4, "b", "A")]
