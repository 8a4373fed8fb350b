import tempfile
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latecomer.errors import DurationError, OptionError
from latecomer.generate.replay.arrivals import Arrivals, Position
from latecomer.generate.replay.rhythm import ByClock, ByRows, BySpan, Rhythm, choose
from tests.support.recordings import ARRIVAL, ids, in_order, record

SECOND = 1_000_000


class Wall:
    """A clock that stands still until it is moved."""

    seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


def batches(
    rhythm: Rhythm, arrivals: Arrivals, position: Position | None = None
) -> list[list[str]]:
    """Step on until no batch is due."""
    position = position or Position()
    seen = []
    while (end := rhythm.step(arrivals, position)) != position:
        seen.append(ids(arrivals, position, end))
        position = end
    return seen


def seconds(path: Path, *arrivals: float) -> Arrivals:
    return Arrivals(str(record(path / "a.parquet", [round(a * SECOND) for a in arrivals])), ARRIVAL)


def test_by_rows_the_last_batch_has_the_remaining_rows(tmp_path: Path) -> None:
    arrivals = seconds(tmp_path, 1, 2, 3, 4, 5)

    assert batches(ByRows(2), arrivals) == [["a0", "a1"], ["a2", "a3"], ["a4"]]


def test_by_span_the_grid_begins_at_the_first_arrival_and_empty_cells_are_skipped(
    tmp_path: Path,
) -> None:
    arrivals = seconds(tmp_path, 3, 12.9, 13, 57, 63)

    assert batches(BySpan(10 * SECOND), arrivals) == [["a0", "a1"], ["a2"], ["a3"], ["a4"]]


def test_by_span_the_grid_stays_where_it_is_when_an_earlier_file_comes(tmp_path: Path) -> None:
    arrivals = seconds(tmp_path, 3, 14, 22.5)
    rhythm = BySpan(10 * SECOND)
    position = rhythm.step(arrivals, Position())
    record(tmp_path / "b.parquet", [2 * SECOND, 4 * SECOND])
    arrivals = Arrivals(str(tmp_path), ARRIVAL)

    assert batches(rhythm, arrivals, position) == [["b0"], ["b1"], ["a1", "a2"]]


Cut = st.one_of(st.integers(1, 5).map(ByRows), st.integers(1, 5).map(BySpan))


@settings(deadline=None, max_examples=40)
@given(
    st.dictionaries(st.sampled_from("abc"), st.lists(st.integers(-9, 9), max_size=9), min_size=1),
    Cut,
)
def test_resumed_after_any_batch_the_rest_is_the_same(
    files: dict[str, list[int]], rhythm: Rhythm
) -> None:
    files = {name: sorted(arrivals) for name, arrivals in files.items()}
    with tempfile.TemporaryDirectory() as directory:
        for name, times in files.items():
            record(Path(directory, f"{name}.parquet"), times)
        whole = batches(rhythm, Arrivals(directory, ARRIVAL))
        position = Position()
        for done in range(len(whole)):
            assert batches(rhythm, Arrivals(directory, ARRIVAL), position) == whole[done:]
            position = rhythm.step(Arrivals(directory, ARRIVAL), position)
        assert list(chain.from_iterable(whole)) == in_order(files)


def test_by_clock_a_row_is_due_when_its_arrival_is_reached(tmp_path: Path) -> None:
    arrivals = seconds(tmp_path, 100, 160, 220, 221)
    wall = Wall()
    rhythm = ByClock(60, now=wall)

    assert batches(rhythm, arrivals) == [["a0"]]
    begun = rhythm.step(arrivals, Position())
    assert rhythm.wait(arrivals, begun) == 1
    wall.seconds += 1
    assert batches(rhythm, arrivals, begun) == [["a1"]]
    wall.seconds += 5
    assert batches(rhythm, arrivals, begun) == [["a1", "a2", "a3"]]
    assert rhythm.wait(arrivals, rhythm.step(arrivals, begun)) is None


def test_by_clock_rows_that_a_slow_reader_has_not_read_stay_due(tmp_path: Path) -> None:
    arrivals = seconds(tmp_path, 0, 1, 2, 3, 4)
    wall = Wall()
    rhythm = ByClock(1, max_rows=2, now=wall)
    begun = rhythm.step(arrivals, Position())
    wall.seconds += 3

    end = rhythm.step(arrivals, begun)
    assert (begun.rows, end.rows, rhythm.due(arrivals, end).rows) == (1, 3, 4)
    assert rhythm.wait(arrivals, end) == 0


def test_by_clock_a_resumed_replay_neither_skips_nor_catches_up(tmp_path: Path) -> None:
    arrivals = seconds(tmp_path, 0, 10, 20, 30)
    wall = Wall()
    first = ByClock(1, now=wall)
    position = first.step(arrivals, Position())
    wall.seconds += 10
    position = first.step(arrivals, position)
    wall.seconds += 3_600
    second = ByClock(1, now=wall)

    assert second.step(arrivals, position) == position
    assert second.wait(arrivals, position) == 10
    wall.seconds += 10
    assert batches(second, arrivals, position) == [["a2"]]


def test_by_clock_the_clock_does_not_start_without_rows(tmp_path: Path) -> None:
    arrivals = seconds(tmp_path)
    wall = Wall()
    rhythm = ByClock(1e300, now=wall)

    assert batches(rhythm, arrivals) == []
    assert rhythm.due(arrivals, Position()) == Position()
    wall.seconds += 60
    record(tmp_path / "b.parquet", [0, SECOND])
    arrivals = Arrivals(str(tmp_path), ARRIVAL)
    assert batches(rhythm, arrivals) == [["b0"]]
    wall.seconds += 1e9
    assert batches(rhythm, arrivals) == [["b0", "b1"]]


def test_exactly_one_rhythm_is_chosen() -> None:
    assert choose(rows="3") == ByRows(3)
    assert choose(span="10 minutes") == BySpan(600 * SECOND)
    assert choose(speed="0.5", max_rows=7) == ByClock(0.5, 7)
    with pytest.raises(OptionError, match=r"needs one of speed, rows, span; got none.\nHint"):
        choose()
    with pytest.raises(OptionError, match=r"got speed and rows.\nHint"):
        choose(speed=1, rows=2)
    with pytest.raises(OptionError, match="max_rows needs speed; got it with rows"):
        choose(rows=2, max_rows=3)


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "fast"])
def test_a_speed_is_a_number_greater_than_0(value: str) -> None:
    with pytest.raises(OptionError, match=f"speed must be a number greater than 0; got '{value}'"):
        choose(speed=value)


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "many"])
def test_a_number_of_rows_is_whole(value: str) -> None:
    with pytest.raises(OptionError, match=f"rows must be a whole number, 1 or more; got '{value}'"):
        choose(rows=value)


def test_a_span_has_a_length() -> None:
    with pytest.raises(DurationError, match="span must be longer than 0 seconds"):
        choose(span="0 seconds")
