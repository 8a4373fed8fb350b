"""Print the result of the demo, for a screen 80 columns wide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from rich.table import Table

from latecomer.demo.departures import SIZE_MICROS, WAITS
from latecomer.demo.outcome import DEPARTED, clock
from latecomer.hosts.late import NO_TIME
from latecomer.operators.base import LATE
from latecomer.profile.measures import measure
from latecomer.report.words import percent
from latecomer.time import TimeColumn, format_duration

if TYPE_CHECKING:
    from rich.console import Console

    from latecomer.demo.outcome import Outcome

    Rows = Iterable[tuple[str, ...]]
    """Rows of texts; the first row is the head."""

_SHOWN = 5
_TIMES = ("departed", "landed")
_SPANS = ("_delay", "_behind")
_WORDS = (*_TIMES, "wait", "airport", "window", "origin", "dest", "carrier")
"""Columns that are not numbers."""
_HOUR = 3_600_000
"""An hour, in milliseconds."""


def show(console: Console, outcome: Outcome) -> None:
    """Print the count of all flights, the recall of each wait, and examples of windows and rows."""
    console.print(_account(outcome))
    if outcome.flights.num_rows > outcome.flights["departed"].null_count:
        console.print(f"\n{_disorder(outcome)}", highlight=False)
    if outcome.closed:
        _print(console, "Departures per hour and airport, after each wait", _waits(outcome))
        title = "The window of each airport that was refined most (UTC)"
        _print(console, title, _examples(outcome))
    if outcome.rows_late[LATE]:
        title = f"The latest of the {outcome.rows_late[LATE]:,} late flights (UTC)"
        _print(console, title, _late(outcome.late_flights))


def _account(outcome: Outcome) -> Table:
    late = outcome.rows_late
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", style="bold", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(style="dim")
    table.add_row(f"{outcome.flights.num_rows:,}", "flights in", "in order of landing")
    table.add_row(
        f"{outcome.totals[-1]:,}", "counted", f"in {len(outcome.closed):,} windows that have closed"
    )
    table.add_row(f"{late[LATE]:,}", "late", "landed after their window had closed")
    table.add_row(f"{late[NO_TIME]:,}", "no time", "cancelled: with the late ones, not lost")
    table.add_row(f"{outcome.held:,}", "held", "in open windows: the next flights would close them")
    return table


def _disorder(outcome: Outcome) -> str:
    departed = outcome.flights.filter(pc.is_valid(outcome.flights["departed"]))
    seen = measure(DEPARTED.micros(departed))
    half, most, largest = (
        format_duration(delay)
        for delay in (seen.quantiles[0.5], seen.quantiles[0.99], seen.largest)
    )
    return (
        f"{100 * seen.share:.1f} % of those that departed were reported out of order. Half came at "
        f"most\n{half} behind the newest departure so far, 99 % at most {most},\nall at most "
        f"{largest}."
    )


def _waits(outcome: Outcome) -> Rows:
    yield "wait", "departures", "recall", "windows refined"
    for level, (wait, known) in enumerate(zip(WAITS, outcome.totals, strict=True)):
        refined = f"{outcome.refined(level):,} of {len(outcome.closed):,}" if level else "–"
        yield wait, f"{known:,}", percent(known, outcome.totals[-1]), refined


def _examples(outcome: Outcome) -> Rows:
    yield "airport", "window", *(f"after {wait}" for wait in WAITS), "late"
    for window in outcome.most_refined:
        hour = f"{clock(window.start)} – {clock(window.start + SIZE_MICROS)[-5:]}"
        yield window.origin, hour, *(f"{count:,}" for count in window.counts), f"{window.late:,}"


def _late(flights: pa.Table) -> Rows:
    shown = flights.slice(0, _SHOWN).drop_columns(["_reason", "batch"])
    yield tuple(shown.column_names)
    yield from zip(*(_cells(name, shown) for name in shown.column_names), strict=True)


def _cells(name: str, rows: pa.Table) -> Iterator[str]:
    if name in _TIMES:
        yield from map(clock, TimeColumn(name).micros(rows).tolist())
    elif name in _SPANS:
        for millis in rows[name].to_pylist():
            yield f"{millis / _HOUR:.2f} h"
    else:
        yield from map(str, rows[name].to_pylist())


def _print(console: Console, title: str, rows: Rows) -> None:
    table = Table(box=None, padding=(0, 2), collapse_padding=True, pad_edge=False)
    head, *body = rows
    for name in head:
        table.add_column(name, justify="left" if name in _WORDS else "right", no_wrap=True)
    for cells in body:
        table.add_row(*cells)
    console.print(f"\n[bold]{title}[/]", highlight=False)
    console.print(table)
