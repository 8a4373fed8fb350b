"""The content of the live page of one query: a headline, and figures beside their numbers.

A section is left out if its data are not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, TypeVar

from latecomer.live import figures
from latecomer.live.history import Sample, delays, key_text, late_shares, target
from latecomer.report.figures import wait_curve
from latecomer.report.page import Table, section
from latecomer.report.ticks import calendar, clock
from latecomer.report.words import CHOICES, percent
from latecomer.time import format_duration

if TYPE_CHECKING:
    from latecomer.live.windows import Answers

_T = TypeVar("_T")
_ROWS = 10
_KEYS = 15


def headline(sample: Sample) -> str:
    """Return one sentence on the state of the query."""
    rows = sample.rows("in")
    if not rows:
        return "No rows have come yet."
    late = sample.late_rows
    said = f"{rows:,} rows in, {late:,} of them late ({percent(late, rows)})"
    behind = sample.micros("behind_newest_ms")
    if behind is None:
        return f"{said}."
    return f"{said}; the watermark is {format_duration(behind)} behind the newest row."


def advice(sample: Sample, before: Sample | None = None) -> str:
    """Return as HTML the waits that would have kept 99 % of the rows, and more.

    Rows that came up to the sample `before` are left out.
    """
    return "".join(
        f"<p>To have {'all rows' if share == 1 else f'{100 * share:g} % of the rows'} in time: "
        f'<code>wait="{escape(format_duration(micros))}"</code></p>'
        for share, micros, _ in _marks(sample, before)
    )


def notes(sample: Sample) -> Iterator[str]:
    """Yield notes on the run and the micro-batch, and on the precision of delays."""
    known = [("run", "run"), ("batch", "micro-batch")]
    said = [f"{text} {sample.status[name]}" for name, text in known if name in sample.status]
    yield f"Taken at {clock(sample.at)} UTC; {', '.join(said)}." if said else clock(sample.at)
    if sample.listed("delays"):
        yield "Delays are counted up to bounds and rounded up to them: a wait may be too long."


def sections(
    samples: Sequence[Sample], before: Sample | None = None, answers: Answers | None = None
) -> Iterator[str]:
    """Yield the sections about some samples, of which there is at least one.

    Delays are those of rows that came after the sample `before`, or of all rows without it.
    """
    last = samples[-1]
    yield _now(last)
    yield from _delays(last, before)
    yield from _late(samples)
    yield from _watermark(samples)
    yield from _waits(samples)
    yield from _recall(samples)
    yield from _keys(last)
    if answers is not None:
        yield from _windows(answers)
    yield from _speed(samples)


def _drawn(
    heading: str, text: str, figure: str, table: Table, kind: str = "numbers"
) -> Iterator[str]:
    """Yield a section, unless there is nothing to draw."""
    if figure:
        yield section(heading, text, figure, table, kind)


def day_and_time(micros: int) -> str:
    """Return the text of a time in UTC, or the number if it is outside the calendar."""
    try:
        return f"{calendar(micros):%Y-%m-%d %H:%M:%S}"
    except OverflowError:
        return f"{micros:,}"


def _now(sample: Sample) -> str:
    """Return the section of the current numbers, each with its name."""
    counts = [
        ("rows in", sample.rows("in")),
        ("rows ready", sample.rows("ready")),
        ("rows held", sample.rows("held")),
        ("bytes held", sample.status.get("held_bytes")),
        ("open windows", sample.status.get("open_windows")),
        *((f"rows: {reason}", rows) for reason, rows in sample.late.items()),
        ("rows dropped", sample.rows("dropped")),
        ("backlog of the source", sample.status.get("backlog")),
        ("rows per second", sample.status.get("rows_per_second")),
    ]
    spans = [
        ("watermark behind newest", sample.micros("behind_newest_ms")),
        ("watermark behind wall clock", sample.micros("behind_wall_ms")),
        ("last micro-batch", sample.micros("batch_ms")),
    ]
    times = [(name, sample.micros(name)) for name in ("watermark", "newest")]
    told = [
        *((name, f"{count:,.0f}") for name, count in counts if count is not None),
        *((name, format_duration(span)) for name, span in spans if span is not None),
        *((name, day_and_time(time)) for name, time in times if time is not None),
    ]
    tiles = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in told
    )
    return f'<section><h2>Now</h2><dl class="tiles">{tiles}</dl></section>'


def _marks(sample: Sample, before: Sample | None) -> list[tuple[float, int, int]]:
    """Return share, wait and rows in time for each of `CHOICES`; equal waits appear once."""
    counted = delays(sample, before)
    if counted is None:
        return []
    counts, total = counted
    found: dict[int, tuple[float, int, int]] = {}
    for share in CHOICES:
        # Rows beyond the last bound are not among the counts.
        enough = share * total / counts.total
        if enough <= 1:
            wait = counts.wait_for(enough)
            found[wait] = (share, wait, counts.in_time([wait])[0])
    return list(found.values())


def _delays(sample: Sample, before: Sample | None) -> Iterator[str]:
    counted = delays(sample, before)
    if counted is None:
        return
    counts, total = counted
    bounds = counts.delays.tolist()
    kept = zip(map(format_duration, bounds), counts.in_time(bounds), strict=True)
    waits = [(bound, percent(rows, total), f"{total - rows:,}") for bound, rows in kept]
    each = zip(map(format_duration, bounds), counts.rows.tolist(), strict=True)
    steps = [(bound, f"{rows:,}", percent(rows, total)) for bound, rows in each]
    yield section(
        "What each wait would keep now",
        f"The share of {'these' if before else 'all'} {total:,} rows whose delay is not longer "
        "than a wait.",
        wait_curve(counts, total, _marks(sample, before)) if counts.out_of_order else "",
        Table(("wait", "in time", "rows late"), waits),
    )
    yield section(
        "Delays",
        "How far behind the newest row of earlier micro-batches a row came.",
        figures.delays_now(counts, total),
        Table(("delay up to", "rows", "share"), steps),
    )


def _late(samples: Sequence[Sample]) -> Iterator[str]:
    shares = [(at, share) for at, share in late_shares(samples) if share is not None]
    rows = [(clock(at), f"{100 * share:.2f} %") for at, share in _some(shares)]
    return _drawn(
        "Late rows",
        "The share of the rows that were late, from one look at the query to the next.",
        figures.late_share(samples),
        Table(("time", "rows late"), rows),
    )


def _watermark(samples: Sequence[Sample]) -> Iterator[str]:
    rows = [
        (clock(sample.at), format_duration(sample.micros("behind_newest_ms") or 0))
        for sample in _some(samples)
    ]
    return _drawn(
        "Watermark",
        "How far the watermark is behind the newest row: the wait, and what has not moved it.",
        figures.behind(samples),
        Table(("time", "behind"), rows),
    )


def _waits(samples: Sequence[Sample]) -> Iterator[str]:
    rows = [(name, format_duration(wait)) for name, wait in samples[-1].waits()]
    table = Table(("asked for", "wait now"), rows)
    return _drawn("Wait", "How long each recall waits.", figures.waits_over_time(samples), table)


def _recall(samples: Sequence[Sample]) -> Iterator[str]:
    return _drawn(
        "Recall",
        "The share that was in time, of all rows or results so far.",
        figures.recalls_over_time(samples),
        _recalls(samples[-1]),
    )


def _recalls(sample: Sample) -> Table:
    def share(value: float | None) -> str:
        return "–" if value is None else f"{100 * value:.2f} %"

    waits = [
        (
            f"wait {each['wait']}",
            *(f"{each.get(name) or 0:,}" for name in ("answers", "refined")),
            share(each.get("recall")),
        )
        for each in sample.listed("waits")
    ]
    targets = [
        (target(each), "–", "–", share(each.get("achieved"))) for each in sample.listed("recalls")
    ]
    return Table(("", "answers", "refined", "recall"), [*waits, *targets])


def _keys(sample: Sample) -> Iterator[str]:
    worst = [(key_text(each["key"]), int(each["late"])) for each in sample.listed("keys")]
    rows = [(key, late) for key, late in worst if late][:_KEYS]
    return _drawn(
        "Late rows by key",
        "The keys that most late rows have.",
        figures.late_keys(rows),
        Table(("key", "rows late"), [(key, f"{late:,}") for key, late in rows]),
        kind="names",
    )


def _windows(answers: Answers) -> Iterator[str]:
    counts = answers.read()
    waits, value = answers.waits, str(answers.value)
    rows = [
        (
            f"{calendar(start):%m-%d %H:%M:%S}",
            *(f"{said[wait]:,g}" if wait in said else "–" for wait in waits),
        )
        for (start, _), said in sorted(counts.items())[-_ROWS:]
    ]
    return _drawn(
        "Early against final",
        f"The {value} of each window, all keys together. The foot of a bar is the early answer; "
        "what is above it was not known then.",
        figures.early_and_final(counts, waits, value),
        Table(("window", *(f"after {wait}" for wait in waits)), rows),
    )


def _speed(samples: Sequence[Sample]) -> Iterator[str]:
    rows = [
        (
            clock(sample.at),
            format_duration(sample.micros("batch_ms") or 0),
            f"{sample.status.get('rows_per_second') or 0:,.0f}",
        )
        for sample in _some(samples)
    ]
    return _drawn(
        "Micro-batches",
        "How long the last micro-batch took, whenever the query was looked at.",
        figures.micro_batches(samples),
        Table(("time", "took", "rows per second"), rows),
    )


def _some(items: Sequence[_T]) -> Sequence[_T]:
    """Return as many items as fit into the table beside a figure, including the newest."""
    return items[::-1][:: max(-(-len(items) // _ROWS), 1)][::-1]
