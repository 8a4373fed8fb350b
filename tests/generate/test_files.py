from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from latecomer.errors import OptionError
from latecomer.generate.files import check_apart, check_target, open_rows, read_table, write_table

if TYPE_CHECKING:
    from pathlib import Path

ROWS = pa.table({"time": [3, 1, 2], "name": ["c", "a", "b"]})


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv", "ROWS.CSV"])
def test_what_is_written_is_read_again_in_the_same_order(tmp_path: Path, name: str) -> None:
    write_table(ROWS, tmp_path / name)

    assert read_table(tmp_path / name).to_pydict() == ROWS.to_pydict()


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json"])
def test_json_lines_are_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"time": 3, "name": "c"}\n{"time": 1, "name": "a"}\n')

    assert read_table(tmp_path / name).to_pydict() == {"time": [3, 1], "name": ["c", "a"]}


def test_a_directory_is_read_in_the_order_of_the_names(tmp_path: Path) -> None:
    for name, value in (("b", 2), ("a", 1)):
        pq.write_table(pa.table({"n": [value]}), tmp_path / f"{name}.parquet")

    assert read_table(tmp_path)["n"].to_pylist() == [1, 2]


def test_only_columns_that_are_named_are_read_as_more_than_text(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("time,code\n1,007\n2,008\n")

    assert read_table(path)["code"].to_pylist() == [7, 8]
    typed = read_table(path, typed=["time"])
    assert (typed["time"].to_pylist(), typed["code"].to_pylist()) == ([1, 2], ["007", "008"])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("none.csv", None, "there is no file"),
        ("rows.txt", "a", "Hint: use a file named .parquet, .csv, .jsonl, .json"),
        ("half.parquet", "half", "cannot read"),
        ("empty.csv", "", "cannot read"),
    ],
)
def test_what_cannot_be_read_is_refused(
    tmp_path: Path, name: str, text: str | None, message: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)

    for typed in (None, []):
        with pytest.raises(OptionError) as caught:
            read_table(tmp_path / name, typed=typed)
        assert message in str(caught.value)


def test_times_in_json_may_have_fractions_and_zones_and_other_text_is_text(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(
        '{"at": "2024-05-01T06:14:59.123Z", "local": "2024-05-01T06:14:59.5", "day": "2024-05"}\n'
        '{"at": "2024-05-01T08:14:59.25+02:00", "local": null, "day": "2024-06"}\n'
    )

    rows = read_table(tmp_path / "rows.jsonl")

    assert rows.schema.types == [pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.string()]
    first = datetime(2024, 5, 1, 6, 14, 59, tzinfo=UTC)
    assert [at - first for at in rows["at"].to_pylist()] == [
        timedelta(seconds=0.123),
        timedelta(seconds=0.25),
    ]


def test_a_directory_is_of_the_kind_of_its_files(tmp_path: Path) -> None:
    for name in ("a.json", "b.json", "_SUCCESS", ".hidden.crc"):
        (tmp_path / name).write_text('{"x": 1}\n')
    assert read_table(tmp_path)["x"].to_pylist() == [1, 1]

    (tmp_path / "c.csv").write_text("x\n1\n")
    with pytest.raises(OptionError, match=r"files of several kinds: .csv, .json"):
        read_table(tmp_path)


def test_a_directory_without_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "_SUCCESS").write_text("")
    with pytest.raises(OptionError, match=r"there are no files in .*\nHint: check the path"):
        read_table(tmp_path)


def test_what_is_read_is_not_written_over(tmp_path: Path) -> None:
    check_apart(tmp_path / "out.csv", [tmp_path / "in.csv"])
    for source in (tmp_path, tmp_path / "a" / ".." / "out.csv"):
        with pytest.raises(OptionError, match=r"would be written over what is read.*\nHint"):
            check_apart(tmp_path / "out.csv", [source])


def test_a_directory_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="there is no directory"):
        write_table(ROWS, tmp_path / "mistyped" / "rows.parquet")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["rows.json", "rows", "folder.csv"])
def test_a_name_that_says_not_how_to_write_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.csv").mkdir()

    with pytest.raises(OptionError, match=r"Hint: name a file .parquet or .csv"):
        check_target(tmp_path / name)
    with pytest.raises(OptionError, match="cannot write"):
        write_table(ROWS, tmp_path / name)


def test_arrivals_are_written_as_their_differences(tmp_path: Path) -> None:
    rows = pa.table({"arrival": range(1_000), "name": ["a"] * 1_000})
    write_table(rows, tmp_path / "rows.parquet")

    group = pq.read_metadata(tmp_path / "rows.parquet").row_group(0)
    assert "DELTA_BINARY_PACKED" in group.column(0).encodings
    assert "DELTA_BINARY_PACKED" not in group.column(1).encodings


def test_times_that_spark_wrote_as_int96_have_microseconds(tmp_path: Path) -> None:
    times = pa.table({"at": pa.array([2**60], pa.timestamp("us"))})
    pq.write_table(times, tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)

    assert open_rows(tmp_path / "a.parquet").schema.field("at").type == pa.timestamp("us")
    assert read_table(tmp_path / "a.parquet")["at"].cast(pa.int64()).to_pylist() == [2**60]
