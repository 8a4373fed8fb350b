from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from latecomer import OptionError
from latecomer.live.windows import MOST, Answers
from tests.support.answers import HOUR, answer, record, write

if TYPE_CHECKING:
    from pathlib import Path


def test_answers_of_all_keys_are_added_up_by_window_and_wait(tmp_path: Path) -> None:
    early = [answer(12, "1 hour", "EWR", 3), answer(12, "1 hour", "JFK", 4)]
    write(tmp_path, 0, early)
    answers = Answers(tmp_path)

    assert answers.read() == {(12 * HOUR, 13 * HOUR): {"1 hour": 7}}
    write(tmp_path, 1, [answer(12, "3 hours", "EWR", 15)])
    assert answers.read() == {(12 * HOUR, 13 * HOUR): {"1 hour": 7, "3 hours": 15}}
    assert (answers.waits, answers.value) == (["1 hour", "3 hours"], "departures")


def test_a_micro_batch_that_is_not_complete_or_was_replaced_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, 0, [answer(12, "1 hour", "EWR", 3)], "r1-aa", 1)
    write(tmp_path, 0, [answer(12, "1 hour", "EWR", 3)], "r2-bb", 2)
    (tmp_path / "batch=1" / "attempt=r2-bb").mkdir(parents=True)

    assert Answers(tmp_path).read() == {(12 * HOUR, 13 * HOUR): {"1 hour": 3}}


def test_corrections_are_neither_early_nor_final(tmp_path: Path) -> None:
    rows = [answer(12, "1 hour", "EWR", 3), answer(12, "1 hour", "EWR", 4, is_correction=True)]
    write(tmp_path, 0, rows)

    assert Answers(tmp_path).read() == {(12 * HOUR, 13 * HOUR): {"1 hour": 3}}


def test_the_newest_windows_are_kept(tmp_path: Path) -> None:
    write(tmp_path, 0, [answer(n, "1 hour", "EWR", 1) for n in range(100)])

    found = Answers(tmp_path).read()

    assert len(found) == MOST
    assert max(found) == (99 * HOUR, 100 * HOUR)


def test_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r'there is no directory ".*nowhere"'):
        Answers(tmp_path / "nowhere").read()


def test_the_column_to_add_up_has_to_be_clear(tmp_path: Path) -> None:
    write(tmp_path, 0, [{**answer(12, "1 hour", "EWR", 3), "seats": 7}])

    with pytest.raises(OptionError, match='numeric columns are "departures", "seats"; got None'):
        Answers(tmp_path).read()
    with pytest.raises(OptionError, match="got 'origin'"):
        Answers(tmp_path, "origin").read()
    assert Answers(tmp_path, "seats").read() == {(12 * HOUR, 13 * HOUR): {"1 hour": 7}}


def test_rows_without_windows_are_refused(tmp_path: Path) -> None:
    directory = tmp_path / "batch=0" / "attempt=a"
    directory.mkdir(parents=True)
    pq.write_table(pa.table({"price": [1]}), directory / "part-0.parquet")
    record(tmp_path, 0, "a")

    with pytest.raises(OptionError, match='no column "window"; they have "price"'):
        Answers(tmp_path).read()
