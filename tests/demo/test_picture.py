"""The demo's picture is a single file without dependencies, and shows every closed window."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from latecomer.demo.picture import picture
from tests.support.browser import ASK, CHROMIUM, browse, console
from tests.support.demo_locally import locally
from tests.support.elements import Elements

if TYPE_CHECKING:
    from pathlib import Path

    from latecomer.demo.outcome import Outcome

FIGURES = ["figure-recall", "figure-EWR", "figure-JFK", "figure-LGA"]


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return locally(hours=30, every="1 hour")


@pytest.fixture(scope="module")
def page(outcome: Outcome) -> str:
    return picture(outcome)


def test_each_figure_is_there_beside_its_numbers(page: str) -> None:
    elements = Elements(page)

    assert elements.ids("svg") == FIGURES
    assert len(elements.ids("table")) == len(FIGURES)


def test_the_picture_fetches_nothing(page: str) -> None:
    elements = Elements(page)

    assert "default-src 'none'" in page
    assert not {tag for tag, _ in elements.seen} & {"script", "link", "img", "iframe"}
    assert re.findall(r"https?://[^\"]*", page) == ["http://www.w3.org/2000/svg"] * len(FIGURES)


def test_the_picture_shows_the_query_and_the_early_results(page: str) -> None:
    assert "wait([&quot;1 hour&quot;, &quot;3 hours&quot;, &quot;5 hours&quot;])" in page
    assert "After 1 hour, 63.51 % of the departures were known that" in page
    assert "8 flights came later still" in page
    assert "1,075 flights went in" in page


def test_each_wait_has_its_recall(page: str) -> None:
    for count, share, refined in (("545", "63.51 %", "–"), ("724", "84.38 %", "53")):
        assert f"<td>{count}</td><td>{share}</td><td>{refined}</td>" in page


def test_the_bars_are_all_departures_each_drawn_once(page: str, outcome: Outcome) -> None:
    def drawn(kind: str, text: str) -> int:
        bars = re.findall(rf'<path class="bar {kind}" d="[^"]*"><title>.*?: (\d+) {text}<', page)
        return sum(map(int, bars))

    first, second, last = outcome.totals
    assert drawn("shade-4", "known after 1 hour") == first
    assert drawn("shade-2", "added after 3 hours") == second - first
    assert drawn("shade-0", "added after 5 hours") == last - second
    assert drawn("late", "late") == sum(window.late for window in outcome.closed) == 8


def test_the_tables_have_every_closed_window(page: str) -> None:
    """Newark, from 1 to 2 in the morning: 4 departures at first, and 21 at the end."""
    assert '<th scope="row">Jul 29 01:00</th><td>4</td><td>20</td><td>21</td><td>0</td>' in page
    assert page.count('<th scope="row">Jul ') == 67


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH")
def test_a_browser_finds_everything_in_its_place(page: str, tmp_path: Path) -> None:
    asking = tmp_path / "asking.html"
    text = re.sub(r"<meta http-equiv.*>", "", page).replace("</body>", ASK + "</body>")
    asking.write_text(text, encoding="utf-8")

    answer = browse(asking, tmp_path / "user", "--window-size=1280,900", "--dump-dom")

    said = dict(re.findall(r'data-([a-z]+)="([^"]*)"', answer.stdout))
    assert console(answer) == []
    assert (said["drawn"], said["outside"], said["clashes"]) == (str(len(FIGURES)), "0", "0")
    assert said["wide"] == "fits"
