"""The page that shows the wait and the recall over time."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from latecomer.report.recall_page import over, recall_page

MINUTE = timedelta(minutes=1)


def told(second: int, produced: int, missed: int, wait: float | None, bucket: int = 0) -> Any:  # noqa: ANN401 - a row as recall_df has it
    return {
        "time": datetime(2026, 1, 1, 9, 0, 0) + timedelta(seconds=second),  # noqa: DTZ001 - as Spark hands out
        "bucket": bucket,
        "target": 0.9,
        "wait": None if wait is None else int(1_000 * wait),
        "produced": produced,
        "missed": missed,
    }


ROWS = [
    told(0, 0, 0, None),
    told(40, 6, 4, 1),
    told(40, 10, 0, 3, bucket=1),
    told(80, 10, 0, 2),
    told(120, 19, 1, 2.5),
]


def test_counts_are_added_up_over_buckets_and_a_period() -> None:
    points = over(ROWS, MINUTE)

    assert [(p.produced, p.missed) for p in points] == [(0, 0), (16, 4), (26, 4), (29, 1)]
    assert [p.wait for p in points] == [0, 3_000_000, 2_000_000, 2_500_000]
    assert [p.is_full for p in points] == [False, False, True, True]
    assert points[0].recall is None


def test_the_page_shows_the_lowest_recall_of_a_whole_period() -> None:
    page = recall_page(ROWS, title="Quotes & trades", period=MINUTE)

    assert "Quotes &amp; trades" in page
    assert "A recall of 90 %: it took 1.88 seconds of waiting on average" in page
    assert "was never below 86.67 %" in page
    assert 'id="figure-wait"' in page
    assert 'id="figure-recall"' in page
    assert "asked for: 90 %" in page


def test_a_page_without_measurements_says_so() -> None:
    assert "Nothing has been measured yet." in recall_page([], title="t", period=MINUTE)


def test_before_a_whole_period_the_recall_is_not_known() -> None:
    page = recall_page(ROWS[:2], title="t", period=MINUTE)

    assert "what was achieved is not known yet" in page


def test_a_fixed_wait_has_no_target_recall() -> None:
    page = recall_page([row | {"target": None} for row in ROWS], title="t", period=MINUTE)

    assert "A fixed wait" in page
    assert "asked for" not in page


def test_times_without_a_zone_are_those_of_the_clock_on_the_wall(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        (point,) = over(ROWS[:1], MINUTE)
    finally:
        monkeypatch.undo()
        time.tzset()

    there = datetime(2026, 1, 1, 3, 30, tzinfo=UTC)
    assert point.time == there.timestamp() * 1_000_000
    assert over([{**ROWS[0], "time": there}], MINUTE) == [point]
