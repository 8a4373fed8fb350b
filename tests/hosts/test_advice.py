from __future__ import annotations

from typing import TYPE_CHECKING

from latecomer.hosts.advice import HOUR, Advice

if TYPE_CHECKING:
    import pytest


def tally(rows: int, late: int, delay: str = "delay_120000") -> dict[str, int]:
    return {"in": rows, "late": late, "delay_0": rows - late, delay: late}


def test_it_is_said_once_when_many_rows_are_late_and_again_after_it_was_better(
    caplog: pytest.LogCaptureFixture,
) -> None:
    advice = Advice("sales")

    advice.heard(0, tally(1_000, 1))
    assert caplog.messages == []
    advice.heard(10, tally(1_000, 80))
    advice.heard(20, tally(1_000, 80))
    assert caplog.messages == [
        (
            'query "sales": 4.0 % of the rows of the last hour were late (0.1 % before). '
            "A wait of 2 minutes would have kept 99% of them."
        )
    ]
    told = caplog.records[0].latecomer  # type: ignore[attr-defined]
    assert (told["query"], told["wait_ms"], told["late_share"]) == ("sales", 120_000, 81 / 2_000)

    advice.heard(30 + HOUR, tally(1_000, 0))
    advice.heard(40 + HOUR, tally(1_000, 90, "delay_more"))
    assert len(caplog.messages) == 2
    assert "Even a wait of a week" in caplog.messages[1]


def test_where_delays_are_not_counted_no_wait_is_named(caplog: pytest.LogCaptureFixture) -> None:
    advice = Advice("sales")
    advice.heard(0, {"ready": 3})
    advice.heard(0, {"in": 100, "dropped": 50})

    assert caplog.messages[0].endswith("(0.0 % before). Its delays are not counted.")


def test_by_default_nothing_is_printed(capfd: pytest.CaptureFixture) -> None:
    Advice("sales").heard(0, tally(10, 10))

    assert capfd.readouterr() == ("", "")
