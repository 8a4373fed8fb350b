"""The numbers beside the figures of a report."""

from __future__ import annotations

from dataclasses import asdict
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.profile.delay_counts import level_start
from latecomer.profile.density import Density
from latecomer.report.figures import is_calendar
from latecomer.report.page import Table
from latecomer.report.ticks import calendar
from latecomer.report.words import percent, readable, wait_cells, worst_keys
from latecomer.time import DAY, MINUTE, SECOND, format_duration

if TYPE_CHECKING:
    from latecomer.api.profile import Profile

_BOUNDS = (
    *(0, 1_000, 100_000),
    *(n * SECOND for n in (1, 10, 60, 600, 3_600, 6 * 3_600)),
    *(n * DAY for n in (1, 7, 30, 365)),
)
_STRETCHES = 10
_KEYS = 15


def waits_table(profile: Profile) -> Table:
    """Return the table of some waits, with the rows in time, late and held."""
    return Table(("wait", "in time", "rows late", "rows held, about"), wait_cells(profile))


def delays_table(profile: Profile) -> Table:
    """Return the table of rows by ranges of delays."""
    delays = profile.counted.findings.delays
    bounds = [bound for bound in _BOUNDS if bound < delays.largest]
    kept = delays.in_time([*bounds, delays.largest])
    ends = [*bounds[1:], readable(delays.largest)]
    texts = ["none", *(f"up to {format_duration(end)}" for end in ends)]
    counts = [kept[0], *(after - before for before, after in pairwise(kept))]
    rows = [
        (text, f"{count:,}", percent(count, profile.timed))
        for text, count in zip(texts, counts, strict=True)
        if count
    ]
    return Table(("delay", "rows", "share"), rows)


def times_table(profile: Profile) -> Table:
    """Return the table of oldest and newest times by arrival, as precise as the cells."""
    cells = profile.counted.findings.by_time
    rows = []
    for first, past, inside in _stretches(cells, profile.timed):
        low = int(cells.heights[inside].min()) << cells.high
        high = ((int(cells.heights[inside].max()) + 1) << cells.high) - 1
        oldest, newest = (
            _time_text(at, 1 << cells.high, is_calendar=is_calendar(profile)) for at in (low, high)
        )
        rows.append((f"{first + 1:,} – {past:,}", oldest, newest))
    return Table(("arrivals", "oldest, about", "newest, about"), rows)


def levels_table(profile: Profile) -> Table:
    """Return the table of delays by arrival."""
    cells = profile.counted.findings.by_level
    rows = []
    for first, past, inside in _stretches(cells, profile.timed):
        behind = int(cells.rows[inside][cells.heights[inside] > 0].sum())
        highest = int(cells.heights[inside].max())
        largest = min(level_start(highest + 1), profile.counted.findings.delays.largest)
        text = f"≤ {format_duration(readable(largest))}" if highest else "none"
        rows.append((f"{first + 1:,} – {past:,}", percent(behind, past - first), text))
    return Table(("arrivals", "out of order", "largest delay"), rows)


def keys_table(profile: Profile, keys: pa.Table) -> Table:
    """Return the table of the worst keys."""
    head = (", ".join(profile.source.key), "rows", "out of order", "largest delay")
    return Table(head, worst_keys(profile, keys, _KEYS))


def measures_table(profile: Profile) -> Table:
    """Return the table of the four measures of order."""
    meanings = {
        "inversions": "pairs of rows of which the earlier one came later",
        "distance": "how many places apart the farthest such pair is",
        "runs": "the longest stretches that do not descend",
        "interleaved": "the fewest ascending sequences that interleave to the stream",
    }
    found = asdict(profile.measures) if profile.measures else {}
    rows = [(name, f"{count:,}", meanings[name]) for name, count in found.items()]
    return Table(("measure", "value", "what it counts"), rows)


def _stretches(cells: Density, arrivals: int) -> list[tuple[int, int, np.ndarray]]:
    """Return stretches of arrivals that are whole cells: the start, end and cells of each."""
    columns = int(cells.columns.max()) + 1
    each = -(-columns // _STRETCHES)
    found = []
    for start in range(0, columns, each):
        inside = (cells.columns >= start) & (cells.columns < start + each)
        past = min((start + each) << cells.wide, arrivals)
        found.append((start << cells.wide, past, inside))
    return found


def _time_text(micros: int, step: int, *, is_calendar: bool) -> str:
    """Return the text of a time, as precise as the size of a cell allows."""
    try:
        at = calendar(micros)
    except OverflowError:
        is_calendar = False
    if not is_calendar:
        return format_duration(micros)
    if step >= DAY:
        return at.strftime("%Y-%m-%d")
    return at.strftime("%Y-%m-%d %H:%M" if step >= MINUTE else "%Y-%m-%d %H:%M:%S")
