from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from latecomer.errors import OptionError, StateFormatError
from latecomer.generate.replay import directory as replay_files
from latecomer.generate.replay.directory import Wall, Written, replay_to_directory
from latecomer.generate.replay.rhythm import ByClock, ByRows, BySpan
from tests.support.recordings import record

SECOND = 1_000_000


class Hands:
    """A wall clock that only advances in `sleep`, and while a slow file is written."""

    def __init__(self) -> None:
        self.seconds = 50.0
        self.wall = Wall(now=lambda: self.seconds, sleep=self.sleep)

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def files(directory: Path) -> dict[str, list[str]]:
    found = sorted(directory.iterdir())
    return {file.name: pq.read_table(file)["id"].to_pylist() for file in found}


def last(steps: Iterator[Written]) -> Written:
    return list(steps)[-1]


def test_each_micro_batch_is_a_file_with_its_rows_in_order(tmp_path: Path) -> None:
    record(tmp_path / "a.parquet", [1, 3, 5])
    record(tmp_path / "b.parquet", [2, 4])
    done = last(replay_to_directory(str(tmp_path), tmp_path / "out", ByRows(2)))

    assert files(tmp_path / "out") == {
        "000000.parquet": ["a0", "b0"],
        "000001.parquet": ["a1", "b1"],
        "000002.parquet": ["a2"],
    }
    assert done == Written(files=3, rows=5, total=5, arrival=5)
    assert str(done) == "5 of 5 rows in 3 files."


def test_a_stopped_replay_goes_on_after_the_last_file(tmp_path: Path) -> None:
    path = str(record(tmp_path / "a.parquet", [1, 2, 13, 14, 15, 26]))
    stopped = replay_to_directory(path, tmp_path / "out", BySpan(10))
    for _ in range(2):
        next(stopped)
    stopped.close()
    (tmp_path / "out" / ".000001.parquet.tmp").write_text("half a file")
    steps = list(replay_to_directory(path, tmp_path / "out", BySpan(10)))

    assert [(step.files, step.rows) for step in steps] == [(1, 2), (2, 5), (3, 6)]
    assert files(tmp_path / "out") == {
        "000000.parquet": ["a0", "a1"],
        "000001.parquet": ["a2", "a3", "a4"],
        "000002.parquet": ["a5"],
    }
    assert len(list(replay_to_directory(path, tmp_path / "out", BySpan(10)))) == 1


def test_with_a_speed_each_tick_writes_the_rows_that_have_arrived(tmp_path: Path) -> None:
    times = [0, 30 * SECOND, 60 * SECOND, 61 * SECOND, 400 * SECOND]
    path = str(record(tmp_path / "a.parquet", times))
    hands = Hands()
    seen = [
        (hands.seconds, step.rows, step.behind)
        for step in replay_to_directory(
            path, tmp_path / "out", ByClock(60, now=hands.wall.now), wall=hands.wall
        )
    ]

    assert seen == [(50, 0, 0), (50, 1, 0), (51, 3, 0), (52, 4, 0), (57, 5, 0)]


def test_a_replay_that_writes_too_slowly_reports_that_it_is_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(record(tmp_path / "a.parquet", [second * SECOND for second in range(10)]))
    hands = Hands()
    write = replay_files._write

    def slowly(*arguments: object) -> None:
        write(*arguments)
        hands.sleep(3.5)

    monkeypatch.setattr(replay_files, "_write", slowly)
    rhythm = ByClock(1, now=hands.wall.now)
    steps = list(replay_to_directory(path, tmp_path / "out", rhythm, wall=hands.wall))

    assert [step.rows for step in steps] == [0, 1, 5, 9, 10]
    assert [step.behind for step in steps] == [0, 0, 2 * SECOND, 2 * SECOND, 2 * SECOND]
    assert str(steps[-1]) == "10 of 10 rows in 4 files; at worst 2 seconds behind."


def test_a_replay_that_sleeps_slightly_too_long_is_not_behind(tmp_path: Path) -> None:
    path = str(record(tmp_path / "a.parquet", [second * SECOND for second in range(5)]))
    hands = Hands()
    wall = Wall(now=hands.wall.now, sleep=lambda seconds: hands.sleep(seconds + 0.01))
    rhythm = ByClock(1, now=wall.now)

    assert last(replay_to_directory(path, tmp_path / "out", rhythm, wall=wall)).most_behind == 0


def test_without_ticks_each_row_comes_when_it_is_due_and_the_time_between_is_slept(
    tmp_path: Path,
) -> None:
    times = [0, 1 * SECOND, 1 * SECOND, 64 * SECOND]
    path = str(record(tmp_path / "a.parquet", times))
    hands = Hands()
    slept = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        hands.sleep(seconds + 0.05)  # too long, but tolerated

    wall = Wall(now=hands.wall.now, sleep=sleep)
    rhythm = ByClock(2, now=wall.now)
    steps = list(replay_to_directory(path, tmp_path / "out", rhythm, every=0, wall=wall))

    assert [step.rows for step in steps] == [0, 1, 3, 4]
    assert slept == pytest.approx([0.5, 31.45])
    assert str(steps[-1]) == "4 of 4 rows in 3 files."


@pytest.mark.parametrize("every", [0, SECOND])
def test_a_sleep_is_never_longer_than_the_system_allows(tmp_path: Path, every: int) -> None:
    path = str(record(tmp_path / "a.parquet", [0, 200_000 * SECOND]))
    hands = Hands()
    slept = []
    wall = Wall(now=hands.wall.now, sleep=lambda s: slept.append(s) or hands.sleep(s))
    rhythm = ByClock(1, now=wall.now)

    done = last(replay_to_directory(path, tmp_path / "out", rhythm, every=every, wall=wall))
    assert (done.rows, slept) == (2, [86_400, 86_400, 27_200])


def test_without_a_clock_there_is_one_file_a_tick_if_asked(tmp_path: Path) -> None:
    path = str(record(tmp_path / "a.parquet", [1, 2, 3]))
    hands = Hands()
    steps = replay_to_directory(
        path, tmp_path / "out", ByRows(1), every=5 * SECOND, wall=hands.wall
    )

    assert [(hands.seconds, step.rows) for step in steps] == [(50, 0), (50, 1), (55, 2), (60, 3)]


def test_a_directory_with_other_files_is_refused(tmp_path: Path) -> None:
    path = str(record(tmp_path / "a.parquet", [1]))
    out = tmp_path / "out"
    out.mkdir()
    record(out / "000000.parquet", [1])
    with pytest.raises(OptionError, match=r'no replay wrote, such as "000000.parquet".\nHint'):
        last(replay_to_directory(path, out, ByRows(1)))
    (out / "000000.parquet").write_text("not Parquet")
    with pytest.raises(OptionError, match=r'no replay wrote, such as "000000.parquet".\nHint'):
        last(replay_to_directory(path, out, ByRows(1)))
    (out / "notes.txt").write_text("mine")
    with pytest.raises(OptionError, match=r'no replay wrote, such as "notes.txt".\nHint'):
        last(replay_to_directory(path, out, ByRows(1)))


def test_a_directory_with_another_replay_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    last(replay_to_directory(str(record(tmp_path / "a.parquet", [1])), out, ByRows(1)))
    other = str(record(tmp_path / "b.parquet", [1, 2]))
    with pytest.raises(StateFormatError, match=r'"a.parquet", which is no longer at'):
        last(replay_to_directory(other, out, ByRows(1)))
    table = pq.read_table(other).rename_columns(["arrival", "name"])
    pq.write_table(table, tmp_path / "c.parquet")
    with pytest.raises(OptionError, match="other columns: arrival, id"):
        last(replay_to_directory(str(tmp_path / "c.parquet"), out, ByRows(1)))


def test_a_replay_does_not_go_on_with_another_file_of_the_same_name(tmp_path: Path) -> None:
    path = str(record(tmp_path / "a.parquet", [1, 2, 4, 9], group=9))
    last(replay_to_directory(path, tmp_path / "out", ByRows(3)))
    record(tmp_path / "a.parquet", [1, 3, 4, 9], group=9)
    with pytest.raises(StateFormatError, match="it is not the same file"):
        last(replay_to_directory(path, tmp_path / "out", ByRows(3)))

    assert len(files(tmp_path / "out")) == 2


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    path = str(record(tmp_path / "a.parquet", [1]))
    for place in (path, f"{path}/out"):
        with pytest.raises(
            OptionError, match=r"cannot write to .*a.parquet.*: .*\nHint: give an existing d"
        ):
            last(replay_to_directory(path, place, ByRows(1)))
