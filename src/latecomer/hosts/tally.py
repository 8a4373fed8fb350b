"""The counts of a query: their names, and how they add up.

A stage emits counts beside its rows: as outputs without rows, and some of them together as JSON
(`hosts.spark.counting`). The counts of one micro-batch are a *tally*. Tallies of several
micro-batches add up to *totals*:

    count                       in a micro-batch    over micro-batches
    ready, late                 sum                 sum       late rows of all streams
    dropped, in                 sum                 sum
    ahead, no_time, …           sum                 sum       late rows by reason
    rows_held, windows_open     sum                 sum       each is a change: now minus before
    delay_1000, …               sum                 sum       rows by delay, in milliseconds
    answers_W, refined_W        sum                 sum       W is a wait in microseconds
    in_time_W, folded           sum                 sum
    newest, watermark           largest             largest   in microseconds
    produced_R, missed_R, …     sum                 sum       R is the recall that was asked for
    waited_R                    largest             last      in microseconds
    held_R                      sum                 last
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from latecomer.hosts.late import AHEAD, EMPTY, NO_TIME
from latecomer.hosts.recall_report import HELD, WAITED
from latecomer.operators.base import LATE, NO_BEGIN
from latecomer.time import Times, minus

TALLY = "tally"
"""The output that carries what a bucket has counted, as JSON: a line with the counts, and another
with late rows by key if there are any. Spark reads only the first line."""
READ = "in"
ROWS_HELD, WINDOWS_OPEN = "rows_held", "windows_open"
NEWEST, WATERMARK = "newest", "watermark"
ANSWERS, REFINED = "answers_", "refined_"
REASONS = {"ahead": AHEAD, "no_time": NO_TIME, "empty": EMPTY, "no_begin": NO_BEGIN}
"""Counts of late rows by reason, other than being behind the watermark."""
OF_REASON = {reason: name for name, reason in REASONS.items()}

BOUNDS_MS = (
    *(0, 10, 100, 1_000, 2_000, 5_000, 10_000, 30_000),
    *(60_000, 120_000, 300_000, 600_000, 1_800_000),
    *(3_600_000, 7_200_000, 21_600_000, 43_200_000),
    *(86_400_000, 172_800_000, 604_800_000),
)
"""Upper bounds of the counted delays; longer delays are counted together."""
_DELAY = "delay_"
DELAYS = (*(f"{_DELAY}{bound}" for bound in BOUNDS_MS), f"{_DELAY}more")
_BOUNDS = np.array(BOUNDS_MS, np.int64) * 1_000

LARGEST = (NEWEST, WATERMARK, f"{WAITED}_")
_LAST = (f"{WAITED}_", f"{HELD}_")

Tally = dict[str, int]
_LATE_OF = re.compile("late_[0-9]+")


def tallied(counts: Iterable[tuple[str, int]]) -> Tally:
    """Add up the counts of one micro-batch; late rows of all streams count as late."""
    found: Tally = {}
    for told, count in counts:
        name = LATE if _LATE_OF.fullmatch(told) else told
        if name in found:
            is_largest = name.startswith(LARGEST)
            found[name] = max(found[name], count) if is_largest else found[name] + count
        else:
            found[name] = count
    return found


def added(totals: Mapping[str, int], tally: Mapping[str, int | None]) -> Tally:
    """Add a tally to totals. A count that Spark has not seen is None, and changes nothing."""
    found = dict(totals)
    for name, count in tally.items():
        if count is None:
            continue
        if name in found and name in (NEWEST, WATERMARK):
            found[name] = max(found[name], count)
        elif name in found and not name.startswith(_LAST):
            found[name] += count
        else:
            found[name] = count
    return found


def late_by_reason(totals: Mapping[str, int]) -> dict[str, int]:
    """Split the rows of the late outputs by reason; reasons that did not occur are left out."""
    others = {reason: totals.get(name, 0) for name, reason in REASONS.items()}
    found = {LATE: totals.get(LATE, 0) - sum(others.values()), **others}
    return {reason: count for reason, count in found.items() if count}


def delayed(times: Times, newest: int) -> Iterable[tuple[str, int]]:
    """Count rows by how far they are behind the newest row of all micro-batches before.

    Bounds without rows are left out.
    """
    behind = minus(newest, times[times < newest])
    counts = np.bincount(np.searchsorted(_BOUNDS, behind), minlength=len(DELAYS))
    counts[0] += len(times) - len(behind)
    return [(DELAYS[at], int(counts[at])) for at in np.flatnonzero(counts).tolist()]


def delays(totals: Mapping[str, int]) -> list[tuple[int | None, int]] | None:
    """Return the rows by delay; None if delays are not counted."""
    if not any(name in totals for name in DELAYS):
        return None
    bounds: Sequence[int | None] = (*BOUNDS_MS, None)
    return [(bound, totals.get(name, 0)) for bound, name in zip(bounds, DELAYS, strict=True)]


def wait_for(share: float, counted: Sequence[tuple[int | None, int]]) -> int | None:
    """Return the shortest of the bounds, in milliseconds, that keeps a share of the rows.

    None if there are no rows, or if only a longer wait would keep so many.
    """
    total, kept = sum(rows for _, rows in counted), 0
    for bound, rows in counted:
        kept += rows
        if total and kept >= share * total:
            return bound
    return None
