"""The figures of a report. Each shows all rows: they are counted, never sampled.

- *Event time against arrival* is Figure 2 of the Impatience paper. A stream in order rises from
  left to right; rows below the curve arrived after newer rows.
- *Delay against arrival* shows the same rows by their delay. Constant disorder is a band, and a
  single incident is a spike.
- *Delays* shows the number of rows by delay. Rows without a delay are not drawn, only counted in
  the text: there may be so many that nothing else could be seen.
- *Rows in time* shows the share of rows that a wait keeps. Its axis is stretched towards 100 %,
  where the choice is made: at each mark a tenth as many rows are late as at the mark below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import ceil, log10
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.profile.delay_counts import DelayCounts, level, level_start
from latecomer.profile.density import Density
from latecomer.report import svg
from latecomer.report.svg import BOTTOM, LEFT, TOP, WIDTH, Figure, across, upwards
from latecomer.report.ticks import (
    count_ticks,
    duration_ticks,
    share_ticks,
    short_duration,
    time_ticks,
)
from latecomer.report.words import choices
from latecomer.time import format_duration

if TYPE_CHECKING:
    from latecomer.api.profile import Profile

SHADES = 5
"""Number of shades for the cells of a density; the style sheet has as many."""
_TEN_YEARS = 10 * 365 * 86_400 * 1_000_000


def time_figure(profile: Profile) -> str:
    """Return the figure of event time against arrival."""
    found = profile.counted.findings
    cells = found.by_time
    low, high = int(cells.heights.min()) << cells.high, (int(cells.heights.max()) + 1) << cells.high
    x, y = across(0, profile.timed), upwards(low, high)
    figure = Figure("figure-time", "Event time of the rows against the order of their arrival")
    ticks = time_ticks(low, high, is_calendar=is_calendar(profile))
    figure.x_axis(x, count_ticks(profile.timed), "arrivals")
    figure.y_axis(y, ticks, "event time (UTC)" if is_calendar(profile) else "event time")
    figure.add(
        *_shaded(
            cells, profile.timed, x, lambda at, past: (y(past << cells.high), y(at << cells.high))
        )
    )
    return figure.render()


def level_figure(profile: Profile) -> str:
    """Return the figure of delay against arrival, with rows without a delay at the foot."""
    cells = profile.counted.findings.by_level
    behind = cells.heights[cells.heights > 0]
    low, high = int(behind.min()), int(behind.max()) + 1
    x = across(0, profile.timed)
    bottom = svg.HEIGHT - BOTTOM
    y = svg.Scale(level_start(low), level_start(high), bottom - 2 * _FOOT, TOP, is_log=True)
    figure = Figure("figure-level", "Delay of the rows against the order of their arrival")

    def place(at: int, past: int) -> tuple[float, float]:
        if at == 0:
            return bottom - _FOOT, bottom
        return y(level_start(past)), y(level_start(at))

    figure.x_axis(x, count_ticks(profile.timed), "arrivals")
    ticks = duration_ticks(level_start(low), level_start(high))
    figure.y_axis(y, ticks, "delay")
    figure.add(svg.text_at(LEFT - 8, bottom - 4, "none", "tick end"))
    figure.add(*_shaded(cells, profile.timed, x, place))
    return figure.render()


_FOOT = 15
"""Height of the strip for rows without a delay, which a logarithmic scale cannot show."""


def shades(cells: Density) -> list[int]:
    """Return the smallest number of rows for each shade, in equal steps of the logarithm."""
    most = int(cells.rows.max())
    # A power that should be a whole number may come out slightly larger.
    return sorted({ceil(round(most ** (at / SHADES), 6)) for at in range(SHADES)})


def _shaded(
    cells: Density, arrivals: int, x: svg.Scale, place: Callable[[int, int], tuple[float, float]]
) -> Iterator[str]:
    """Yield a path of cells for each shade; `place` returns the top and bottom of some cells."""
    starts = shades(cells)
    shade = np.searchsorted(starts, cells.rows, side="right") - 1
    steps: list[list[str]] = [[] for _ in starts]
    for first, past in _alike(cells, shade):
        column, low, high = cells.columns[first], cells.heights[first], cells.heights[past - 1] + 1
        left = x(int(column) << cells.wide)
        right = x(min((int(column) + 1) << cells.wide, arrivals))
        top, bottom = place(int(low), int(high))
        steps[shade[first]].append(svg.box(left, top, right - left, bottom - top))
    # If there are fewer shades, the darkest ones are used.
    for number, drawn in enumerate(steps, SHADES - len(starts)):
        yield svg.path(f"cell shade-{number}", drawn)


def _alike(cells: Density, shade: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield the ranges of cells on top of each other with the same shade; height 0 stays alone."""
    is_new = (np.diff(cells.columns) != 0) | (np.diff(cells.heights) != 1)
    is_new |= (np.diff(shade) != 0) | (cells.heights[:-1] == 0)
    yield from pairwise([0, *(np.flatnonzero(is_new) + 1).tolist(), len(shade)])


def delay_figure(profile: Profile) -> str:
    """Return the figure of rows by delay, without rows that have none."""
    delays = profile.counted.findings.delays
    rows = np.bincount(level(delays.delays), weights=delays.rows).astype(np.int64)
    rows[0] = 0
    steps = [
        (level_start(number), level_start(number + 1), int(rows[number]))
        for number in np.flatnonzero(rows).tolist()
    ]
    return delay_bars(steps, profile.timed)


def delay_bars(steps: Sequence[tuple[int, int, int]], total: int) -> str:
    """Return a figure with a bar for each range of delays, as a share of the total.

    A step has the start and the end of a range, in microseconds, and its rows. They ascend.
    """
    low, high = steps[0][0], steps[-1][1]
    x = across(low, high, is_log=True)
    tallest = max(rows for *_, rows in steps) / total
    y = upwards(0, tallest)
    figure = Figure("figure-delays", "Share of the rows by delay")
    figure.y_axis(y, share_ticks(tallest), "share of the rows")
    figure.x_axis(x, duration_ticks(low, high), "delay")
    for start, stop, rows in steps:
        top = y(rows / total)
        told = f"{format_duration(start)} to {format_duration(stop)}: {rows:,} rows"
        figure.add(svg.bar(svg.box(x(start), top, x(stop) - x(start), y(0) - top), told))
    return figure.render()


def wait_figure(profile: Profile) -> str:
    """Return the figure of the share of rows in time over the wait."""
    marks = [(share, chosen.micros, chosen.in_time) for share, chosen in choices(profile)]
    return wait_curve(profile.counted.findings.delays, profile.timed, marks)


def wait_curve(
    delays: DelayCounts, total: int, marks: Sequence[tuple[float, int, int]] = ()
) -> str:
    """Return a figure of the share of rows in time over the wait.

    Args:
        delays: Rows by delay; at least one row has a delay.
        total: Number of all rows, of which shares are taken.
        marks: Shares that are marked on the curve, ascending, each with its wait in microseconds
            and the rows in time.
    """
    smallest = int(delays.delays[delays.delays > 0][0])
    x = across(smallest / 2, delays.largest * 1.6, is_log=True, start=LEFT)
    nines = min(max(ceil(log10(total)), 1), 6)
    y = upwards(0, nines + 0.35)

    def place(in_time: int) -> float:
        late = total - in_time
        return y(min(-log10(late / total), nines) if late else nines + 0.35)

    ticks = [(0.0, "0 %"), (-log10(0.5), "50 %")]
    ticks += [(n, f"{100 - 100 / 10**n:.{max(n - 2, 0)}f} %") for n in range(1, nines)]
    ticks += [(nines + 0.35, "100 %")]
    figure = Figure("figure-waits", "Share of the rows that are in time over the wait")
    figure.y_axis(y, ticks, "rows in time")
    figure.x_axis(x, duration_ticks(x.low, x.high), "wait")
    # One wait per pixel, as Python integers: the longest possible wait does not fit in an int64.
    between = (int(wait) for wait in np.geomspace(smallest, delays.largest, WIDTH))
    waits = sorted({*(wait for wait in between if wait < delays.largest), delays.largest})
    kept = delays.in_time([0, *waits])
    steps = [f"M{LEFT} {place(kept[0]):g}"]
    for wait, (before, now) in zip(waits, pairwise(kept), strict=True):
        if now > before:
            steps.append(f"H{x(wait):g}V{place(now):g}")
    figure.add(svg.path("curve", [*steps, f"H{WIDTH - svg.RIGHT}"]))
    figure.add(*_marked(marks, x, place))
    return figure.render()


def _marked(
    marks: Sequence[tuple[float, int, int]], x: svg.Scale, place: Callable[[int], float]
) -> Iterator[str]:
    """Yield the marks of waits on the curve; a text that would overlap another is left out."""
    lines: list[float] = []
    for share, micros, in_time in reversed(marks):
        at, height = x(max(micros, x.low)), place(in_time)
        yield f'<circle class="mark" cx="{at:g}" cy="{height:g}" r="4.5"/>'
        # The curve rises, so there is room on the left, except near the frame.
        is_right = at > LEFT + 150
        line = height + (16 if share == 1 else -8 if is_right else 16)
        if any(abs(line - other) < svg.LINE for other in lines):
            continue
        lines.append(line)
        text = f"{100 * share:g} %: {short_duration(micros)}"
        yield svg.text_at(
            at - 10 if is_right else at + 10, line, text, "told end" if is_right else "told"
        )


def key_figure(keys: pa.Table, told: Sequence[tuple[str, ...]]) -> str:
    """Return the figure of the largest delays of the worst keys, given their rows of the table."""
    largest = keys["largest"].slice(0, len(told)).to_pylist()
    rows = [(key, delay, text) for (key, *_, text), delay in zip(told, largest, strict=True)]
    return svg.named_bars("figure-keys", "Largest delay of the worst keys", rows)


def is_calendar(profile: Profile) -> bool:
    """Return True if times are shown as dates; small integers are shown as time since 0."""
    found = profile.counted.findings
    return profile.source.time.unit is None or abs(found.newest) > _TEN_YEARS
