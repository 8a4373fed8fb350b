"""The report as a browser shows it: Chromium, without a window, from a file, without a network."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

import latecomer as lc
from tests.support.report_streams import disordered_table

if TYPE_CHECKING:
    from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on PATH: the report is not looked at in a browser"
)
FIGURES = ("figure-waits", "figure-delays", "figure-time", "figure-level", "figure-keys")

# What only a browser knows: where things are. It is asked by a copy of the page that may run this.
ASK = """
<script>
const say = (name, value) => document.body.setAttribute("data-" + name, value);
const svgs = [...document.querySelectorAll("svg")];
const inside = (text) => {
  const own = text.getBoundingClientRect(), frame = text.ownerSVGElement.getBoundingClientRect();
  return own.width > 0 && own.left >= frame.left - 1 && own.right <= frame.right + 1
    && own.top >= frame.top - 1 && own.bottom <= frame.bottom + 1;
};
const ticks = (svg) =>
  [...svg.querySelectorAll(".tick, .told")].map(text => text.getBoundingClientRect());
const overlap = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
  && a.top < b.bottom - 3 && b.top < a.bottom - 3;
const clashes = (svg) => {
  const all = ticks(svg);
  return all.filter((a, i) => all.some((b, j) => j > i && overlap(a, b))).length;
};
say("tall", svgs.filter(svg => svg.getBoundingClientRect().height > 100).length);
say("drawn", svgs.filter(svg => [...svg.querySelectorAll("path.cell, path.bar, path.curve")]
  .some(path => path.getBBox().width > 5 && path.getBBox().height > 5)).length);
say("outside", [...document.querySelectorAll("svg text")].filter(t => !inside(t)).length);
say("clashes", svgs.map(clashes).reduce((a, b) => a + b, 0));
say("wide", document.documentElement.scrollWidth > window.innerWidth ? "too wide" : "fits");
</script>
"""


def browse(page: Path, profile: Path, *options: str) -> subprocess.CompletedProcess[str]:
    assert CHROMIUM is not None
    return subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", *options, page.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("report")
    return lc.profile(disordered_table(), time="at", key="source").to_html(
        directory / "report.html"
    )


def console(answer: subprocess.CompletedProcess[str]) -> list[str]:
    """What the page made the browser say; the browser says other things of its own."""
    return re.findall(r"CONSOLE.*", answer.stderr)


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

    # A blank page is some kilobytes.
    assert shot.stat().st_size > 60_000
    assert paper.read_bytes().startswith(b"%PDF")
