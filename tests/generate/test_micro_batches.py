from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from latecomer.generate.micro_batches import write_micro_batches

if TYPE_CHECKING:
    from pathlib import Path


def files(directory: Path) -> list[Path]:
    """List files in the order in which Spark reads them: by modification time."""
    return sorted(directory.glob("*.parquet"), key=lambda path: path.stat().st_mtime)


@pytest.mark.parametrize(
    ("rows", "batches", "sizes"),
    [
        (10, 3, [4, 4, 2]),
        (3, 3, [1, 1, 1]),
        (2, 5, [1, 1]),
        (1, 1, [1]),
        (0, 4, [0]),
        (5, 4, [2, 2, 1]),
    ],
)
def test_rows_are_cut_into_as_many_files_at_the_most(
    tmp_path: Path, rows: int, batches: int, sizes: list[int]
) -> None:
    directory = write_micro_batches(
        pa.table({"n": pa.array(range(rows), pa.int64())}), tmp_path, batches
    )

    written = [pq.read_table(path)["n"].to_pylist() for path in files(directory)]

    assert [len(some) for some in written] == sizes
    assert [n for some in written for n in some] == list(range(rows))


def test_a_stream_that_reads_along_sees_whole_files_with_their_own_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[set[float]] = []

    def look() -> None:
        # Spark reads neither of the two kinds of hidden files.
        found = [path for path in tmp_path.iterdir() if path.name[0] not in "._"]
        seen.append({path.stat().st_mtime for path in found})

    def write_table(table: pa.Table, path: Path) -> None:
        path.touch()
        look()
        WRITE(table, path)
        look()

    def utime(path: Path, times: tuple[float, float]) -> None:
        UTIME(path, times)
        look()

    monkeypatch.setattr(pq, "write_table", write_table)
    monkeypatch.setattr("os.utime", utime)
    write_micro_batches(pa.table({"n": range(2)}), tmp_path, 2)

    first = min(path.stat().st_mtime for path in tmp_path.iterdir())
    assert seen == [set()] * 3 + [{first}] * 3


WRITE, UTIME = pq.write_table, os.utime


def test_each_file_is_later_by_a_second_than_the_one_before(tmp_path: Path) -> None:
    write_micro_batches(pa.table({"n": range(3)}), tmp_path, 3)

    times = [path.stat().st_mtime for path in sorted(tmp_path.iterdir())]
    assert times == [times[0], times[0] + 1, times[0] + 2]


def test_another_call_can_write_on_where_the_first_left_off(tmp_path: Path) -> None:
    target = tmp_path / "made" / "here"
    write_micro_batches(pa.table({"n": [0, 1]}), target, 2)
    write_micro_batches(pa.table({"n": [2]}), target, 1, first=2)

    assert [pq.read_table(path)["n"].to_pylist() for path in files(target)] == [[0], [1], [2]]
