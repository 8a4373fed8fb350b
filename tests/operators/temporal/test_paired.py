"""Begins and ends that arrive as separate rows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from latecomer.hosts.local import MemoryChunks
from latecomer.operators.temporal.paired import Paired
from latecomer.testing.strategies import Cuts, batchings, cut
from latecomer.time import FOREVER, TimeColumn
from tests.operators.temporal.driving import events_of

if TYPE_CHECKING:
    from tests.operators.temporal.oracle import Event

SPEC = Paired(*(TimeColumn(name, "us") for name in ("known", "start", "end")))
SCHEMA = pa.schema({"known": pa.int64(), "start": pa.int64(), "end": pa.int64(), "k": pa.string()})

Row = tuple[int, int | None, str | None]


def play(
    rows: list[Row], cuts: Cuts = (), *, restart: bool = False
) -> tuple[Counter[Event], list[Row]]:
    """Push rows in batches; return the events of the ready rows, and the late rows."""
    chunks = MemoryChunks()
    running = SPEC.start(SCHEMA, chunks)
    ready, late = [], []
    for batch in cut(rows, list(cuts)):
        known = [(start if end is None else end, start, end, k) for start, end, k in batch]
        columns = zip(*known, strict=True) if known else [()] * len(SCHEMA)
        arrays = [pa.array(c, field.type) for c, field in zip(columns, SCHEMA, strict=True)]
        emission = running.push(pa.table(arrays, SCHEMA))
        ready += emission.ready.to_pylist()
        late += [(r["start"], r["end"], r["k"]) for r in emission.late.to_pylist()]
        if restart:
            running = SPEC.start(SCHEMA, chunks, running.save())
    assert running.advance(FOREVER).ready.num_rows == 0
    return events_of(ready), late


def twin(rows: list[Row]) -> tuple[Counter[Event], list[Row]]:
    """Find the begin of each end among the open rows."""
    opened: list[tuple[int, str | None]] = []
    found, late = Counter(), []
    for start, end, k in rows:
        if end is None:
            opened.append((start, k))
        elif (start, k) in opened:
            opened.remove((start, k))
            found[start, end, (k,)] += 1
        else:
            late.append((start, end, k))
    return found + Counter((start, None, (k,)) for start, k in opened), late


def test_an_end_belongs_to_an_equal_row_that_began_at_its_start() -> None:
    rows = [(3, None, "a"), (3, None, "b"), (4, None, "a"), (3, 9, "a")]

    seen, late = play(rows)

    assert seen == Counter([(3, 9, ("a",)), (3, None, ("b",)), (4, None, ("a",))])
    assert late == []


def test_an_end_whose_begin_did_not_come_is_late() -> None:
    assert play([(3, None, "a"), (4, 9, "a"), (3, 5, "b")]) == (
        Counter([(3, None, ("a",))]),
        [(4, 9, "a"), (3, 5, "b")],
    )


def test_one_begin_has_one_end() -> None:
    assert play([(3, None, "a"), (3, 5, "a"), (3, 9, "a")], [2]) == (
        Counter([(3, 5, ("a",))]),
        [(3, 9, "a")],
    )


@st.composite
def arrivals(draw: st.DrawFn) -> list[Row]:
    """Draw rows in order of the times at which they are known, begins before ends."""
    key = st.sampled_from(["a", "b", None])
    begins = draw(st.lists(st.tuples(st.integers(0, 5), st.none(), key), max_size=6))
    ends = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(6, 9), key), max_size=6))
    early = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(3, 5), key), max_size=3))
    rows = [*begins, *early, *ends]
    return sorted(rows, key=lambda row: (row[0] if row[1] is None else row[1], row[1] is not None))


@settings(max_examples=60)
@given(rows=arrivals(), cuts=batchings(max_size=5), restart=st.booleans())
def test_batches_and_restarts_change_nothing(rows: list[Row], cuts: Cuts, *, restart: bool) -> None:
    assert play(rows, cuts, restart=restart) == twin(rows)


def test_there_is_nothing_to_wait_for_and_what_has_ended_is_not_held() -> None:
    chunks = MemoryChunks()
    running = SPEC.start(SCHEMA, chunks)
    running.push(pa.table([[3], [3], pa.array([None], pa.int64()), ["a"]], SCHEMA))
    running.save()
    assert (running.held, len(chunks.batches)) == (1, 1)

    running.push(pa.table([[9], [3], [9], ["a"]], SCHEMA))
    running.save()

    assert (running.held, chunks.batches) == (0, {})
    assert (running.due(), running.stops(7)) == (None, [7])
