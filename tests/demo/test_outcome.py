from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from latecomer.demo.departures import WAITS
from latecomer.demo.outcome import Answer, Outcome, Window, clock, has_rows, places, totals
from latecomer.operators.base import LATE

if TYPE_CHECKING:
    from pathlib import Path

HOUR = 3_600_000_000
FLIGHTS = pa.table(
    {
        "departed": pa.array([10, HOUR - 1, HOUR, None, 20], pa.timestamp("us", "UTC")),
        "origin": ["JFK", "JFK", "JFK", "JFK", "EWR"],
    }
)


def answer(departures: int, *, is_changed: bool = True) -> Answer:
    return Answer(departures, is_changed, 0)


def window(start: int, origin: str, *answers: Answer | None) -> Window:
    return Window(start, origin, answers, 0)


def outcome(*windows: Window) -> Outcome:
    late = pa.table({"_reason": pa.array([LATE, "no_time"]), "_behind": [1, None]})
    return Outcome(FLIGHTS, [*windows], late)


def test_flights_are_counted_by_hour_and_airport_and_those_without_a_time_left_out() -> None:
    assert places(FLIGHTS) == {(0, "JFK"): 2, (HOUR, "JFK"): 1, (0, "EWR"): 1}


def test_a_window_has_the_result_of_each_wait_and_the_difference() -> None:
    seen = window(0, "JFK", None, answer(3), answer(5))

    assert seen.counts == [0, 3, 5]
    assert seen.added == 5
    assert seen.final == answer(5)
    assert window(0, "JFK", answer(3), None, None).final is None


def test_totals_are_of_windows_that_have_closed() -> None:
    seen = outcome(
        window(0, "JFK", answer(1), answer(2), answer(4)),
        window(HOUR, "JFK", answer(7), None, None),
    )

    assert seen.totals == [1, 2, 4]
    assert totals([]) == [0, 0, 0]


def test_flights_that_are_neither_counted_nor_late_are_held() -> None:
    seen = outcome(window(0, "JFK", answer(1), answer(1), answer(2)))

    # Five flights in, two counted, two late or without a time.
    assert seen.held == 1
    assert seen.rows_late == {LATE: 1, "no_time": 1}


def test_of_each_airport_the_window_to_which_most_was_added_is_found_and_the_first_of_several() -> (
    None
):
    jfk = [window(at, "JFK", answer(0), answer(0), answer(n)) for at, n in ((0, 2), (1, 5), (2, 5))]
    ewr = window(0, "EWR", answer(9), answer(9), answer(9))

    assert outcome(*jfk, ewr).most_refined == [ewr, jfk[1]]


def test_a_window_is_refined_by_a_wait_after_which_its_answer_changed() -> None:
    seen = outcome(
        window(0, "JFK", answer(1), answer(2), answer(2, is_changed=False)),
        window(0, "EWR", None, None, answer(2)),
    )

    assert [seen.refined(level) for level in range(3)] == [1, 1, 1]


def test_the_output_of_all_micro_batches_is_combined_by_window(tmp_path: Path) -> None:
    start = datetime(2013, 7, 9, 12, tzinfo=UTC)
    for batch, (wait, count) in enumerate(zip(WAITS, (3, 3, 5), strict=True)):
        rows = pa.table(
            {
                "window": [{"start": start}],
                "origin": ["JFK"],
                "departures": [count],
                "wait": [wait],
                "is_changed": [count == 5],
            }
        )
        target = tmp_path / "ready" / f"batch={batch}" / "attempt=r1"
        target.mkdir(parents=True)
        pq.write_table(rows, target / "part.parquet")
    late = tmp_path / "late" / "batch=2" / "attempt=r1"
    late.mkdir(parents=True)
    departed = pa.array([start], pa.timestamp("us", "UTC"))
    rows = pa.table({"departed": departed, "origin": ["JFK"], "_reason": [LATE], "_behind": [7]})
    pq.write_table(rows, late / "part.parquet")

    seen = Outcome.read(FLIGHTS, tmp_path / "ready", tmp_path / "late")

    (found,) = seen.windows
    assert found.origin == "JFK"
    assert found.answers == (Answer(3, False, 0), Answer(3, False, 1), Answer(5, True, 2))  # noqa: FBT003
    assert found.late == 1
    assert seen.late_flights["batch"].to_pylist() == [2]


def test_there_is_an_answer_once_a_micro_batch_with_rows_is_complete(tmp_path: Path) -> None:
    for number, rows in ((0, FLIGHTS.slice(0, 0)), (1, FLIGHTS)):
        (tmp_path / f"batch={number}/attempt=r1-0").mkdir(parents=True)
        pq.write_table(rows, tmp_path / f"batch={number}/attempt=r1-0/part.parquet")
    (tmp_path / "_latecomer").mkdir()

    found = [has_rows(tmp_path / "nowhere"), has_rows(tmp_path)]
    for record in ("checkpoint", "0-r1-0", "1-r1-0"):
        (tmp_path / "_latecomer" / record).touch()
        found.append(has_rows(tmp_path))

    assert found == [False, False, False, False, True]


def test_a_time_is_written_in_utc_without_the_year() -> None:
    assert clock(1_373_371_140_000_000) == "Jul 09 11:59"
    assert clock(0) == "Jan 01 00:00"


def test_seconds_are_left_out_and_not_rounded() -> None:
    assert clock(59_999_999) == "Jan 01 00:00"
