from __future__ import annotations

from pathlib import Path

from latecomer.live.board import Board
from latecomer.live.page import SCRIPT, page
from latecomer.live.windows import Answers
from tests.support.statuses import START, status


def board(*names: str) -> Board:
    found = Board(lambda: [status(1, name) for name in names], lambda: START)
    found.ask()
    return found


def test_the_page_may_run_its_own_script_only() -> None:
    html = page(board("a"))

    assert f"<script>{SCRIPT}</script>" in html
    assert "script-src 'sha256-" in html
    assert "connect-src 'self'" in html
    assert "http" not in SCRIPT


def test_queries_and_times_can_be_chosen() -> None:
    html = page(board("a", "b & <c>"), "b & <c>", 600)

    assert "<title>b &amp; &lt;c&gt;, live</title>" in html
    assert '<a href="?query=a&amp;last=600">a</a>' in html
    assert 'aria-current="true">b &amp; &lt;c&gt;</a>' in html
    assert 'aria-current="true">10 minutes</a>' in html


def test_one_query_needs_no_choice() -> None:
    assert ">a</a>" not in page(board("a"))


def test_a_missing_query_is_reported() -> None:
    assert "There is no query yet." in page(board())
    assert "There is no query &quot;x&quot;." in page(board("a"), "x")


def test_a_source_that_does_not_answer_is_reported() -> None:
    def fail() -> list[dict[str, object]]:
        raise OSError("<no> route")

    found = Board(fail)
    found.ask()

    assert "The source does not answer: &lt;no&gt; route" in page(found)


def test_answers_that_cannot_be_read_do_not_cost_the_rest() -> None:
    html = page(board("a"), answers=Answers(Path("nowhere")))

    assert "there is no directory &quot;nowhere&quot;" in html
    assert "<h2>Micro-batches</h2>" in html
