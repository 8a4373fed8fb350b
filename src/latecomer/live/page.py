"""The live page: the status of a query in the form of a report, refreshed every few seconds.

The page is rendered for each request, with all figures in it, so it can be read, saved and printed
without JavaScript. A short script fetches it again and replaces the parts that have changed.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from latecomer.errors import LatecomerError
from latecomer.live.sections import advice, headline, notes, sections
from latecomer.report.page import Page

if TYPE_CHECKING:
    from latecomer.live.board import Board
    from latecomer.live.windows import Answers

SCRIPT = Path(__file__).with_name("page.js").read_text(encoding="utf-8")
RANGES = ((None, "all"), (3_600, "1 hour"), (600, "10 minutes"))
"""The spans of the past that can be shown: seconds, and the text of the link."""
_FOOTER = (
    "Counts are those since the checkpoint began, as far as the source knows them. A delay is how "
    "far behind the newest row of earlier micro-batches a row came. Written by Latecomer."
)


def page(
    board: Board,
    query: str | None = None,
    last: int | None = None,
    *,
    answers: Answers | None = None,
    every: float = 2.0,
) -> str:
    """Return the page of a query, by default the first by name, as HTML.

    It shows the `last` seconds, by default all that is known. The browser fetches it again after
    `every` seconds.
    """
    names = board.names
    name = query if query is not None else next(iter(names), None)
    history = board.read(name) if name is not None else None
    trouble = board.trouble
    state = f"The source does not answer: {trouble}" if trouble else "Live"
    controls = _controls(names, name, last, state, every)
    if history is None:
        empty = "There is no query yet." if name is None else f'There is no query "{name}".'
        return Page("Latecomer", empty, "", [], [], _FOOTER, controls, SCRIPT).render()
    samples = history.since(None if last is None else last * 1_000_000)
    # The share that a wait would keep is computed from the rows of the span that is shown.
    before = samples[0] if last is not None and len(samples) > 1 else None
    told = list(notes(history.last))
    try:
        drawn = list(sections(samples, before, answers))
    except LatecomerError as error:
        # If the answers cannot be shown, the rest of the page still is.
        told.append(str(error))
        drawn = list(sections(samples, before))
    return Page(
        title=f"{name}, live",
        headline=headline(history.last),
        choose=advice(history.last, before),
        notes=told,
        sections=drawn,
        footer=_FOOTER,
        controls=controls,
        script=SCRIPT,
    ).render()


def _controls(
    names: list[str], name: str | None, last: int | None, state: str, every: float
) -> str:
    queries = [_link(each, each, last, is_current=each == name) for each in names]
    ranges = [_link(text, name, span, is_current=span == last) for span, text in RANGES]
    return (
        f'<nav id="live" aria-label="queries and time" data-every="{every:g}">'
        f"{''.join(queries) if len(names) > 1 else ''}{''.join(ranges)}"
        '<button id="pause" type="button" aria-pressed="false" hidden>Pause</button>'
        f'<span id="state" role="status">{escape(state)}</span></nav>'
    )


def _link(text: str, query: str | None, last: int | None, *, is_current: bool) -> str:
    asked = {"query": query, "last": last}
    there = urlencode({name: value for name, value in asked.items() if value is not None})
    current = ' aria-current="true"' if is_current else ""
    return f'<a href="?{escape(there)}"{current}>{escape(text)}</a>'
