import numpy as np
import pyarrow as pa

from latecomer.operators import runs
from latecomer.operators.runs import Part, Piece, Run


def piece(rows: int, row_bytes: int = 8) -> Piece:
    times = np.arange(rows)
    return Piece(pa.table({"time": times}), times, rows * row_bytes)


def is_copied(part: Piece, whole: Piece) -> bool:
    addresses = [each.rows["time"].chunk(0).buffers()[1].address for each in (part, whole)]
    return addresses[0] != addresses[1]


def test_a_cut_has_its_rows_its_times_and_its_share_of_the_bytes() -> None:
    part = piece(10).cut(2, 5)

    assert part.rows["time"].to_pylist() == part.times.tolist() == [2, 3, 4]
    assert part.size == 24


def test_rows_are_taken_in_any_order() -> None:
    part = piece(10).taken(np.array([3, 1]))

    assert part.rows["time"].to_pylist() == part.times.tolist() == [3, 1]
    assert part.size == 16


def test_only_few_rows_are_copied() -> None:
    whole = piece(2 * runs.FEW)

    assert is_copied(whole.kept(0, 1), whole)
    assert not is_copied(whole.kept(0, 2), whole)
    assert whole.kept(7, 8).times.tolist() == [7]


def test_shares_have_no_more_rows_and_bytes_than_they_may() -> None:
    few_rows = [share.times.tolist() for share in piece(5).shares(2)]
    few_bytes = [len(share.times) for share in piece(5, runs.CHUNK_BYTES // 3).shares(100)]

    assert few_rows == [[0, 1], [2, 3], [4]]
    assert few_bytes == [3, 2]


def test_a_part_in_a_chunk_does_not_keep_its_rows() -> None:
    assert Part.of(piece(3)).piece is not None
    assert Part.of(piece(3), 7).piece is None


def test_a_part_is_made_again_of_what_is_saved_of_it() -> None:
    part = Part.of(piece(3), 7)
    part.released = 1

    assert Part(*part.entry) == part
    assert part.is_written


def test_a_chunk_is_small_while_as_many_rows_would_fit_again() -> None:
    assert Part.of(piece(runs.CHUNK_ROWS // 2)).is_small
    assert not Part.of(piece(runs.CHUNK_ROWS // 2 + 1)).is_small
    assert not Part.of(piece(2, runs.CHUNK_BYTES)).is_small


def test_a_run_counts_what_it_holds_and_ends_at_its_tail() -> None:
    run = Run()
    run.append(piece(10))
    run.parts[0].released = 4

    assert (run.rows, run.tail) == (6, 9)


def test_large_rows_are_appended_as_several_parts() -> None:
    run = Run()
    run.append(piece(4, runs.CHUNK_BYTES // 2))

    assert [part.rows for part in run.parts] == [2, 2]
