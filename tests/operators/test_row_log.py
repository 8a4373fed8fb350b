"""Rows are written once, and read as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from latecomer.hosts.local import MemoryChunks
from latecomer.operators import row_log
from latecomer.operators.row_log import Numbered, RowLog

if TYPE_CHECKING:
    import pytest

SCHEMA = pa.schema({"name": pa.string()})


class Counted(MemoryChunks):
    """Chunks that count the rows that are written."""

    rows = 0

    def __len__(self) -> int:
        return len(self.batches)

    @property
    def stored(self) -> int:
        return sum(each.num_rows for each in self.batches.values())

    def put(self, number: int, rows: pa.Table) -> None:
        self.rows += rows.num_rows
        super().put(number, rows)


def table(*numbers: int) -> Numbered:
    """Return rows with numbers, and names made from these."""
    rows = pa.table({"name": [str(number) for number in numbers]}, SCHEMA)
    return Numbered(rows, np.array(numbers, np.int64))


def names(found: Numbered) -> list[str]:
    assert found.rows.column("name").to_pylist() == [str(number) for number in found.numbers]
    return list(found.rows.column("name").to_pylist())


def test_a_chunk_is_written_once_and_dropped_with_its_last_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(row_log, "SMALL", 0)
    chunks, log, written = Counted(), RowLog([SCHEMA]), []
    for number in range(5):
        log.save([table(*range(max(10 * number - 10, 0), 10 * number + 10))], chunks)
        written.append((chunks.rows, len(chunks)))

    assert written == [(10, 1), (20, 2), (30, 2), (40, 2), (50, 2)]
    log.save([table()], chunks)
    assert chunks.batches == {}


def test_a_small_chunk_is_written_with_the_rows_that_follow() -> None:
    chunks, log = Counted(), RowLog([SCHEMA])
    for count in (2, 4, 6, 6):
        log.save([table(*range(count))], chunks)

    assert (chunks.rows, len(chunks)) == (2 + 4 + 6, 1)


def test_a_chunk_of_which_little_is_needed_is_written_again() -> None:
    chunks, log = Counted(), RowLog([SCHEMA])
    log.save([table(*range(10))], chunks)
    for first, rows in ((5, 10), (6, 14), (7, 14)):
        saved = log.save([table(*range(first, 10))], chunks)
        assert chunks.rows == rows

    (found,) = RowLog([SCHEMA]).load(saved, chunks)
    assert names(found) == ["7", "8", "9"]


def test_chunks_that_are_older_than_the_log_are_dropped() -> None:
    chunks, log = Counted(), RowLog([SCHEMA])
    for number in (0, 3):
        chunks.put(number, table(1, 2).rows)
    log.replace(0, [0, 3])

    saved = log.save([table(1, 2)], chunks)

    # A save does not use the number of a dropped chunk again.
    assert [*chunks.batches] == [4]
    assert names(RowLog([SCHEMA]).load(saved, chunks)[0]) == ["1", "2"]


@given(
    steps=st.lists(
        st.tuples(st.integers(0, 9), st.sets(st.integers(0, 60)), st.booleans()), max_size=12
    ),
    small=st.sampled_from([0, 5]),
)
def test_the_rows_that_are_needed_are_read_again_and_few_others_are_stored(
    steps: list[tuple[int, set[int], bool]], small: int
) -> None:
    before, row_log.SMALL = row_log.SMALL, small
    try:
        chunks, log = Counted(), RowLog([SCHEMA, SCHEMA])
        held: list[int] = []
        first = 0
        for count, gone, is_restarted in steps:
            held = [*(each for each in held if each not in gone), *range(first, first + count)]
            first += count
            even = [number for number in held if not number % 2]
            saved = log.save([table(*held), table(*even)], chunks)
            if is_restarted:
                log = RowLog([SCHEMA, SCHEMA])
                one, other = log.load(saved, chunks)
                assert one.numbers.tolist() == held
                assert names(one) == [str(number) for number in held]
                assert names(other) == [str(number) for number in even]
            assert chunks.stored <= 2 * (len(held) + len(even))
    finally:
        row_log.SMALL = before
