"""One sort for several watermarks: each level gives the rows of a separate sort."""

from unittest.mock import patch

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from latecomer.hosts.local import MemoryChunks
from latecomer.operators import shared_sort, sort
from latecomer.operators.base import Running
from latecomer.operators.sort import Sort
from latecomer.testing import TIME
from latecomer.testing.notation import as_batch
from latecomer.time import FOREVER

SORT = Sort(TIME)
SCHEMA = as_batch(()).schema
NUMBERS = pa.schema({"time": pa.int64(), "name": pa.int64()})
"""Columns of rows of equal size. Rows with text differ in size."""
LEVELS = 3

Step = tuple[list[int], list[int], bool]
"""The advance of each watermark, the times of the rows, and whether a restart follows."""
steps = st.lists(
    st.tuples(
        st.lists(st.integers(0, 9), min_size=LEVELS, max_size=LEVELS),
        st.lists(st.integers(0, 40), max_size=12),
        st.booleans(),
    ),
    min_size=1,
    max_size=10,
)


def batch(times: list[int], first: int) -> pa.Table:
    return as_batch([(time, str(first + i)) for i, time in enumerate(times)])


def advanced(running: Running, watermark: int) -> list[dict[str, object]]:
    emissions = [running.advance(stop) for stop in running.stops(watermark)]
    return [row for each in emissions for row in each.ready.to_pylist()]


class Levels:
    """A shared sort, and a separate sort for each level."""

    def __init__(self, schema: pa.Schema = SCHEMA) -> None:
        self.schema = schema
        self.chunks = [MemoryChunks() for _ in range(LEVELS)]
        self.shared = SORT.start_levels(schema, self.chunks, [None] * LEVELS)
        self.alone = [SORT.start(schema, MemoryChunks()) for _ in range(LEVELS)]

    def restart(self) -> None:
        saved = [level.save() for level in self.shared]
        self.shared = SORT.start_levels(self.schema, self.chunks, saved)

    def step(self, marks: list[int], rows: pa.Table, *, asks_due: bool = True) -> None:
        rows = rows.cast(self.schema)
        for shared, alone, mark in zip(self.shared, self.alone, marks, strict=True):
            assert advanced(shared, mark) == advanced(alone, mark)
            found, expected = shared.push(rows), alone.push(rows)
            assert found.ready.to_pylist() == expected.ready.to_pylist()
            if shared is self.shared[-1]:
                assert found.late.to_pylist() == expected.late.to_pylist()
        for shared, alone in zip(self.shared, self.alone, strict=True):
            assert shared.held == alone.held
            # `due` makes the levels pass stragglers on at once, so it is not always called.
            assert not asks_due or shared.due() == alone.due()


@given(
    steps,
    st.sampled_from([1, 100, 1 << 20]),
    st.sampled_from([0, 64]),
    st.tuples(st.sampled_from([0, 1_024]), st.sampled_from([0, 3, 1_024])),
    st.tuples(st.sampled_from([SCHEMA, NUMBERS]), st.booleans()),
)
def test_each_level_is_a_sort_with_its_watermarks(
    script: list[Step],
    release_bytes: int,
    long: int,
    few: tuple[int, int],
    rows: tuple[pa.Schema, bool],
) -> None:
    schema, asks_due = rows
    levels, marks, seen = Levels(schema), [0] * LEVELS, 0
    with (
        patch.object(sort, "RELEASE_BYTES", release_bytes),
        patch.object(shared_sort, "RELEASE_BYTES", release_bytes),
        patch.object(sort, "LONG", long),
        patch.object(shared_sort, "FEW", few[0]),
        patch.object(shared_sort, "FEW_TAKEN", few[1]),
    ):
        for moves, times, is_restarted in script:
            wanted = [mark + move for mark, move in zip(marks, moves, strict=True)]
            # No watermark is higher than that of the level before, and none falls.
            marks = [min(wanted[: at + 1]) for at in range(LEVELS)]
            levels.step(marks, batch(times, seen), asks_due=asks_due)
            seen += len(times)
            if is_restarted:
                levels.restart()
        levels.step([FOREVER] * LEVELS, batch([], seen))


def test_a_row_is_written_once_for_all_levels() -> None:
    levels = Levels()
    levels.step([20, 10, 0], batch([25, 15, 5, 30], 0))
    levels.restart()

    written = [rows for chunks in levels.chunks for rows in chunks.batches.values()]
    assert sorted(pa.concat_tables(written)["time"].cast(pa.int64()).to_pylist()) == [5, 15, 25, 30]


def test_rows_of_equal_time_keep_their_order_from_level_to_level() -> None:
    levels = Levels()
    levels.step([0, 0, 0], batch([4, 4, 3], 0))
    # The first level releases all rows; the next row is late for it, and among the others' rows.
    levels.step([4, 1, 0], batch([3, 4], 3))
    levels.step([9, 3, 3], batch([3], 5))
    levels.step([FOREVER] * LEVELS, batch([], 6))


def test_the_levels_behind_the_first_do_not_copy_rows() -> None:
    levels = Levels().shared
    levels[-1].push(batch([2, 1, 3], 0))

    released = [level.advance(mark).ready for level, mark in zip(levels, [3, 3, 2], strict=True)]

    assert [rows.num_rows for rows in released] == [3, 3, 2]
    buffers = [rows["time"].chunk(0).buffers()[1].address for rows in released]
    assert len(set(buffers)) == 1


def test_stragglers_among_few_kept_rows_are_sorted_together_with_them() -> None:
    levels = Levels(NUMBERS)
    levels.step([0, 0, 0], batch([1, 4, 9], 0))
    levels.step([9, 2, 1], batch([12, 4, 7], 3), asks_due=False)
    before = levels.shared[0]._kept.pieces

    levels.step([12, 3, 2], batch([], 6), asks_due=False)

    assert [piece.times.tolist() for piece in before] == [[4, 4, 7, 9], [12]]
    levels.step([FOREVER] * LEVELS, batch([], 6))


def test_stragglers_among_many_kept_rows_are_merged_when_they_are_due() -> None:
    with patch.object(shared_sort, "FEW", 0):
        levels = Levels()
        levels.step([0, 0, 0], batch(list(range(1, 31)), 0))
        levels.step([30, 2, 1], batch([3, 20, 29, 2], 30))
        levels.step([31, 3, 2], batch([20, 3, 31], 34))
        # Only the straggler at 29 had few rows behind it.
        assert levels.shared[1].first() is not None
        levels.step([FOREVER] * LEVELS, batch([], 37))
