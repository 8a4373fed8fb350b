"""Running queries in a terminal: numbers, sparklines, and event time against arrival.

orders ─────────────────────────────────────────────
640,000 rows in, 841 of them late (0.13 %); …
late         ▁▁▁▁█▁▁▁▁▁▁▁     0.07 %
behind       ▃▄▅▆▇█▃▄▅▆▇█     50 s
recall 99 %  ▂▂▃▃▄▄▅▅▆▆▇█     98.59 %
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from latecomer.live.history import Sample, delays, key_text, late_shares
from latecomer.live.sections import day_and_time, headline
from latecomer.live.sparkline import Values, plot, sparkline
from latecomer.report.ticks import clock, short_duration
from latecomer.report.words import percent

if TYPE_CHECKING:
    from rich.console import RenderableType

    from latecomer.live.board import Board

    Row = tuple[str, str, str]
    """A name, a sparkline, and the last value."""

WIDTH = 32
"""Characters of a sparkline."""
_WIDE, _HEIGHT = 52, 6
_KEYS = 3


def view(board: Board) -> RenderableType:
    """Return the view of all queries of a board, as they are now."""
    shown: list[RenderableType] = []
    for name in board.names:
        history = board.read(name)
        if history is not None:
            shown.append(_panel(name, history.since(None)))
    if board.trouble:
        shown.append(Text(f"The source does not answer: {board.trouble}", style="yellow"))
    return Group(*(shown or [Text("There is no query yet.")]))


def lines(samples: Sequence[Sample]) -> Iterator[Row]:
    """Yield a row for each number over time, as far as it is known."""
    last = samples[-1]
    late = late_shares(samples)
    if any(share is not None for _, share in late):
        now = next(share for _, share in reversed(late) if share is not None)
        yield "late", sparkline([share for _, share in late], WIDTH, 0), f"{100 * now:.2f} %"
    spans = (
        ("behind newest", "behind_newest_ms"),
        ("behind now", "behind_wall_ms"),
        ("micro-batch", "batch_ms"),
    )
    for text, name in spans:
        span = last.micros(name)
        if span is not None:
            values = [sample.micros(name) for sample in samples]
            yield text, sparkline(values, WIDTH, 0), short_duration(span)
    for name, wait in last.waits():
        values = [dict(sample.waits()).get(name) for sample in samples]
        yield f"wait, {name}", sparkline(values, WIDTH, 0), short_duration(wait)
    for name, share in last.recalls():
        shares: Values = [dict(sample.recalls()).get(name) for sample in samples]
        text = name if name.startswith("recall") else f"recall, {name}"
        yield text, sparkline(shares, WIDTH), f"{100 * share:.2f} %"
    held = last.rows("held")
    if held is not None:
        yield "rows held", sparkline([s.rows("held") for s in samples], WIDTH, 0), f"{held:,}"


def _panel(name: str, samples: Sequence[Sample]) -> Panel:
    last = samples[-1]
    parts: list[RenderableType] = [Text(headline(last)), Text(_counts(last), style="dim")]
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for row in lines(samples):
        table.add_row(*row)
    parts.append(table)
    parts.extend(Text(line) for line in _event_time(samples))
    parts.extend(Text(line, style="dim") for line in _advice(last))
    return Panel(Group(*parts), title=Text(name), title_align="left")


def _counts(sample: Sample) -> str:
    """Return the late rows by reason, the micro-batch, and the time of the sample."""
    told = [f"{rows:,} {reason}" for reason, rows in sample.late.items() if rows]
    if sample.status.get("batch") is not None:
        told.append(f"micro-batch {sample.status['batch']}")
    return ", ".join([*told, f"at {clock(sample.at)} UTC"])


def _event_time(samples: Sequence[Sample]) -> Iterator[str]:
    """Yield a plot of the newest time and the watermark against the time of each sample."""
    newest = [sample.micros("newest") for sample in samples]
    watermark = [sample.micros("watermark") for sample in samples]
    drawn = plot(newest, watermark, _WIDE, _HEIGHT)
    known = [time for time in (*newest, *watermark) if time is not None]
    if not drawn or min(known) == max(known):
        return
    yield ""
    yield "event time against arrival: • newest  ─ watermark"
    for at, line in enumerate(drawn):
        ends = {0: day_and_time(max(known)), _HEIGHT - 1: day_and_time(min(known))}
        yield f"{ends.get(at, ''):>19} ┤{line}"


def _advice(sample: Sample) -> Iterator[str]:
    counted = delays(sample)
    if counted is not None and counted[0].out_of_order:
        counts, total = counted
        kept = [
            f"{short_duration(wait)} {percent(counts.in_time([wait])[0], total)}"
            for wait in counts.delays[-4:].tolist()
        ]
        yield f"a wait would keep: {', '.join(kept)}"
    worst = [f"{key_text(each['key'])} {each['late']:,}" for each in sample.listed("keys")[:_KEYS]]
    if worst:
        yield f"late rows by key: {', '.join(worst)}"
