from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.operators import runs
from latecomer.operators.runs import UNWRITTEN, Part, Piece, Run

if TYPE_CHECKING:
    import pytest


def piece(*times: int, size: int | None = None) -> Piece:
    rows = pa.table({"time": pa.array(times, pa.int64())})
    return Piece(rows, np.array(times, np.int64), 10 * len(times) if size is None else size)


def told(found: Piece) -> tuple[list[int], list[int], int]:
    return found.rows["time"].to_pylist(), found.times.tolist(), found.size


def test_rows_are_cut_and_taken_with_their_times_and_their_share_of_the_bytes() -> None:
    whole = piece(1, 2, 3, 4)

    assert told(whole.cut(1, 3)) == ([2, 3], [2, 3], 20)
    assert told(whole.taken(np.array([3, 0]))) == ([4, 1], [4, 1], 20)
    assert told(whole.cut(2, 2)) == ([], [], 0)


def test_few_rows_are_copied_so_that_the_others_can_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "FEW", 2)
    whole = piece(*range(8))

    copied, cut = whole.kept(0, 3), whole.kept(0, 4)

    assert told(copied)[0] == [0, 1, 2]
    assert not np.shares_memory(copied.times, whole.times)
    assert np.shares_memory(cut.times, whole.times)


def test_a_share_has_at_most_so_many_rows_and_fits_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "CHUNK_BYTES", 20)

    assert [len(each.times) for each in piece(*range(7)).shares(3)] == [2, 2, 2, 1]
    assert [len(each.times) for each in piece(*range(7), size=7).shares(3)] == [3, 3, 1]
    # A row larger than a chunk has a chunk of its own.
    assert [len(each.times) for each in piece(1, 2, size=999).shares(9)] == [1, 1]


def test_a_part_says_what_is_in_it_and_where() -> None:
    held, written = Part.of(piece(3, 5, 9)), Part.of(piece(3, 5, 9), 7)

    assert held.entry == [UNWRITTEN, 3, 9, 3, 30, 0]
    assert written.entry == [7, 3, 9, 3, 30, 0]
    assert held.piece is not None
    assert written.piece is None
    assert (held.is_written, written.is_written) == (False, True)
    assert Part(*written.entry) == written


def test_a_part_is_small_if_a_chunk_has_room_for_as_many_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runs, "CHUNK_ROWS", 4)
    monkeypatch.setattr(runs, "CHUNK_BYTES", 100)

    assert Part.of(piece(1, 2)).is_small
    assert not Part.of(piece(1, 2, 3)).is_small
    assert not Part.of(piece(1, size=51)).is_small


def test_a_run_ends_with_its_last_row_and_counts_what_is_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runs, "CHUNK_BYTES", 20)
    run = Run()

    run.append(piece(1, 2, 3))
    run.append(piece(3, 8))
    run.parts[0].released = 1

    assert [part.rows for part in run.parts] == [2, 1, 2]
    assert (run.tail, run.rows) == (8, 4)
