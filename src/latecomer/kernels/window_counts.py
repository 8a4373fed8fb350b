"""How many results a tuple finds in the windows of the other streams.

Rows lie in the order in which the join received them: first those still in a window from before,
then the new ones. A new row that is not behind any before it *probes*: it meets, of each other
stream, the rows before it that are not older than that stream's window.

To count results, counts of rows are enough, one for each stream and key. Rows are taken off them
in order of time, as the clock passes. A key common to all streams gives a product. A *star*,
where each stream shares a key of its own with one centre, gives a product for a row of the centre,
and for any other a sum of products, over the rows of the centre that it meets.
"""

import numpy as np
import numpy.typing as npt

from latecomer.batch import Mask, Positions
from latecomer.kernels.jit import kernel
from latecomer.time import Times

Counts = npt.NDArray[np.float64]
"""Numbers of results: floats, because a product of windows may be larger than any integer."""
Codes = npt.NDArray[np.int64]
"""The number of each row's key, in lines; −1 for null, and for rows of streams without it."""


@kernel
def count_results(
    rows: tuple[Positions, Times, Positions],
    fresh: tuple[int, Mask, Mask],
    windows: Times,
    codes: Codes,
    centre: int,
) -> tuple[Counts, Counts]:
    """Count what each new row finds: in the cross join, and in an equality join.

    Args:
        rows: Of each row the stream and the time; and the order of all rows by time.
        fresh: Where new rows begin; which rows probe; and which are inserted.
        windows: How long the window of each stream is.
        codes: A line for each stream: the key that it shares with the others; or, with a centre,
            the key that it shares with it, for the rows of both.
        centre: Which stream the others share their keys with; −1 if all have one key.

    Returns:
        For each new row the two counts; 0 if it does not probe.

    Cost: O(n) for m streams; for a star, O(n · w) for w rows in the window of the centre.
    """
    streams, times, _ = rows
    first, probes, is_inserted = fresh
    count, many = len(times), len(windows)
    found = np.zeros((many, codes.max() + 1 if codes.size else 0), np.int64)
    totals, oldest = np.zeros(many, np.int64), np.zeros(many, np.int64)
    is_in = np.zeros(count, np.bool_)
    # The rows of the centre that are in its window, and some that have left it.
    members, begin, end = np.empty(count, np.int64), 0, 0
    cross, joined = np.zeros(count - first), np.zeros(count - first)
    for p in range(count):
        stream = streams[p]
        if probes[p]:
            for other in range(many):
                since = times[p] - windows[other]
                _take_off(other, since, rows, codes, (found, totals, oldest, is_in))
            cross[p - first] = _cross(stream, totals)
            if centre < 0 or stream == centre:
                joined[p - first] = _arms(p, stream, codes, found, centre)
            else:
                while begin < end and not is_in[members[begin]]:
                    begin += 1
                some = members[begin:end]
                joined[p - first] = _sum_of_arms(p, stream, some, (codes, found, is_in), centre)
        if is_inserted[p]:
            is_in[p] = True
            totals[stream] += 1
            if stream == centre:
                members[end] = p
                end += 1
            elif codes[stream, p] >= 0:
                found[stream, codes[stream, p]] += 1
    return cross, joined


@kernel
def _take_off(
    stream: int,
    since: int,
    rows: tuple[Positions, Times, Positions],
    codes: Codes,
    counts: tuple[Positions, Positions, Positions, Mask],
) -> None:
    """Take off the counts what has left the window of a stream."""
    streams, times, by_time = rows
    found, totals, oldest, is_in = counts
    at = oldest[stream]
    while at < len(times) and times[by_time[at]] < since:
        row = by_time[at]
        if streams[row] == stream and is_in[row]:
            is_in[row] = False
            totals[stream] -= 1
            # A row of the centre is in no count of a key.
            if codes[stream, row] >= 0:
                found[stream, codes[stream, row]] -= 1
        at += 1
    oldest[stream] = at


@kernel
def _cross(stream: int, totals: Positions) -> float:
    product = 1.0
    for other in range(len(totals)):
        if other != stream:
            product *= totals[other]
    return product


@kernel
def _sum_of_arms(
    p: int, stream: int, members: Positions, state: tuple[Codes, Positions, Mask], centre: int
) -> float:
    """Add up, over the rows of the centre that a row meets, what these find in the others."""
    codes, found, is_in = state
    total = 0.0
    if codes[stream, p] >= 0:
        for row in members:
            if is_in[row] and codes[stream, row] == codes[stream, p]:
                total += _arms(row, stream, codes, found, centre)
    return total


@kernel
def _arms(row: int, without: int, codes: Codes, found: Positions, centre: int) -> float:
    """Multiply what a row finds in the other streams, but for one of them and the centre."""
    product = 1.0
    for other in range(len(codes)):
        if other not in (centre, without):
            code = codes[other, row]
            product *= found[other, code] if code >= 0 else 0
    return product
