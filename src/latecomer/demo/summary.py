"""Tell how the demo went, on a screen 80 columns wide."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from rich.table import Table

from latecomer.disorder.measures import measure
from latecomer.hosts.late import LATE, NO_TIME
from latecomer.time import NEVER, TimeColumn, format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from latecomer.demo.outcome import Outcome

_SHOWN = 5
_TIMES = ("departed", "landed")
_SPANS = ("_delay", "_behind")
_HOUR = 3_600_000_000


def show(console: Console, outcome: Outcome, took: str) -> None:
    """Print the account, the disorder of the input, how long it took, and rows of both outputs."""
    console.print()
    console.print(_account(outcome))
    console.print()
    console.print(_disorder(outcome))
    console.print()
    console.print(took)
    if outcome.ready:
        first = pa.concat_tables(outcome.ready).sort_by("departed")
        console.print()
        console.print(_rows("The first ready rows (2013, UTC)", first))
    if outcome.rows_late[LATE]:
        late = pa.concat_tables(outcome.late)
        worst = late.filter(pc.equal(late["_reason"], LATE)).sort_by([("_behind", "descending")])
        console.print()
        console.print(_rows("The latest of the late rows (2013, UTC)", worst))


def _account(outcome: Outcome) -> Table:
    late, wait = outcome.rows_late, format_duration(outcome.wait)
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", style="bold", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(style="dim")
    table.add_row(f"{outcome.flights.num_rows:,}", "rows in", "flights, in order of landing")
    table.add_row(f"{outcome.rows_ready:,}", "ready", "in order of departure")
    table.add_row(
        f"{late[LATE]:,}",
        "late",
        f"departed more than {wait} before the newest flight of an earlier micro-batch",
    )
    table.add_row(f"{late[NO_TIME]:,}", "no time", "cancelled: with the late rows, not lost")
    table.add_row(
        f"{outcome.rows_held:,}",
        "held",
        f"departed in the last {wait}: the next flights would release them",
    )
    return table


def _disorder(outcome: Outcome) -> str:
    departed = outcome.flights.filter(pc.is_valid(outcome.flights["departed"]))
    seen = measure(TimeColumn("departed").micros(departed, null=NEVER))
    share = f"{100 * seen.share:.1f} %"
    half, most, largest = (
        format_duration(delay)
        for delay in (seen.quantiles[0.5], seen.quantiles[0.99], seen.largest)
    )
    return (
        f"{share} of the flights that departed were reported out of order. Half came\n"
        f"at most {half} behind the newest departure so far, 99 % at most {most},\n"
        f"all at most {largest}."
    )


def _rows(title: str, rows: pa.Table) -> Table:
    shown = rows.slice(0, _SHOWN)
    names = [name for name in shown.column_names if name != "_reason"]
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=None,
        padding=(0, 2),
        collapse_padding=True,
        pad_edge=False,
    )
    for name in names:
        is_number = name == "flight" or name in _SPANS
        table.add_column(name, justify="right" if is_number else "left", no_wrap=True)
    columns = [list(_cells(name, shown)) for name in names]
    for cells in zip(*columns, strict=True):
        table.add_row(*cells)
    return table


def _cells(name: str, rows: pa.Table) -> Iterator[str]:
    if name in _TIMES:
        for micros in TimeColumn(name).micros(rows):
            yield f"{datetime.fromtimestamp(int(micros) / 1_000_000, UTC):%b %d %H:%M}"
    elif name in _SPANS:
        # Spark writes a duration to Parquet as a plain count of microseconds.
        for micros in rows[name].to_pylist():
            yield f"{micros / _HOUR:.2f} h"
    else:
        yield from map(str, rows[name].to_pylist())
