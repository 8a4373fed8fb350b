"""The live page in a real browser: it is opened, clicked, and checked in light and dark."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from latecomer.live.board import Board
from latecomer.live.server import Server
from latecomer.live.windows import Answers
from tests.support.answers import answer, write
from tests.support.browser import CHROMIUM
from tests.support.devtools import Browser
from tests.support.statuses import START, status

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on PATH: the live page is not looked at in a browser"
)

# Only a browser knows which texts of a figure overlap or leave it, which parts of the page overlap,
# and which are wider than the window.
LOOK = """
(() => {
  const box = e => e.getBoundingClientRect();
  const meet = (a, b, slack) => a.left < b.right - 1 && b.left < a.right - 1
    && a.top < b.bottom - slack && b.top < a.bottom - slack;
  const pairs = (all, slack) => all.flatMap((a, i) => all.slice(i + 1)
    .filter(b => meet(box(a), box(b), slack))
    .map(b => a.textContent.trim().slice(0, 30) + " | " + b.textContent.trim().slice(0, 30)));
  const svgs = [...document.querySelectorAll("svg")];
  const blocks = "nav > *, .headline, .choose, .notes > li, section > h2, section > p, "
    + ".tiles > div, figure, table, footer";
  const seen = [...document.querySelectorAll(blocks)].filter(e => box(e).width > 0);
  return {
    figures: svgs.filter(svg => box(svg).height > 100).map(svg => svg.id),
    texts: svgs.flatMap(svg => pairs([...svg.querySelectorAll("text")], 3)),
    outside: svgs.flatMap(svg => [...svg.querySelectorAll("text")].filter(text => {
      const own = box(text), frame = box(svg);
      return own.left < frame.left - 1 || own.right > frame.right + 1
        || own.top < frame.top - 1 || own.bottom > frame.bottom + 1;
    }).map(text => text.textContent)),
    blocks: pairs(seen, 1),
    wide: seen.filter(e => box(e).right > innerWidth + 1 || box(e).left < -1).map(e => e.outerHTML),
    page: document.documentElement.scrollWidth - innerWidth,
    paper: getComputedStyle(document.body).backgroundColor,
  };
})()
"""
FIGURES = ["waits", "delays", "late", "behind", "wait", "recall", "keys", "windows", "batches"]
PAPER = {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 25, 29)"}


class Queries:
    """Two queries that advance by a micro-batch each time they are read, unless halted."""

    def __init__(self) -> None:
        self.batch = 0
        self.is_halted = False

    def __call__(self) -> list[dict[str, Any]]:
        self.batch += not self.is_halted
        return [status(self.batch), status(self.batch, "payments")]


@pytest.fixture(scope="module")
def queries() -> Queries:
    return Queries()


@pytest.fixture(scope="module")
def server(queries: Queries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    output = tmp_path_factory.mktemp("ready")
    early = [answer(n, "1 hour", "EWR", 90 + n) for n in range(40)]
    write(output, 0, [*early, *(answer(n, "3 hours", "EWR", 120 + n) for n in range(38))])
    board = Board(queries, lambda: START + 20_000_000 * queries.batch)
    for _ in range(60):
        board.ask()
    server = Server(board, every=0.05, answers=Answers(output))
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser") / "profile") as browser:
        yield browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 768, 390])
def test_nothing_overlaps_and_nothing_overflows(
    browser: Browser, server: Server, queries: Queries, width: int, scheme: str
) -> None:
    queries.is_halted = True
    browser.show(width, scheme)
    browser.open(server.url)

    seen = browser.ask(LOOK)
    picture = browser.photograph()

    assert seen == {
        "figures": [f"figure-{name}" for name in FIGURES],
        "texts": [],
        "outside": [],
        "blocks": [],
        "wide": [],
        "page": 0,
        "paper": PAPER[scheme],
    }
    # A blank page would be a few kilobytes.
    assert len(picture) > 60_000
    assert browser.console == []


def test_the_page_updates_itself_until_it_is_stopped(
    browser: Browser, server: Server, queries: Queries
) -> None:
    queries.is_halted = False
    browser.show(1280, "light")
    browser.open(server.url)
    headline = "document.querySelector('.headline').textContent"
    first = browser.ask(headline)
    browser.wait_for(f"{headline} !== {first!r}")

    browser.click("#pause")
    browser.wait_for("document.querySelector('#pause').textContent === 'Go on'")
    # An answer that was on its way is no longer shown.
    held, batch = browser.ask(headline), queries.batch
    while queries.batch < batch + 5:
        time.sleep(0.01)
    assert browser.ask(headline) == held
    browser.click("#pause")
    browser.wait_for(f"{headline} !== {held!r}")


def test_another_query_and_another_time_are_a_click_away(browser: Browser, server: Server) -> None:
    browser.open(server.url)
    for link, shown in (("payments", "payments, live"), ("10 minutes", "payments, live")):
        browser.ask("window.isOld = true")
        browser.ask(
            f"[...document.querySelectorAll('nav a')].find(a => a.textContent === {link!r})"
            ".id = 'wanted'"
        )
        browser.click("#wanted")
        browser.wait_for_a_page()
        assert browser.ask("document.title") == shown

    assert browser.ask("location.search") == "?query=payments&last=600"
    assert browser.ask("document.querySelector('main').textContent.includes('these ')")


def test_a_server_that_does_not_answer_is_reported(browser: Browser, queries: Queries) -> None:
    gone = Server(Board(queries), every=0.05)
    gone.start()
    browser.open(gone.url)
    gone.stop()

    browser.wait_for("document.querySelector('#state').textContent.includes('does not answer')")
    assert browser.ask("document.querySelectorAll('svg').length") > 0
