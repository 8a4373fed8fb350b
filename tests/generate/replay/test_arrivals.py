import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latecomer.errors import (
    ArrivalError,
    ColumnTypeError,
    StateFormatError,
)
from latecomer.generate.replay.arrival_file import ArrivalFile
from latecomer.generate.replay.arrivals import Arrivals, Position
from latecomer.generate.replay.directory import replay_to_directory
from latecomer.generate.replay.rhythm import ByClock, ByRows
from latecomer.time import FOREVER, NEVER, TimeColumn
from tests.support.recordings import ARRIVAL, ids, in_order, record

START = Position()
Files = dict[str, list[int]]


@st.composite
def recordings(draw: st.DrawFn) -> Files:
    """Draw few different arrivals, so that many are equal, within files and between them."""
    names = draw(st.lists(st.sampled_from("abcd"), min_size=1, unique=True))
    return {name: sorted(draw(st.lists(st.integers(0, 9), max_size=12))) for name in names}


@contextmanager
def recorded(files: Files, group: int = 2, *, footer: bool = True) -> Iterator[Arrivals]:
    with tempfile.TemporaryDirectory() as directory:
        for name, arrivals in files.items():
            record(Path(directory, f"{name}.parquet"), arrivals, group, footer=footer)
        yield Arrivals(directory, ARRIVAL)


def test_files_are_merged_by_arrival_then_name_then_row() -> None:
    with recorded({"a": [1, 3, 3, 8], "b": [2, 3, 4, 9]}) as arrivals:
        end = arrivals.ahead(START, rows=5)

        assert ids(arrivals, START, end) == ["a0", "b0", "a1", "a2", "b1"]
        assert (end.rows, end.first, end.arrival) == (5, 1, 3)
        assert end.files == {"a.parquet": 3, "b.parquet": 2}


@settings(deadline=None, max_examples=60)
@given(
    files=recordings(),
    group=st.integers(1, 4),
    footer=st.booleans(),
    sizes=st.lists(st.integers(1, 7), min_size=1),
)
def test_any_cut_by_rows_gives_the_merge(
    *, files: Files, group: int, footer: bool, sizes: list[int]
) -> None:
    with recorded(files, group, footer=footer) as arrivals:
        seen: list[list[str]] = []
        position = START
        while position.rows < arrivals.end().rows:
            size = sizes[len(seen) % len(sizes)]
            end = arrivals.ahead(position, rows=size)
            seen.append(ids(arrivals, position, end))
            assert len(seen[-1]) == size or end.rows == arrivals.end().rows
            # The state goes through JSON, as in a checkpoint, to a walk that remembers nothing.
            position = Position.from_offset(json.loads(json.dumps(end.to_offset())))
        assert list(chain.from_iterable(seen)) == in_order(files)
        assert arrivals.ahead(position) == position


@settings(deadline=None, max_examples=60)
@given(
    files=recordings(),
    group=st.integers(1, 4),
    footer=st.booleans(),
    cuts=st.lists(st.integers(-1, 11)),
)
def test_any_cut_by_arrival_gives_the_rows_before_it(
    *, files: Files, group: int, footer: bool, cuts: list[int]
) -> None:
    with recorded(files, group, footer=footer) as arrivals:
        position = START
        for before in sorted(cuts):
            position = arrivals.ahead(position, before=before)
            due = {name: [at for at in times if at < before] for name, times in files.items()}
            assert ids(arrivals, START, position) == in_order(due)
            left = [at for times in files.values() for at in times if at >= before]
            assert arrivals.next_arrival(position) == min(left, default=None)


def test_an_added_file_joins_at_the_position_of_the_replay(tmp_path: Path) -> None:
    record(tmp_path / "b.parquet", [1, 5, 9])
    arrivals = Arrivals(str(tmp_path), ARRIVAL)
    position = arrivals.ahead(START, rows=2)
    record(tmp_path / "a.parquet", [2, 7])
    arrivals.look()

    assert ids(arrivals, position, arrivals.ahead(position)) == ["a0", "a1", "b2"]
    assert arrivals.ahead(position, rows=1).arrival == 5, "what was reached stays reached"


def test_only_the_row_groups_at_the_cursor_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path / "a.parquet", range(100), group=10)
    record(tmp_path / "b.parquet", range(100, 200), group=10)
    arrivals = Arrivals(str(tmp_path), ARRIVAL)
    read = []
    real = ArrivalFile._read
    monkeypatch.setattr(
        ArrivalFile,
        "_read",
        lambda file, group: read.append((file.name, group)) or real(file, group),
    )
    position = START
    for _ in range(6):
        position = arrivals.ahead(position, rows=5)

    assert read == [("a.parquet", 0), ("a.parquet", 1), ("a.parquet", 2)]


@pytest.mark.parametrize("footer", [True, False])
@pytest.mark.parametrize(
    ("arrivals", "row"), [([1, 2, FOREVER], 2), ([1, FOREVER], 1), ([NEVER, 1], 0), ([NEVER], 0)]
)
def test_an_arrival_that_no_row_may_have_is_refused(
    tmp_path: Path, arrivals: list[int], row: int, *, footer: bool
) -> None:
    path = str(record(tmp_path / "a.parquet", arrivals, footer=footer))
    with pytest.raises(ArrivalError, match=rf"row {row} of .* which is reserved.\nHint"):
        list(replay_to_directory(path, tmp_path / "out", ByRows(1)))
    with pytest.raises(ArrivalError, match="which is reserved"):
        list(replay_to_directory(path, tmp_path / "out2", ByClock(1e300)))


def test_files_with_other_columns_are_refused(tmp_path: Path) -> None:
    record(tmp_path / "a.parquet", [1])
    pq.write_table(pa.table({"arrival": [1], "id": [1]}), tmp_path / "b.parquet")
    with pytest.raises(
        ColumnTypeError, match=r'different columns.\n  "a.parquet": .*\n  "b.parquet"'
    ):
        Arrivals(str(tmp_path), ARRIVAL)


@pytest.mark.parametrize(
    "offset",
    [
        {"index": 3},
        {"rows": 1, "files": {"a.parquet": 1}},
        Position(7).to_offset() | {"rows": 6},
        Position(7, 1, 9).to_offset() | {"arrival": 8},
    ],
)
def test_an_invalid_position_is_refused(offset: dict[str, object]) -> None:
    with pytest.raises(StateFormatError, match=r"not the position of a replay: .*\nHint"):
        Position.from_offset(offset)


def test_a_partly_read_file_must_not_disappear(tmp_path: Path) -> None:
    record(tmp_path / "a.parquet", [1, 2])
    begun = Arrivals(str(tmp_path), ARRIVAL).ahead(START, rows=1)
    (tmp_path / "a.parquet").rename(tmp_path / "b.parquet")
    arrivals = Arrivals(str(tmp_path), ARRIVAL)
    with pytest.raises(StateFormatError, match=r'"a.parquet", which is no longer at .*\nHint'):
        arrivals.ahead(begun)
    with pytest.raises(StateFormatError, match="no longer"):
        arrivals.ranges(START, begun)


@pytest.mark.parametrize(
    "other", [[1, 2, 3], [1, 2, 4, 9, 10], [1, 3, 4, 9]], ids=["shorter", "longer", "like it"]
)
def test_another_file_of_the_same_name_is_not_the_same_file(
    tmp_path: Path, other: list[int]
) -> None:
    path = record(tmp_path / "a.parquet", [1, 2, 4, 9], group=9)
    begun = Arrivals(str(path), ARRIVAL).ahead(START, rows=3)
    arrivals = Arrivals(str(record(path, other, group=9)), ARRIVAL)
    for read_on in (arrivals.ahead, arrivals.next_arrival, lambda to: arrivals.ranges(START, to)):
        with pytest.raises(
            StateFormatError,
            match=r"has changed since the replay read 3 rows .* same file.\nHint: put the file",
        ):
            read_on(begun)


def test_files_may_be_moved_and_touched(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    record(tmp_path / "here" / "a.parquet", [1, 2, 3])
    begun = Arrivals(str(tmp_path / "here"), ARRIVAL).ahead(START, rows=2)
    shutil.copytree(tmp_path / "here", tmp_path / "there", copy_function=shutil.copyfile)
    arrivals = Arrivals(str(tmp_path / "there"), ARRIVAL)

    assert ids(arrivals, begun, arrivals.ahead(begun)) == ["a2"]


@pytest.mark.parametrize(
    "kind", [pa.timestamp("us", "UTC"), pa.timestamp("ns"), pa.timestamp("s"), pa.date32()]
)
def test_arrivals_of_any_kind_of_time_are_read(tmp_path: Path, kind: pa.DataType) -> None:
    days = pa.array([0, 1, 5], pa.int32()).cast(pa.date32())
    pq.write_table(pa.table({"arrival": days.cast(kind)}), tmp_path / "a.parquet", row_group_size=2)
    arrivals = Arrivals(str(tmp_path), ARRIVAL)

    assert arrivals.ahead(START, before=86_400_000_001).rows == 2
    assert arrivals.ahead(START, rows=3).arrival == 5 * 86_400_000_000


def test_an_integer_arrival_has_a_unit(tmp_path: Path) -> None:
    path = str(record(tmp_path / "a.parquet", [1, 2, 3]))

    assert Arrivals(path, TimeColumn("arrival", "s")).ahead(START).arrival == 3_000_000
