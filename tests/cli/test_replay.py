"""`latecomer replay`. Tests in generate/replay check which rows are in which file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from tests.support.commands import latecomer
from tests.support.recordings import record

if TYPE_CHECKING:
    from pathlib import Path

MINUTE = 60_000_000


def files(directory: Path) -> dict[str, list[str]]:
    found = sorted(directory.iterdir())
    return {file.name: pq.read_table(file)["id"].to_pylist() for file in found}


def test_replay_by_rows_writes_that_many_to_a_file(tmp_path: Path) -> None:
    late = record(tmp_path / "a.parquet", [1, 2, 3, 4, 5])

    answer = latecomer("replay", late, "--rows-per-batch", 2, "--to", tmp_path / "out")

    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == f"{tmp_path}/out: 5 of 5 rows in 3 files.\n"
    assert files(tmp_path / "out") == {
        "000000.parquet": ["a0", "a1"],
        "000001.parquet": ["a2", "a3"],
        "000002.parquet": ["a4"],
    }


def test_replay_by_arrival_merges_files_and_writes_what_came_in_a_span(tmp_path: Path) -> None:
    record(tmp_path / "a.parquet", [0, 12 * MINUTE])
    record(tmp_path / "b.parquet", [9 * MINUTE, 31 * MINUTE])

    answer = latecomer(
        "replay", tmp_path, "--arrival-per-batch", "10 minutes", "--to", tmp_path / "out"
    )

    assert answer.returncode == 0, answer.stderr
    assert list(files(tmp_path / "out").values()) == [["a0", "b0"], ["a1"], ["b1"]]


def test_replay_with_a_speed_ends_when_all_has_arrived(tmp_path: Path) -> None:
    late = record(tmp_path / "a.parquet", [0, 30, 60])

    answer = latecomer(
        *("replay", late, "--speed", 60, "--unit", "s", "--every", "0s", "--to", tmp_path / "out")
    )

    assert answer.returncode == 0, answer.stderr
    # A slow machine writes fewer files. Other tests check their rows, with a simulated clock.
    assert [row for file in files(tmp_path / "out").values() for row in file] == ["a0", "a1", "a2"]


def test_replay_goes_on_after_the_last_file(tmp_path: Path) -> None:
    late = record(tmp_path / "a.parquet", [1, 2, 3])
    command = ["replay", late, "--rows-per-batch", 1, "--to", tmp_path / "out"]
    latecomer(*command)
    whole = files(tmp_path / "out")
    (tmp_path / "out" / "000002.parquet").unlink()
    (tmp_path / "out" / "000000.parquet").unlink()

    answer = latecomer(*command)

    assert answer.stdout == f"{tmp_path}/out: 3 of 3 rows in 3 files.\n"
    assert files(tmp_path / "out") == {
        name: whole[name] for name in ("000001.parquet", "000002.parquet")
    }


def test_replay_does_not_go_on_with_another_file(tmp_path: Path) -> None:
    late = record(tmp_path / "a.parquet", [1, 2, 3])
    command = ["replay", late, "--rows-per-batch", 2, "--to", tmp_path / "out"]
    latecomer(*command)
    record(late, [1, 4, 5])

    answer = latecomer(*command)

    assert (answer.returncode, answer.stdout) == (1, "")
    assert "it is not the same file.\nHint: put the file back" in answer.stderr


def test_replay_refuses_a_directory_that_is_not_its_own(tmp_path: Path) -> None:
    late = record(tmp_path / "a.parquet", [1])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")

    answer = latecomer("replay", late, "--rows-per-batch", 1, "--to", tmp_path / "out")

    assert (answer.returncode, answer.stdout) == (1, "")
    assert 'holds files that no replay wrote, such as "notes.txt".\nHint' in answer.stderr
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        ("a.parquet", [], "a replay needs one of --speed, --rows-per-batch, --arrival-per-batch"),
        ("a.parquet", ["--speed", 1, "--rows-per-batch", 1], "got --speed and --rows-per-batch.\n"),
        ("a.parquet", ["--speed", 1, "--every", "soon"], "cannot read --every='soon'"),
        ("a.parquet", ["--speed", 1, "--arrival", "at"], 'no column "at" in '),
        ("late.csv", ["--speed", 1], "cannot read "),
        ("none.parquet", ["--speed", 1], "no Parquet files at "),
        ("a.parquet", ["--speed", 1, "--to", "late.csv"], 'cannot write to "late.csv": '),
        (
            "a.parquet",
            ["--speed", 1, "--to", "late.csv/x"],
            'cannot write "late.csv/x": there is no directory',
        ),
    ],
)
def test_replay_says_in_words_what_it_cannot_do(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    options: list[object],
    message: str,
) -> None:
    record(tmp_path / "a.parquet", [1])
    (tmp_path / "late.csv").write_text("arrival\n1\n")
    monkeypatch.chdir(tmp_path)

    answer = latecomer("replay", path, "--to", "out", *options)

    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr.lstrip().startswith("latecomer: ")
    assert message in answer.stderr
    assert "Hint: " in answer.stderr
