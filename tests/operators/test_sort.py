"""The sorter: its boundary rule, the paper's example and algorithm, four laws and a slow twin."""

from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.impatience import impatience
from latecomer.hosts.local import MemoryChunks
from latecomer.operators import runs, sort
from latecomer.operators.sort import Sort, Sorter
from latecomer.testing import TIME, late, play, ready, replay, rows, watermark
from latecomer.testing.notation import Mark, as_batch, as_marks
from latecomer.testing.strategies import Cuts, batchings, cut, disordered
from latecomer.time import FOREVER, NEVER

SORT = Sort(TIME)


def sorter(chunks: MemoryChunks | None = None, saved: bytes | None = None) -> Sorter:
    return SORT.start(as_batch(()).schema, chunks or MemoryChunks(), saved)


def named(times: list[int]) -> list[Mark]:
    """Give each row a name, to distinguish rows of equal time."""
    return [(time, str(i)) for i, time in enumerate(times)]


def test_a_row_behind_the_watermark_is_late() -> None:
    seen = play(SORT, rows(5, 3, 4), watermark(5), rows(2))

    assert seen == [ready(3, 4, 5), late(2)]


def test_a_row_at_the_watermark_is_on_time_and_comes_out_at_once() -> None:
    assert play(SORT, watermark(5), rows(5, 6, 4)) == [ready(5), late(4)]


def test_rows_after_the_watermark_are_held() -> None:
    assert play(SORT, rows(7, 6), watermark(5)) == []


def test_rows_of_equal_time_keep_their_order() -> None:
    seen = play(SORT, rows((2, "a"), (1, "b"), (2, "c")), rows((1, "d"), (2, "e")), watermark(2))

    assert seen == [ready((1, "b"), (1, "d"), (2, "a"), (2, "c"), (2, "e"))]


def test_a_watermark_that_falls_changes_nothing() -> None:
    assert play(SORT, watermark(5), watermark(3), rows(4)) == [late(4)]


def test_nothing_in_nothing_out() -> None:
    assert play(SORT, rows(), watermark(5), watermark(FOREVER)) == []


def test_times_before_1970_are_ordinary_times() -> None:
    assert play(SORT, rows(-5, -7), watermark(-6), rows(-6, -8), watermark(0)) == [
        ready(-7),
        ready(-6),
        late(-8),
        ready(-5),
    ]


def test_very_large_gaps_do_not_overflow() -> None:
    first, last = NEVER + 1, FOREVER - 1
    assert play(SORT, rows(last, first), watermark(FOREVER)) == [ready(first, last)]


@patch.object(sort, "LONG", 0)
def test_the_papers_example_with_its_number_of_runs() -> None:
    running = sorter()
    pushed = [*as_batch((2, 6, 5, 1)).to_batches(max_chunksize=1)]
    for batch in pushed:
        running.push(as_batch(batch["time"].to_pylist()))
    assert running.runs == 3

    assert as_marks(running.advance(2).ready) == (1, 2)
    assert running.runs == 2
    running.push(as_batch((4, 3, 7)))
    assert running.runs == 4
    assert as_marks(running.advance(4).ready) == (3, 4)
    assert running.runs == 2
    running.push(as_batch((8,)))
    assert as_marks(running.advance(FOREVER).ready) == (5, 6, 7, 8)
    assert running.runs == 0


@given(arrivals=disordered(max_delay=5), cuts=batchings())
def test_disorder_within_the_wait_leaves_no_trace(arrivals: list[int], cuts: Cuts) -> None:
    seen = replay(SORT, cut(arrivals, cuts), wait=5)

    assert seen.ready == sorted(arrivals)
    assert seen.late == []


steps = st.lists(
    st.one_of(
        st.lists(st.integers(-20, 20), max_size=12).map(lambda times: rows(*times)),
        st.integers(-20, 20).map(watermark),
    ),
    max_size=20,
)


def oracle(
    marks: list[Mark], at: int, held: list[Mark]
) -> tuple[list[Mark], list[Mark], list[Mark]]:
    """Push rows and a watermark, by brute force; return the ready, the late and the held rows."""
    late_rows = [mark for mark in marks if time_of(mark) < at]
    held = sorted([*held, *(mark for mark in marks if time_of(mark) >= at)], key=time_of)
    due = [mark for mark in held if time_of(mark) <= at]
    return due, late_rows, [mark for mark in held if time_of(mark) > at]


BOTH = (True, True)
"""Options of the paper's algorithm: speculative run selection and Huffman merge."""


def time_of(mark: Mark) -> int:
    return mark[0] if isinstance(mark, tuple) else mark


@given(
    steps=steps,
    chunk_rows=st.integers(1, 5),
    most_runs=st.integers(2, 4),
    long=st.sampled_from([0, 2, 64]),
    saves=st.lists(st.sampled_from(["no", "save", "restart"]), min_size=20, max_size=20),
)
def test_the_sorter_does_what_its_slow_twin_does(
    steps: list, chunk_rows: int, most_runs: int, long: int, saves: list[str]
) -> None:
    """Include tiny chunks, merged runs, rows sorted before they are placed, and saves."""
    with (
        patch.object(runs, "CHUNK_ROWS", chunk_rows),
        patch.object(sort, "MOST_RUNS", most_runs),
        patch.object(sort, "LONG", long),
    ):
        chunks = MemoryChunks()
        running, held, at, number = sorter(chunks), [], NEVER, 0
        for step, save in zip(steps, saves, strict=False):
            marks: list[Mark] = []
            if isinstance(step, type(watermark(0))):
                at = max(at, step.at)
                emission = running.advance(step.at)
            else:
                marks = [(time, str(number + i)) for i, time in enumerate(step.marks)]
                number += len(marks)
                emission = running.push(as_batch(marks))
            due, late_rows, held = oracle(marks, at, held)
            assert list(as_marks(emission.ready)) == due
            assert list(as_marks(emission.late)) == late_rows
            assert running.held == len(held)
            assert running.due() == (time_of(held[0]) if held else None)
            if save != "no":
                saved = running.save()
                assert sum(batch.num_rows for batch in chunks.batches.values()) >= len(held)
                running = sorter(chunks, saved) if save == "restart" else running
                assert running.runs <= most_runs


@st.composite
def clocked(draw: st.DrawFn) -> tuple[list[int], list[int], list[int]]:
    """Draw times in order of arrival, and watermarks with the number of times before each."""
    scale = draw(st.sampled_from([1, 2**57]))
    times = [time * scale for time in draw(st.lists(st.integers(-9, 9), max_size=30))]
    marks = list(range(draw(st.integers(1, 7)), len(times) + 1, draw(st.integers(1, 7))))
    wait = draw(st.integers(0, 9)) * scale
    return times, marks, [max(times[:mark]) - wait for mark in marks]


@given(
    stream=clocked(),
    cuts=batchings(),
    long=st.sampled_from([0, 64]),
    end=st.sampled_from(["hold", "save", "restart"]),
)
def test_the_sorter_does_what_the_papers_algorithm_does_event_by_event(
    stream: tuple[list[int], list[int], list[int]], cuts: Cuts, long: int, end: str
) -> None:
    times, marks, watermarks = stream
    order, counts, _ = impatience(*(np.array(part, np.int64) for part in stream), *BOTH)
    events, chunks = named(times), MemoryChunks()

    running, released, late_rows, seen = sorter(chunks), [], [], []
    with patch.object(sort, "LONG", long):
        for start, stop, at in zip(
            [0, *marks], [*marks, len(times)], [*watermarks, FOREVER], strict=True
        ):
            for batch in cut(events[start:stop], cuts):
                emission = running.push(as_batch(batch))
                released += as_marks(emission.ready)
                late_rows += as_marks(emission.late)
            if end != "hold":
                saved = running.save()
                running = sorter(chunks, saved) if end == "restart" else running
            released += as_marks(running.advance(at).ready)
            seen.append(len(released))

    assert released == [events[i] for i in order.tolist()]
    assert seen == [*counts.tolist(), len(order)]
    assert late_rows == [event for i, event in enumerate(events) if i not in set(order.tolist())]
    assert running.held == 0


def test_a_row_at_the_watermark_does_not_wait_for_the_next_one() -> None:
    """The paper's algorithm releases such a row only then; the order of rows is the same."""
    running = sorter()
    running.push(as_batch((5,)))
    running.advance(5)

    assert as_marks(running.push(as_batch((5, 9))).ready) == (5,)
    assert as_marks(running.advance(9).ready) == (9,)


@pytest.mark.parametrize("rows", [3_000, 200_000])
def test_many_disordered_rows_come_out_as_from_a_stable_sort(rows: int) -> None:
    times = np.random.default_rng(1).integers(-(10**4), 10**4, rows)
    table = pa.table({"time": times, "place": np.arange(rows)})
    running = SORT.start(table.schema, MemoryChunks(), None)
    running.push(table)

    ready = [running.advance(at).ready for at in (-5_000, 0, FOREVER)]

    order = np.argsort(times, kind="stable")
    assert pa.concat_tables(ready)["place"].to_pylist() == order.tolist()


@given(steps=steps, first=batchings(), second=batchings())
def test_other_batches_change_nothing(steps: list, first: Cuts, second: Cuts) -> None:
    def run(cuts: Cuts) -> tuple[list[Mark], list[Mark]]:
        running, number = sorter(), 0
        out: tuple[list[Mark], list[Mark]] = ([], [])
        for step in steps:
            if isinstance(step, type(watermark(0))):
                emissions = [running.advance(step.at)]
            else:
                marks = [(time, str(number + i)) for i, time in enumerate(step.marks)]
                number += len(marks)
                emissions = [running.push(as_batch(part)) for part in cut(marks, cuts)]
            for emission in emissions:
                out[0].extend(as_marks(emission.ready))
                out[1].extend(as_marks(emission.late))
        return out

    assert run(first) == run(second)


@given(steps=steps, at=st.integers(0, 20))
def test_a_sorter_goes_on_from_what_was_saved(steps: list, at: int) -> None:
    def run(*, restart: bool) -> list:
        chunks = MemoryChunks()
        running = sorter(chunks)
        seen = []
        for i, step in enumerate(steps):
            if restart and i == at:
                running = sorter(chunks, running.save())
            is_mark = isinstance(step, type(watermark(0)))
            emission = running.advance(step.at) if is_mark else running.push(as_batch(step.marks))
            seen.append((as_marks(emission.ready), as_marks(emission.late)))
        return [*seen, as_marks(running.advance(FOREVER).ready)]

    assert run(restart=True) == run(restart=False)


@given(steps=steps)
def test_every_row_comes_out_once(steps: list) -> None:
    running = sorter()
    seen: list[Mark] = []
    for step in steps:
        is_mark = isinstance(step, type(watermark(0)))
        emission = running.advance(step.at) if is_mark else running.push(as_batch(step.marks))
        seen += [*as_marks(emission.ready), *as_marks(emission.late)]
    seen += as_marks(running.advance(FOREVER).ready)

    pushed = [
        mark for step in steps if not isinstance(step, type(watermark(0))) for mark in step.marks
    ]
    assert sorted(seen) == sorted(pushed)


class CountingChunks(MemoryChunks):
    """Chunks that count how often they are read and written."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = self.writes = 0

    def get(self, number: int) -> object:
        self.reads += 1
        return super().get(number)

    def put(self, number: int, rows: object) -> None:
        self.writes += 1
        super().put(number, rows)


def test_a_watermark_reads_only_chunks_that_are_due() -> None:
    chunks = CountingChunks()
    with patch.object(runs, "CHUNK_ROWS", 10):
        running = sorter(chunks)
        running.push(as_batch(range(1000)))
        running.push(as_batch(range(500, 700)))
        running = sorter(chunks, running.save())
        assert chunks.reads == 0

        running.advance(-1)
        assert chunks.reads == 0
        running.advance(19)
        assert chunks.reads == 2
        running.advance(22)
        assert chunks.reads == 3


def test_a_chunk_that_is_partly_due_is_read_once_between_two_saves() -> None:
    chunks = CountingChunks()
    running = sorter(chunks)
    running.push(as_batch(range(10)))
    running = sorter(chunks, running.save())

    running.advance(3)
    running.advance(5)
    assert chunks.reads == 1
    running.save()
    running.advance(7)
    assert chunks.reads == 2


def test_rows_that_come_and_go_between_two_saves_are_never_written() -> None:
    chunks = CountingChunks()
    running = sorter(chunks)
    running.push(as_batch((3, 1, 2, 9)))
    running.advance(3)
    assert chunks.writes == 0

    running.save()
    assert [as_marks(batch) for batch in chunks.batches.values()] == [(9,)]


def test_saved_chunks_are_not_written_again() -> None:
    chunks = CountingChunks()
    running = sorter(chunks)
    running.push(as_batch(range(10)))
    running.save()
    running.advance(3)
    running.save()

    assert (chunks.writes, running.held) == (1, 6)


def test_a_chunk_is_forgotten_once_its_rows_are_out() -> None:
    chunks = MemoryChunks()
    running = sorter(chunks)
    running.push(as_batch((3, 1, 2)))
    running.save()
    assert len(chunks.batches) > 0
    running.advance(FOREVER)

    assert chunks.batches == {}


@pytest.mark.parametrize("where", ["in chunks", "in memory"])
def test_a_long_way_is_cut_into_stops_that_release_little_at_a_time(where: str) -> None:
    with (
        patch.object(runs, "CHUNK_ROWS", 10),
        patch.object(runs, "CHUNK_BYTES", 200),
        patch.object(sort, "RELEASE_BYTES", 600),
    ):
        running = sorter()
        running.push(as_batch([i * 37 % 100 for i in range(100)]))
        if where == "in chunks":
            running.save()
        stops = running.stops(FOREVER)
        released = [running.advance(stop).ready for stop in stops]

    assert stops[-1] == FOREVER
    assert max(batch.num_rows for batch in released) <= 50
    assert [mark for batch in released for mark in as_marks(batch)] == list(range(100))


def test_a_short_way_needs_no_stop() -> None:
    running = sorter()
    running.push(as_batch(range(100)))

    assert running.stops(50) == [50]


@pytest.mark.parametrize("count", [1, 257, 40_000])
def test_a_large_disordered_batch_is_one_run(count: int) -> None:
    running = sorter()
    running.push(as_batch([i * 7919 % count for i in range(count)]))

    assert running.runs == 1
    assert as_marks(running.advance(FOREVER).ready) == tuple(range(count))


def test_many_small_appends_leave_few_compact_chunks() -> None:
    chunks = MemoryChunks()
    running = sorter(chunks)
    for i in range(300):
        running.push(as_batch(range(10 * i, 10 * i + 10)))
        running.save()

    assert len(chunks.batches) == 1
    (chunk,) = chunks.batches.values()
    assert chunk.column("time").num_chunks == 1


def test_large_rows_make_small_chunks() -> None:
    chunks = MemoryChunks()
    with patch.object(runs, "CHUNK_BYTES", 4_000):
        running = sorter(chunks)
        running.push(as_batch([(i, "x" * 1_000) for i in range(100)]))
        running.save()

    assert max(batch.num_rows for batch in chunks.batches.values()) <= 4


def test_a_few_held_rows_do_not_keep_the_rows_they_came_with_in_memory() -> None:
    running = sorter()
    before = pa.total_allocated_bytes()
    for i in range(100):
        running.push(as_batch([*range(1_000 * i, 1_000 * i + 1_000), 10**9 + i]))
        running.advance(1_000 * i + 999)

    assert running.held == 100
    assert pa.total_allocated_bytes() - before < 200_000
