from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from latecomer.errors import ColumnTypeError
from latecomer.generate.replay import row_range
from latecomer.generate.replay.row_range import RowRange, group_starts, open_parquet

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = pa.schema({"n": pa.int64()})


def written(path: Path, values: pa.Array, group: int = 3) -> str:
    pq.write_table(pa.table({"n": values, "other": values}), path, row_group_size=group)
    return str(path)


def read(part: RowRange, schema: pa.Schema = SCHEMA) -> list[int]:
    return [value for batch in part.batches(schema) for value in batch["n"].to_pylist()]


def test_any_rows_can_be_read_wherever_row_groups_begin(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", pa.array(range(10)))

    for first in range(10):
        for end in range(first, 11):
            assert read(RowRange(path, first, end)) == list(range(first, end))
            assert len(RowRange(path, first, end)) == end - first


def test_row_groups_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a.parquet", pa.array(range(10)), group=10)
    monkeypatch.setattr(row_range, "_BATCH", 4)

    batches = list(RowRange(path, 3, 9).batches(SCHEMA))

    assert [batch["n"].to_pylist() for batch in batches] == [[3], [4, 5, 6, 7], [8]]


def test_only_the_columns_of_the_schema_are_read_in_its_order(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", pa.array([1, 2]))
    asked = pa.schema({"other": pa.int64(), "n": pa.int32()})

    (batch,) = RowRange(path, 0, 2).batches(asked)

    assert batch.schema == asked


def test_times_may_be_cut_to_microseconds_but_no_other_value_is(tmp_path: Path) -> None:
    times = written(tmp_path / "t.parquet", pa.array([1_999], pa.timestamp("ns")))
    large = written(tmp_path / "n.parquet", pa.array([2**40]))

    (batch,) = RowRange(times, 0, 1).batches(pa.schema({"n": pa.timestamp("us")}))
    assert batch["n"].cast(pa.int64()).to_pylist() == [1]
    with pytest.raises(ColumnTypeError, match=r'column "n" of .*, of type int64, cannot be read'):
        read(RowRange(large, 0, 1), pa.schema({"n": pa.int32()}))


def test_the_footer_says_where_row_groups_begin(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", pa.array(range(7)))

    with open_parquet(path) as file:
        assert group_starts(file.metadata) == [0, 3, 6, 7]
        # A footer that is known is not read again.
        with open_parquet(path, file.metadata) as again:
            assert again.metadata is file.metadata or again.metadata.equals(file.metadata)
