from __future__ import annotations

import re
from io import StringIO
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from latecomer import demo
from latecomer.demo.checks import check, check_recall
from latecomer.demo.picture import picture
from latecomer.demo.summary import show
from latecomer.hosts.late import NO_TIME
from latecomer.operators.base import LATE
from tests.support.demo_locally import locally

if TYPE_CHECKING:
    from pathlib import Path

    from latecomer.demo.outcome import Outcome


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return locally()


@pytest.mark.usefixtures("spark")
def test_spark_answers_as_the_local_host_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "work"))
    screen = StringIO()
    html = tmp_path / "picture.html"

    demo.run(Console(file=screen, width=80), hours=12, every="3 hours", html=html)

    outcome = locally(hours=12, every="3 hours")
    printed = screen.getvalue()
    assert outcome.totals == [172, 222, 238]
    assert shown(outcome) in printed
    assert "417 real flights" in printed
    assert html.read_text(encoding="utf-8") == picture(outcome)
    assert re.search(
        r"Streamed in .* s, in 4 micro-batches: the first answer after .* s,\n"
        r"and .* flights a second in all\. The picture is in",
        printed,
    )
    assert f"The picture is in {html}." in printed
    assert "…" not in printed
    assert list((tmp_path / "work").iterdir()) == []


def shown(outcome: Outcome) -> str:
    screen = StringIO()
    show(Console(file=screen, width=80), outcome)
    return screen.getvalue()


def test_the_demo_adds_up_and_its_answers_get_better(outcome: Outcome) -> None:
    check(outcome)

    assert outcome.totals == [10_076, 10_823, 11_242]
    assert outcome.rows_late == {LATE: 12, NO_TIME: 275}
    assert outcome.held == 121
    assert 11_242 + 12 + 275 + 121 == outcome.flights.num_rows == 11_650
    assert [outcome.refined(level) for level in (1, 2)] == [127, 94]


def test_a_demo_in_which_nothing_closes_says_so() -> None:
    outcome = locally(hours=4)

    check(outcome)
    check_recall(outcome, [], {0, 1, 2})

    assert outcome.closed == []
    assert "recall" not in shown(outcome)
    assert "No window has closed yet." in picture(outcome)


def test_a_picture_that_cannot_be_written_is_reported_without_an_error(
    outcome: Outcome, tmp_path: Path
) -> None:
    told = demo._drawn(outcome, tmp_path / "nowhere" / "picture.html")
    assert re.fullmatch(r"No picture: .* No such file or directory: '.*picture.html'\.", told)
