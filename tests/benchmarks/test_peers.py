"""What other systems are given, and what is made of their answers."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc

from benchmarks.peers import PEERS, PROGRAMS, found
from benchmarks.peers_data import WAIT, make

NAMES = pc.ReadOptions(column_names=["time_ms", "key", "value"])


def rows(folder: Path) -> pa.Table:
    return pa.concat_tables(pc.read_csv(path, NAMES) for path in sorted(folder.iterdir()))


def test_everybody_gets_the_same_rows(tmp_path: Path) -> None:
    made = make("count", 1_000, tmp_path)

    whole = rows(tmp_path / "whole")
    assert whole.num_rows == made.rows == 1_000
    assert rows(tmp_path / "batches").equals(whole)
    assert rows(tmp_path / "parts").sort_by("time_ms").equals(whole.sort_by("time_ms"))


def test_rows_are_late_but_never_later_than_the_wait(tmp_path: Path) -> None:
    make("count", 1_000, tmp_path)

    times = rows(tmp_path / "whole")["time_ms"].to_pylist()
    delays = [max(times[: n + 1]) - time for n, time in enumerate(times)]
    assert 0 < max(delays) < WAIT


def test_answers_are_looked_at_where_all_have_to_have_come(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("0,1,5\n10000,1,7\n")

    assert found("count", tmp_path, until=10_000) == 5
    assert found("count", tmp_path, until=20_000) == 12


def test_a_pair_counts_once_both_of_its_rows_are_there(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2,9\n3,8,9\n")
    (tmp_path / "_spark_metadata").mkdir()
    (tmp_path / "_spark_metadata" / "0").write_text("v1\n")

    assert found("join", tmp_path, until=7) == 1


def test_all_true_pairs_are_counted(tmp_path: Path) -> None:
    made = make("join", 2_000, tmp_path)

    a, b = (rows(tmp_path / side / "whole").to_pylist() for side in ("a", "b"))
    near = [
        (one, other)
        for one in a
        for other in b
        if one["key"] == other["key"] and abs(one["time_ms"] - other["time_ms"]) <= 5_000
    ]
    ends = [max(one["time_ms"], other["time_ms"]) for one, other in near]
    assert made.results == sum(end <= made.until for end in ends) > 0


def test_every_system_has_a_program() -> None:
    assert all((PROGRAMS / f"{peer.program}.py").exists() for peer in PEERS)
