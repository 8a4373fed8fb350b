"""The report is a single file without dependencies, and shows every row."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import latecomer as lc
from latecomer.api.profile import Profile, profile_batches, source_of
from latecomer.report.figures import SHADES
from latecomer.report.html import page
from latecomer.time import FOREVER, NEVER
from tests.support.elements import Elements
from tests.support.report_streams import disordered_table

if TYPE_CHECKING:
    from pathlib import Path

FIGURES = ["figure-waits", "figure-delays", "figure-time", "figure-level", "figure-keys"]
DAY = 86_400_000_000
LAST_DAY = 253_402_214_400_000_000
"""31 December 9999."""


@pytest.fixture(scope="module")
def report() -> str:
    return page(lc.profile(disordered_table(), time="at", key="source")).render()


def times_page(*times: int | None) -> str:
    rows = pa.table({"time": pa.array(times, pa.int64())})
    return page(profile_batches([rows], source_of("time", None, None, "us"))).render()


def test_all_figures_are_there_each_with_a_table(report: str) -> None:
    elements = Elements(report)

    assert elements.ids("svg") == FIGURES
    # There is one more section for the measures of order, which have no figure.
    assert len(elements.ids("table")) == len(FIGURES) + 1
    for name in FIGURES:
        assert f'aria-labelledby="{name}-title"' in report
        assert f'<title id="{name}-title">' in report


def test_the_page_fetches_nothing(report: str) -> None:
    elements = Elements(report)

    assert "default-src 'none'" in report
    assert not {tag for tag, _ in elements.seen} & {"script", "link", "img", "iframe"}
    assert not [attributes for _, attributes in elements.seen if {"src", "href"} & {*attributes}]
    assert re.findall(r"https?://[^\"]*", report) == ["http://www.w3.org/2000/svg"] * len(FIGURES)
    assert len(report) < 500_000


def test_the_words_are_those_of_the_profile() -> None:
    profile = lc.profile(disordered_table(), time="at")

    text = page(profile).render()

    assert str(profile).split("\n")[0] in text
    assert re.search(r"To have 99 % of the rows in time: <code>sort\(wait=&quot;", text)
    assert "All 3,000 rows are drawn. A cell spans 16 consecutive arrivals and" in text


def test_what_users_named_is_written_and_not_run(report: str) -> None:
    assert "&lt;device 7&gt; &amp; co" in report
    assert "<device" not in report


def test_all_rows_are_drawn_and_none_twice(report: str) -> None:
    profile = lc.profile(disordered_table(), time="at")

    for cells in (profile.counted.findings.by_time, profile.counted.findings.by_level):
        assert int(cells.rows.sum()) == 3_000
    for number in range(SHADES):
        assert f"cell shade-{number}" in report


@pytest.mark.parametrize(
    ("times", "figures"),
    [
        ((), []),
        ((None, None), []),
        ((-7,), ["figure-time"]),
        ((1, 2, 2, 3), ["figure-time"]),
        ((2, 1), FIGURES[:4]),
        ((5, 5, 4), FIGURES[:4]),
        ((0, -DAY, -400 * DAY, 3), FIGURES[:4]),
        ((FOREVER, NEVER + 1, 0), FIGURES[:4]),
        ((0, FOREVER, NEVER + 1), FIGURES[:4]),
        ((LAST_DAY, LAST_DAY - 300 * DAY), FIGURES[:4]),
        ((2**60, 2**60 - 1, 2**60 - 2**40), FIGURES[:4]),
        ((*range(300), 0), FIGURES[:4]),
    ],
)
def test_any_rows_have_a_report(times: tuple[int | None, ...], figures: list[str]) -> None:
    text = times_page(*times)

    assert Elements(text).ids("svg") == figures
    assert "nan" not in text.lower().replace("monospace", "")


def test_writing_a_report_makes_the_directories_on_its_way(tmp_path: Path) -> None:
    profile = lc.profile(disordered_table(10), time="at")

    path = profile.to_html(tmp_path / "reports" / "one.html")

    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_profile_beyond_the_limits_says_so() -> None:
    from latecomer.profile.tally import Limits

    limits = Limits(distinct=10, measured=100)
    rows = disordered_table()
    profile: Profile = profile_batches([rows], source_of("at", None, None, None), limits)

    text = page(profile).render()

    assert "rounded up by less than 0.1 %" in text
    assert "are not measured" in text
    assert "Measures of order" not in text
