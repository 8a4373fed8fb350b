"""Aggregates over lifetimes, against their definition."""

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer import agg
from latecomer.clock.policy import OneClock
from latecomer.errors import ColumnTypeError
from latecomer.hosts.local import LocalHost, MemoryChunks
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.levels import Levels
from latecomer.operators.sort import Sort
from latecomer.operators.windows.snapshots import Snapshots
from latecomer.plan import Plan, Source, Stage
from latecomer.testing.strategies import Cuts, batchings, cut
from latecomer.time import FOREVER, TimeColumn
from tests.operators.windows.test_aggregate import MS, SCHEMA, TIME, Row, rows_of_a_stream, table

RESULTS = Summary(
    ("key",), (("rows", agg.count()), ("high", agg.max("value")), ("all", agg.collect("value")))
)
SNAPSHOTS = Snapshots(TIME, 10 * MS, (0,), RESULTS)

Stretch = tuple[int, int, str, int, int, list[int]]


def twin(rows: Sequence[Row], duration: int) -> list[Stretch]:
    """For each key, cut time at every begin and end, and look at all rows in each stretch."""
    keys: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        keys[row[1]].append(row)
    found = []
    for key, mine in keys.items():
        cuts = sorted({time + more for time, _, _ in mine for more in (0, duration)})
        for start, end in itertools.pairwise(cuts):
            alive = sorted(
                (row for row in mine if row[0] <= start < row[0] + duration), key=lambda r: r[0]
            )
            values = [value for _, _, value in alive]
            if values:
                found.append((start, end, key, len(values), max(values), values))
    return sorted(found)


def stretches(ready: pa.Table) -> list[Stretch]:
    return sorted(
        (r["window"]["start"], r["window"]["end"], r["key"], r["rows"], r["high"], r["all"])
        for r in ready.to_pylist()
    )


@given(rows=rows_of_a_stream, cuts=batchings(), wait=st.integers(0, 12))
def test_there_is_an_answer_for_every_stretch_in_which_something_counts(
    rows: list[Row], cuts: Cuts, wait: int
) -> None:
    stage = Stage(("key",), (Sort(TIME), replace(SNAPSHOTS, waits=(wait * MS,))))
    host = LocalHost(Plan(Source(TIME), OneClock((wait * MS,)), "divert", (stage,)), SCHEMA)

    steps = [host.step(table(batch)) for batch in cut(rows, cuts)]
    watermarks = [step.watermark // MS for step in steps]
    steps.append(host.finish())

    late = [(r["time"], r["key"], r["value"]) for step in steps for r in step.late.to_pylist()]
    in_time = list(rows)
    for row in late:
        in_time.remove(row)
    assert stretches(pa.concat_tables([s.ready for s in steps])) == twin(in_time, 10)
    # A stretch is told when its end is reached, neither before nor after.
    for at, (step, watermark) in enumerate(zip(steps, watermarks, strict=False)):
        ends = [row["window"]["end"] for row in step.ready.to_pylist()]
        assert all(end <= watermark for end in ends)
        assert at == 0 or all(end > watermarks[at - 1] for end in ends)


@given(rows=rows_of_a_stream, cuts=batchings())
def test_each_of_several_waits_has_the_answers_it_would_have_alone(
    rows: list[Row], cuts: Cuts
) -> None:
    waits = (0, 4 * MS, 15 * MS)

    def run(waits: tuple[int, ...]) -> list[pa.Table]:
        sort = Levels(TIME, waits) if len(waits) > 1 else Sort(TIME)
        stage = Stage(("key",), (sort, replace(SNAPSHOTS, waits=waits)))
        host = LocalHost(Plan(Source(TIME), OneClock(waits), "divert", (stage,)), SCHEMA)
        return [*(host.step(table(b)).ready for b in cut(rows, cuts)), host.finish().ready]

    together = run(waits)

    for wait in waits:
        mine = pa.scalar(wait, pa.duration("us"))
        for several, alone in zip(together, run((wait,)), strict=True):
            assert stretches(several.filter(pa.compute.equal(several["wait"], mine))) == stretches(
                alone
            )
    finals = {row["is_final"] for ready in together for row in ready.to_pylist()}
    assert not rows or finals == {False, True}


@given(
    times=st.lists(st.integers(-20, 40), max_size=20).map(sorted),
    marks=st.lists(st.integers(-30, 60), min_size=1, max_size=4).map(sorted),
)
def test_it_goes_on_where_it_was_saved_and_wakes_when_it_must(
    times: list[int], marks: list[int]
) -> None:
    def play(*, restart: bool) -> list[list[Stretch]]:
        chunks = MemoryChunks()
        running = SNAPSHOTS.start(SCHEMA, chunks)
        seen, before = [], -100
        for mark in [*marks, None]:
            until = 100 if mark is None else mark
            due, at = running.due(), FOREVER if mark is None else mark * MS
            new = [(t, "ab"[t % 2], t) for t in times if before < t <= until]
            if new:
                running.push(table(new))
            emission = running.advance(at)
            assert new or not emission.ready.num_rows or (due is not None and due <= at)
            seen.append(stretches(emission.ready))
            before = until
            if restart:
                running = SNAPSHOTS.start(SCHEMA, chunks, running.save())
        assert running.held == 0
        assert chunks.batches == {}
        return seen

    plain = play(restart=False)
    assert play(restart=True) == plain
    rows = [(t, "ab"[t % 2], t) for t in times]
    assert sorted(s for step in plain for s in step) == twin(rows, 10)


def test_a_time_too_far_out_is_refused() -> None:
    spec = replace(SNAPSHOTS, time=TimeColumn("time", "us"))
    running = spec.start(SCHEMA, MemoryChunks())

    with pytest.raises(ColumnTypeError, match="tens of thousands of years"):
        running.push(table([(2**62, "a", 1)]))
