"""The demo's picture: early against final counts, and the recall of each wait, as one HTML page.

A bar is one hour at one airport. Its parts are the departures known after the first wait, those
that each longer wait added, and those that came after the window had closed:

    ▒  late: came when the window had closed
    ░  added after 5 hours
    ▓  added after 3 hours
    █  known after 1 hour: the early answer
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from latecomer.demo.departures import ASKED, SIZE, SIZE_MICROS, WAITS
from latecomer.demo.outcome import clock
from latecomer.hosts.late import NO_TIME
from latecomer.operators.base import LATE
from latecomer.report import svg
from latecomer.report.page import Page, Table, legend, section
from latecomer.report.svg import Figure, across, upwards
from latecomer.report.ticks import count_ticks, time_ticks
from latecomer.report.words import percent

if TYPE_CHECKING:
    from latecomer.demo.outcome import Outcome, Window

_KINDS = ("shade-4", "shade-2", "shade-0")
"""A shade for each wait: the later, the lighter."""
_GAP = 1.5
"""Gap between two bars; smaller where bars are narrow."""
_FOOTER = (
    f"A window is {SIZE} at one airport; times are in UTC. The answer after {WAITS[0]} is given "
    f"once a flight has been reported that departed {WAITS[0]} after the end of the window, and so "
    "for the others. Written by Latecomer."
)


def picture(outcome: Outcome) -> str:
    """Return the page with the output of the demo's query."""
    return Page(
        title="Departures from New York, counted while flights are still being reported",
        headline=_headline(outcome),
        choose=f"<p>Three answers for each window: <code>{escape(''.join(ASKED))}</code></p>",
        notes=_notes(outcome),
        sections=[*_sections(outcome)] if outcome.closed else [],
        footer=_FOOTER,
    ).render()


def _headline(outcome: Outcome) -> str:
    if not outcome.closed:
        return "No window has closed yet."
    share = percent(outcome.totals[0], outcome.totals[-1])
    return (
        f"After {WAITS[0]}, {share} of the departures were known that were known after "
        f"{WAITS[-1]}; {outcome.rows_late[LATE]:,} flights came later still."
    )


def _notes(outcome: Outcome) -> Iterator[str]:
    late = outcome.rows_late
    yield (
        f"{outcome.flights.num_rows:,} flights went in, in order of landing. "
        f"{outcome.totals[-1]:,} are counted in windows that have closed, {late[LATE]:,} were "
        f"late, {late[NO_TIME]:,} have no time, as they were cancelled, and {outcome.held:,} are "
        "held in open windows."
    )
    yield (
        "What came out was checked: these numbers add up, and each final answer is the number of "
        "flights of its window, without the late ones."
    )


def _sections(outcome: Outcome) -> Iterator[str]:
    yield _recall(outcome)
    for origin in sorted({window.origin for window in outcome.closed}):
        windows = [window for window in outcome.closed if window.origin == origin]
        yield section(
            f"{origin}: early against final",
            "A bar is all departures of a window. Its foot is the early answer; what is above it "
            "was not known then.",
            _bars(origin, windows) + _legend(windows),
            _numbers(windows),
        )


def _recall(outcome: Outcome) -> str:
    *_, final = outcome.totals
    known = [
        (f"after {wait}", count, percent(count, final))
        for wait, count in zip(WAITS, outcome.totals, strict=True)
    ]
    refined = ["–", *(f"{outcome.refined(level):,}" for level in range(1, len(WAITS)))]
    return section(
        "Recall of each wait",
        f"The share that was known of the departures known after {WAITS[-1]}, in the "
        f"{len(outcome.closed):,} windows that have closed. A window is refined if its answer is "
        "better than the one before.",
        svg.named_bars("figure-recall", "Recall of each wait", known),
        Table(
            ("answer", "departures", "recall", "windows refined"),
            [
                (name, f"{count:,}", share, better)
                for (name, count, share), better in zip(known, refined, strict=True)
            ],
        ),
    )


def _bars(origin: str, windows: Sequence[Window]) -> str:
    low, high = windows[0].start, windows[-1].start + SIZE_MICROS
    tallest = max(window.counts[-1] + window.late for window in windows)
    x, y = across(low, high), upwards(0, tallest)
    figure = Figure(f"figure-{origin}", f"Departures per window from {origin}, by wait")
    figure.y_axis(y, count_ticks(tallest), "departures")
    figure.x_axis(x, time_ticks(low, high, is_calendar=True), "departed (UTC)")
    gap = min(_GAP, (x(low + SIZE_MICROS) - x(low)) / 4)
    for window in windows:
        left, right = x(window.start) + gap / 2, x(window.start + SIZE_MICROS) - gap / 2
        cuts = pairwise([0, *window.counts, window.counts[-1] + window.late])
        for (bottom, top), (kind, text) in zip(cuts, _parts(), strict=True):
            if top > bottom:
                drawn = svg.box(left, y(top), right - left, y(bottom) - y(top))
                told = f"{clock(window.start)}: {top - bottom:,} {text}"
                figure.add(svg.bar(drawn, told, f"bar {kind}"))
    return figure.render()


def _parts() -> list[tuple[str, str]]:
    first, *rest = WAITS
    texts = [f"known after {first}", *(f"added after {wait}" for wait in rest)]
    return [*zip(_KINDS, texts, strict=True), ("late", "late")]


def _legend(windows: Sequence[Window]) -> str:
    parts = _parts() if any(window.late for window in windows) else _parts()[:-1]
    return legend("departures", parts)


def _numbers(windows: Sequence[Window]) -> Table:
    return Table(
        ("window", *(f"after {wait}" for wait in WAITS), "late"),
        [
            (clock(window.start), *(f"{n:,}" for n in window.counts), f"{window.late:,}")
            for window in windows
        ],
    )
