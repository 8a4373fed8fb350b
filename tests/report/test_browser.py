"""The report in a browser: headless Chromium, from a file, without a network."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import latecomer as lc
from tests.support.browser import ASK, CHROMIUM, browse, console
from tests.support.report_streams import disordered_table

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on PATH: the report is not looked at in a browser"
)
FIGURES = ("figure-waits", "figure-delays", "figure-time", "figure-level", "figure-keys")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("report")
    return lc.profile(disordered_table(), time="at", key="source").to_html(
        directory / "report.html"
    )


def test_the_figures_are_there_and_nothing_is_wrong(report: Path, tmp_path: Path) -> None:
    answer = browse(report, tmp_path / "user", "--dump-dom")

    assert re.findall(r'<svg id="([a-z-]+)"', answer.stdout) == list(FIGURES)
    assert console(answer) == []


@pytest.mark.parametrize("width", [1280, 600])
def test_everything_is_in_its_place(report: Path, tmp_path: Path, width: int) -> None:
    asking = tmp_path / "asking.html"
    text = report.read_text(encoding="utf-8")
    text = re.sub(r"<meta http-equiv.*>", "", text).replace("</body>", ASK + "</body>")
    asking.write_text(text, encoding="utf-8")

    answer = browse(asking, tmp_path / "user", f"--window-size={width},900", "--dump-dom")

    said = dict(re.findall(r'data-([a-z]+)="([^"]*)"', answer.stdout))
    assert console(answer) == []
    assert said == {
        "tall": str(len(FIGURES)),
        "drawn": str(len(FIGURES)),
        "outside": "0",
        "clashes": "0",
        "wide": "fits",
    }


def test_it_can_be_photographed_and_printed(report: Path, tmp_path: Path) -> None:
    shot, paper = tmp_path / "shot.png", tmp_path / "paper.pdf"

    browse(report, tmp_path / "user", "--window-size=1280,3000", f"--screenshot={shot}")
    browse(report, tmp_path / "user", f"--print-to-pdf={paper}")

    # A blank page would be a few kilobytes.
    assert shot.stat().st_size > 60_000
    assert paper.read_bytes().startswith(b"%PDF")
