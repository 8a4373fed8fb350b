import re
from pathlib import Path

import pytest

from latecomer.errors import OptionError
from latecomer.generate.replay.paths import find_files


def test_a_path_is_a_file_a_directory_or_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "day=1").mkdir()
    (tmp_path / "_temporary").mkdir()
    for name in (
        "a.parquet",
        "_b.parquet",
        ".c.parquet",
        "d.txt",
        "day=1/e.parquet",
        "_temporary/f.parquet",
    ):
        (tmp_path / name).touch()

    def found(path: str) -> list[str]:
        return list(find_files(path))

    assert found(str(tmp_path)) == ["a.parquet"]
    assert found(f"{tmp_path}/day=1/e.parquet") == ["e.parquet"]
    assert found(f"file://{tmp_path}/*.parquet") == ["a.parquet"]
    assert found(f"{tmp_path}/**/*.parquet") == ["a.parquet", "day=1/e.parquet"]


def test_files_are_in_order_of_their_names_and_lie_where_they_are(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / f"{name}.parquet").touch()

    found = find_files(str(tmp_path))

    assert list(found) == ["a.parquet", "b.parquet", "c.parquet"]
    assert found["b.parquet"] == tmp_path / "b.parquet"


def test_a_file_that_is_named_is_taken_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "_b.data").touch()

    assert list(find_files(f"{tmp_path}/_b.data")) == ["_b.data"]


@pytest.mark.parametrize("below", ["none", "none/*.parquet", "empty"])
def test_without_files_there_is_nothing_to_replay(tmp_path: Path, below: str) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(
        OptionError, match=re.escape(f'no Parquet files at "{tmp_path}/{below}".\n')
    ):
        find_files(f"{tmp_path}/{below}")
