from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from latecomer.errors import ColumnNotFoundError, OptionError
from latecomer.generate import file_batches
from latecomer.generate.file_batches import read_batches

if TYPE_CHECKING:
    from pathlib import Path


def written(path: Path, values: pa.Array) -> Path:
    pq.write_table(pa.table({"n": values, "other": values}), path)
    return path


def test_files_are_read_one_by_one_in_the_order_given(tmp_path: Path) -> None:
    paths = [
        written(tmp_path / name, pa.array([n])) for n, name in enumerate(["b.parquet", "a.parquet"])
    ]

    found = list(read_batches(paths, ["n"]))

    assert [batch.to_pydict() for batch in found] == [{"n": [0]}, {"n": [1]}]


def test_large_files_are_read_in_pieces_and_only_the_columns_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_batches, "_ROWS", 4)
    path = written(tmp_path / "a.parquet", pa.array(range(10)))

    found = list(read_batches([path], ["other"]))

    assert [batch.column_names for batch in found] == [["other"]] * len(found)
    assert [batch.num_rows for batch in found] == [4, 4, 2]
    assert pa.concat_tables(found)["other"].to_pylist() == list(range(10))


def test_a_column_may_be_wider_in_another_file_but_of_no_other_kind(tmp_path: Path) -> None:
    narrow = written(tmp_path / "a.parquet", pa.array([1], pa.int32()))
    wide = written(tmp_path / "b.parquet", pa.array([2**40]))
    text = written(tmp_path / "c.parquet", pa.array(["x"]))

    assert sum(batch.num_rows for batch in read_batches([narrow, wide], ["n"])) == 2
    with pytest.raises(OptionError, match=r'cannot read ".*c.parquet"'):
        list(read_batches([narrow, text], ["n"]))


def test_each_file_is_checked_before_its_rows_are_read(tmp_path: Path) -> None:
    good, bad = (written(tmp_path / f"{name}.parquet", pa.array([1])) for name in "ab")
    seen = []

    def check(schema: pa.Schema) -> None:
        seen.append(schema.names)
        if len(seen) > 1:
            raise ColumnNotFoundError("as the test asks")

    batches = read_batches([good, bad], ["n"], check)

    assert next(batches)["n"].to_pylist() == [1]
    with pytest.raises(ColumnNotFoundError, match="as the test asks"):
        next(batches)
    assert seen == [["n", "other"]] * 2


def test_a_file_without_rows_gives_no_batches(tmp_path: Path) -> None:
    assert (
        list(read_batches([written(tmp_path / "a.parquet", pa.array([], pa.int64()))], ["n"])) == []
    )


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="there is no file"):
        list(read_batches([tmp_path / "none.parquet"], ["n"]))
