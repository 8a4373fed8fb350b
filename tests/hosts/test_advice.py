from __future__ import annotations

from typing import TYPE_CHECKING

from latecomer.hosts.advice import HOUR, Advice

if TYPE_CHECKING:
    import pytest


def tally(rows: int, late: int, delay: str = "delay_120000") -> dict[str, int]:
    return {"in": rows, "late": late, "delay_0": rows - late, delay: late}


def test_many_late_rows_are_reported_once_and_again_after_an_improvement(
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
            "A wait of 2 minutes would have kept 99 % of them."
        )
    ]
    told = caplog.records[0].latecomer  # type: ignore[attr-defined]
    assert (told["query"], told["wait_ms"], told["late_share"]) == ("sales", 120_000, 81 / 2_000)

    advice.heard(30 + HOUR, tally(1_000, 0))
    advice.heard(40 + HOUR, tally(1_000, 90, "delay_more"))
    assert len(caplog.messages) == 2
    assert "Even a wait of a week" in caplog.messages[1]


def test_the_present_wait_is_not_advised(caplog: pytest.LogCaptureFixture) -> None:
    advice = Advice("sales")

    # One row in a hundred is late: the present wait keeps 99 %, and so does no wait at all.
    advice.heard(0, tally(100, 1))
    assert caplog.messages == []
    advice.heard(0, tally(100, 2))
    assert caplog.messages[0].endswith("A wait of 2 minutes would have kept 99 % of them.")


def test_only_rows_behind_the_watermark_count_since_no_wait_helps_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    advice = Advice("sales")

    advice.heard(0, {"in": 100, "late": 60, "ahead": 40, "no_time": 20, "delay_0": 40})
    assert caplog.messages == []
    advice.heard(0, {"in": 100, "late": 61, "ahead": 40, "no_time": 15, "delay_0": 45})
    assert caplog.messages[0].startswith('query "sales": 3.0 % of the rows')


def test_an_hour_of_micro_batches_is_not_added_up_again_with_each_one() -> None:
    class Read(dict):
        times = 0

        def get(self, name: str, default: object = None) -> object:
            Read.times += name == "in"
            return super().get(name, default)

    advice = Advice("sales")
    for second in range(100):
        advice.heard(second, Read(tally(1_000, 1)))

    assert Read.times == 100


def test_without_counts_of_delays_no_wait_is_named(caplog: pytest.LogCaptureFixture) -> None:
    advice = Advice("sales")
    advice.heard(0, {"ready": 3})
    advice.heard(0, {"in": 100, "dropped": 50})

    assert caplog.messages[0].endswith("(0.0 % before). Its delays are not counted.")


def test_by_default_nothing_is_printed(capfd: pytest.CaptureFixture) -> None:
    Advice("sales").heard(0, tally(10, 10))

    assert capfd.readouterr() == ("", "")
