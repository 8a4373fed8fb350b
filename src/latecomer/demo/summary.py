"""Tell how the demo went, on a screen 80 columns wide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from latecomer.demo.clock import clock
from latecomer.demo.departures import SIZE, SIZE_MICROS, WAITS
from latecomer.hosts.late import LATE, NO_TIME
from latecomer.report.words import percent
from latecomer.time import TimeColumn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from rich.console import Console

    from latecomer.demo.outcome import Outcome

    Columns = tuple[tuple[str, ...], Iterator[tuple[str, ...]]]

_SHOWN = 5
_TIMES = ("departed", "landed")
_SPANS = ("_delay", "_behind")
_HOUR = 3_600_000_000


def show(console: Console, outcome: Outcome) -> None:
    """Print the account, what each wait knew, a window of each airport, and the late flights."""
    console.print()
    console.print(_account(outcome))
    if outcome.closed:
        console.print()
        console.print(
            _table(f"Departures per {_per(SIZE)} and airport, after each wait", *_waits(outcome))
        )
        console.print()
        console.print(
            _table("For example, the busiest window of each airport", *_examples(outcome))
        )
    if outcome.rows_late[LATE]:
        console.print()
        console.print(_late(outcome.late_flights))


def _per(size: str) -> str:
    return size.removeprefix("1 ")


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


def _waits(outcome: Outcome) -> Columns:
    *_, final = outcome.totals
    rows = (
        (
            wait,
            f"{sum(window.answers[level] is not None for window in outcome.closed):,}",
            f"{outcome.refined(level):,}" if level else "–",
            f"{known:,}",
            percent(known, final),
        )
        for level, (wait, known) in enumerate(zip(WAITS, outcome.totals, strict=True))
    )
    return ("wait", "answers", "refined", "departures", "recall"), rows


def _examples(outcome: Outcome) -> Columns:
    rows = (
        (
            window.origin,
            f"{clock(window.start)} – {clock(window.start + SIZE_MICROS)[-5:]}",
            *(f"{count:,}" for count in window.counts),
            f"{window.late:,}",
        )
        for window in outcome.busiest
    )
    return ("airport", "window (UTC)", *(f"after {wait}" for wait in WAITS), "late"), rows


def _late(flights: pa.Table) -> Table:
    shown = flights.slice(0, _SHOWN).drop_columns(["_reason", "batch"])
    columns = [list(_cells(name, shown)) for name in shown.column_names]
    title = f"The latest of the {flights.num_rows:,} late flights (UTC)"
    return _table(title, tuple(shown.column_names), zip(*columns, strict=True))


def _cells(name: str, rows: pa.Table) -> Iterator[str]:
    if name in _TIMES:
        yield from map(clock, TimeColumn(name).micros(rows).tolist())
    elif name in _SPANS:
        # Spark writes a duration to Parquet as a plain count of microseconds.
        for micros in rows[name].to_pylist():
            yield f"{micros / _HOUR:.2f} h"
    else:
        yield from map(str, rows[name].to_pylist())


def _table(title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Table:
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=None,
        padding=(0, 2),
        collapse_padding=True,
        pad_edge=False,
    )
    texts = [*rows]
    for name, *cells in zip(head, *texts, strict=True):
        is_number = any(cell[0].isdigit() for cell in cells) and not name.startswith("wait")
        table.add_column(name, justify="right" if is_number else "left", no_wrap=True)
    for text in texts:
        table.add_row(*text)
    return table
