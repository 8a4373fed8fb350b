from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from tests.support.commands import latecomer

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("model", ["cloud", "android", "synthetic"])
def test_simulate_writes_and_measures_a_stream(tmp_path: Path, model: str) -> None:
    answer = latecomer("simulate", model, f"{tmp_path}/out.parquet", "--rows", "20000")

    assert "20,000 rows" in answer.stdout
    assert "interleaved" in answer.stdout
    assert pq.read_metadata(tmp_path / "out.parquet").num_rows == 20_000


@pytest.mark.parametrize(
    ("option", "message"),
    [(["--seed", "-1"], "seed must be 0 or more"), (["--amount", "inf"], "amount")],
)
def test_simulate_refuses_options_that_give_no_stream(
    tmp_path: Path, option: list[str], message: str
) -> None:
    answer = latecomer("simulate", "synthetic", f"{tmp_path}/out.parquet", *option)

    assert answer.returncode == 1
    assert answer.stderr.startswith("latecomer: ")
    assert message in answer.stderr


def test_simulate_makes_no_directories_on_the_way(tmp_path: Path) -> None:
    for model, name in (("join3", "mistyped/streams"), ("cloud", "mistyped/log.parquet")):
        answer = latecomer("simulate", model, f"{tmp_path}/{name}")
        assert "there is no directory" in answer.stderr
    assert not list(tmp_path.iterdir())


def test_simulate_writes_a_file_for_each_stream_of_a_join(tmp_path: Path) -> None:
    latecomer("simulate", "join4", f"{tmp_path}/out", "--minutes", "1")

    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        f"S{number}.parquet" for number in (1, 2, 3, 4)
    ]
