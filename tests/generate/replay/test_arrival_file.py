from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from latecomer.errors import ArrivalError, ColumnNotFoundError, ColumnTypeError, OptionError
from latecomer.generate.replay.arrival_file import ArrivalFile
from latecomer.generate.replay.arrivals import Arrivals, Position
from latecomer.time import TimeColumn
from tests.support.recordings import ARRIVAL, record

START = Position()


def opened(path: Path) -> ArrivalFile:
    return ArrivalFile(path, path.name, ARRIVAL)


@pytest.mark.parametrize("footer", [True, False])
def test_arrivals_are_read_from_a_row_to_the_end_of_its_row_group(
    tmp_path: Path, *, footer: bool
) -> None:
    file = opened(record(tmp_path / "a.parquet", [1, 3, 3, 8, 9], group=2, footer=footer))

    assert file.rows == 5
    assert [file.window(row).tolist() for row in range(5)] == [[1, 3], [3], [3, 8], [8], [9]]
    assert [file.head(row) for row in range(5)] == [1, 3, 3, 8, 9]


@pytest.mark.parametrize("footer", [True, False])
def test_the_last_arrival_of_a_row_group_is_known_unless_it_is_that_of_the_file(
    tmp_path: Path, *, footer: bool
) -> None:
    file = opened(record(tmp_path / "a.parquet", [1, 3, 3, 8, 9], group=2, footer=footer))

    assert [file.last(row) for row in range(5)] == [3, 3, 8, 8, None]


def test_the_footer_has_the_first_and_last_arrivals_of_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = opened(record(tmp_path / "a.parquet", [1, 3, 3, 8, 9], group=2))
    monkeypatch.setattr(file, "_read", None)

    assert (file.head(0), file.head(2), file.last(1)) == (1, 3, 3)


@pytest.mark.parametrize("footer", [True, False])
@pytest.mark.parametrize(
    ("arrivals", "row"), [([1, 2, 0, 4], 2), ([2, 1, 3, 4], 1), ([1, 2, 3, 1], 3)]
)
def test_a_file_out_of_order_is_refused_where_it_falls(
    tmp_path: Path, arrivals: list[int], row: int, *, footer: bool
) -> None:
    path = record(tmp_path / "a.parquet", arrivals, footer=footer)
    with pytest.raises(
        ArrivalError, match=f'"{path}" is not in order of arrival: row {row}, .*\nHint: sort'
    ):
        Arrivals(str(path), ARRIVAL).ahead(START)


def test_a_row_without_an_arrival_is_refused(tmp_path: Path) -> None:
    path = record(tmp_path / "a.parquet", [1, 2, None])
    with pytest.raises(ArrivalError, match=f'row 2 of "{path}" has no arrival.\nHint'):
        Arrivals(str(path), ARRIVAL).ahead(START)


def test_an_arrival_column_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    path = str(record(tmp_path / "a.parquet", [1]))
    with pytest.raises(ColumnNotFoundError, match=r'no column "at" in .*; it has "arrival", "id"'):
        Arrivals(path, TimeColumn("at"))
    with pytest.raises(ColumnTypeError, match=r'column "id" of .* is of type string'):
        Arrivals(path, TimeColumn("id"))
    pq.write_table(pa.table({"arrival": pa.array([2**63], pa.uint64())}), path)
    with pytest.raises(ColumnTypeError, match=r"is of type uint64; .*\nHint: convert it"):
        Arrivals(path, ARRIVAL)
    Path(path).write_text("half a file")
    with pytest.raises(OptionError, match=r"cannot read .*a.parquet"):
        Arrivals(path, ARRIVAL)


def test_a_large_file_is_identified_by_its_footer_and_its_ends(tmp_path: Path) -> None:
    numbers = np.arange(100_000)
    whole = pa.table({"arrival": numbers, "n": numbers})
    marks = set()
    for change in (None, 50_000, 99_999):
        values = numbers[::-1].copy()
        if change is not None:
            values[change] = 7_000_000
        table = whole.set_column(1, "n", pa.array(values))
        pq.write_table(table, tmp_path / "a.parquet", compression="none", use_dictionary=False)
        marks.add(ArrivalFile(tmp_path / "a.parquet", "a.parquet", ARRIVAL).mark)

    assert len(marks) == 3


def test_times_that_spark_wrote_as_int96_are_instants(tmp_path: Path) -> None:
    times = pa.array([1, 2], pa.timestamp("us"))
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"arrival": times}), path, use_deprecated_int96_timestamps=True)
    arrivals = Arrivals(str(path), ARRIVAL)
    rows = arrivals.read(START, arrivals.ahead(START, rows=1))

    assert rows["arrival"].to_pylist() == [pa.scalar(1, pa.timestamp("us", "UTC")).as_py()]
