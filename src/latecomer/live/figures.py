"""The figures of the live page, drawn as in the reports, from the statuses of queries.

Each function returns an SVG with its legend, or "" if its data are not known. The lower axis of a
figure over time has the times at which a status was taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from latecomer.live.history import Sample, late_shares
from latecomer.profile.delay_counts import DelayCounts
from latecomer.report import svg
from latecomer.report.figures import delay_bars
from latecomer.report.page import legend
from latecomer.report.series import KINDS, Axis, Line, series
from latecomer.report.svg import Figure, Ticks, across, upwards
from latecomer.report.ticks import (
    count_ticks,
    high_share_ticks,
    second_ticks,
    share_ticks,
    time_ticks,
)
from latecomer.time import SECOND

if TYPE_CHECKING:
    from latecomer.live.windows import Counts

    Marks = Sequence[tuple[float, int, int]]

_AT = "taken at (UTC)"
_GAP = 1.5
_SHADES = ("shade-4", "shade-2", "shade-0")
"""A shade for each wait: the later, the lighter."""


def delays_now(delays: DelayCounts, total: int) -> str:
    """Return the figure of rows by delay, without rows that have none."""
    bounds = [(0, 0), *zip(delays.delays.tolist(), delays.rows.tolist(), strict=True)]
    steps = [
        # 0 has no place on a logarithmic scale.
        (max(before, stop // 10, 1), stop, rows)
        for (before, _), (stop, rows) in pairwise(bounds)
        if stop
    ]
    return delay_bars(steps, total) if steps else ""


def late_share(samples: Sequence[Sample]) -> str:
    """Return the figure of the share of late rows, from sample to sample."""
    line = Line("late", late_shares(samples), "late")
    return _from_zero("figure-late", "Share of late rows", [line], "rows late", share_ticks)


def behind(samples: Sequence[Sample]) -> str:
    """Return the figure of how far the watermark is behind the newest row."""
    line = _span(samples, "behind_newest_ms", "behind the newest row")
    return _from_zero("figure-behind", "How far the watermark is behind", [line], "behind")


def waits_over_time(samples: Sequence[Sample]) -> str:
    """Return the figure of the wait of each recall."""
    lines = _named(samples, lambda each: ((name, wait / SECOND) for name, wait in each.waits()))
    return _from_zero("figure-wait", "The wait over time", lines, "wait")


def recalls_over_time(samples: Sequence[Sample]) -> str:
    """Return the figure of the recall so far of each wait or target."""
    lines = _named(samples, lambda sample: sample.recalls())
    known = [share for line in lines for _, share in line.points if share is not None]
    if not known:
        return ""
    low = max(min(known) - 0.1 * (1 - min(known)) - 1e-4, 0.0)
    axis = Axis(upwards(low, 1), high_share_ticks(low), "recall")
    return series("figure-recall", "The recall over time", lines, axis, _AT)


def micro_batches(samples: Sequence[Sample]) -> str:
    """Return the figure of the time that micro-batches took."""
    line = _span(samples, "batch_ms", "micro-batch")
    return _from_zero("figure-batches", "Seconds per micro-batch", [line], "micro-batch")


def late_keys(rows: Sequence[tuple[str, int]]) -> str:
    """Return the figure of late rows of the worst keys."""
    if not rows:
        return ""
    bars = [(key, late, f"{late:,}") for key, late in rows]
    return svg.named_bars("figure-keys", "Late rows of the worst keys", bars)


def early_and_final(counts: Counts, waits: Sequence[str], value: str) -> str:
    """Return a bar for each window: the answer of the first wait, and what later waits added."""
    if not counts:
        return ""
    low, high = min(start for start, _ in counts), max(end for _, end in counts)
    tallest = max(max(answers.values()) for answers in counts.values()) or 1
    x, y = across(low, high), upwards(0, tallest)
    figure = Figure("figure-windows", f"Early and final {value} of each window")
    figure.y_axis(y, count_ticks(tallest), value)
    figure.x_axis(x, time_ticks(low, high, is_calendar=True), "window (UTC)")
    kinds = [kind_of(level, _SHADES) for level in range(len(waits))]
    for (start, end), answers in sorted(counts.items()):
        left, right = x(start) + _GAP / 2, x(end) - _GAP / 2
        bottom = 0.0
        for wait, kind in zip(waits, kinds, strict=True):
            top = max(answers.get(wait, 0.0), bottom)
            if top > bottom:
                drawn = svg.box(left, y(top), max(right - left, 1), y(bottom) - y(top))
                told = f"after {wait}: {answers[wait]:,g} {value}"
                figure.add(svg.bar(drawn, told, f"bar {kind}"))
            bottom = top
    first, *rest = waits
    texts = [f"known after {first}", *(f"added after {wait}" for wait in rest)]
    return figure.render() + legend(value, zip(kinds, texts, strict=True))


def kind_of(number: int, kinds: Sequence[str] = KINDS) -> str:
    """Return the colour of a line or the shade of a bar; after the last one, it is repeated."""
    return kinds[min(number, len(kinds) - 1)]


def _from_zero(
    name: str,
    title: str,
    lines: Sequence[Line],
    label: str,
    ticks: Callable[[float], Ticks] = second_ticks,
) -> str:
    known = [value for line in lines for _, value in line.points if value is not None]
    if not known:
        return ""
    highest = max(*known, 0.001) * 1.08
    return series(name, title, lines, Axis(upwards(0, highest), ticks(highest), label), _AT)


def _span(samples: Sequence[Sample], name: str, text: str) -> Line:
    """Return the line of a duration of the status, in seconds."""
    spans = ((sample.at, sample.micros(name)) for sample in samples)
    points = [(at, None if span is None else span / SECOND) for at, span in spans]
    return Line(text, points, KINDS[0])


def _named(
    samples: Sequence[Sample], values: Callable[[Sample], Iterable[tuple[str, float]]]
) -> list[Line]:
    """Return a line for each name; a sample without that name leaves a gap."""
    found = [(sample.at, dict(values(sample))) for sample in samples]
    names = dict.fromkeys(name for _, each in found for name in each)
    return [
        Line(name, [(at, each.get(name)) for at, each in found], kind_of(number))
        for number, name in enumerate(names)
    ]
