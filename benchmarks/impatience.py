"""Impatience sort as in the paper, event by event: the reference, and the baseline to beat.

Paper: Chandramouli, Goldstein, Li: Impatience Is a Virtue (ICDE 2018), Section III.
Symbols: tails -> `tails`; punctuation -> watermark; head run -> the due part of a run.
Departures: a run is a linked list through the positions of its events, which needs little code.
    Runs are merged by (time, position), so that events of equal time keep their order, whichever
    two runs are merged first.
Holds: tails fall strictly from run to run, so that binary search finds the run of an event.

Both optimizations of Section III-E can be switched off, to measure their effect: *speculative run
selection* tries the run of the last event before it searches, *Huffman merge* merges the two
shortest head runs first. Without both, and without watermarks, this is Patience sort.

Streams are sorted by `latecomer.operators.sort` instead; a test compares the two.
"""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.disorder import find_run
from latecomer.kernels.jit import kernel
from latecomer.time import FOREVER, NEVER, Times

_NOBODY = -1


@kernel
def patience_runs(times: Times) -> Positions:
    """Return the run of each event in Patience sort: the partition phase alone."""
    placed = np.empty(len(times), np.int64)
    tails = np.empty(16, np.int64)
    runs = 0
    for i in range(len(times)):
        run = find_run(times[i], tails, runs, _NOBODY)
        if run == len(tails):
            tails = np.append(tails, tails)
        runs = max(runs, run + 1)
        tails[run] = times[i]
        placed[i] = run
    return placed


@kernel
def impatience(
    times: Times,
    marks: Positions,
    watermarks: Times,
    speculative: bool,  # noqa: FBT001  a kernel takes no keywords
    huffman: bool,  # noqa: FBT001
) -> tuple[Positions, Positions, Positions]:
    """Sort events incrementally: release at each watermark the events that are due.

    Args:
        times: Times in order of arrival.
        marks: Number of events before each watermark; ascending.
        watermarks: Watermarks; ascending.
        speculative: Try the run of the last event first.
        huffman: Merge the two shortest head runs first, instead of pairs in rounds.

    Returns:
        The positions of the events in order of release, without the late ones; the number of
        events released by each watermark; and the number of runs before each.
    """
    order = np.empty(len(times), np.int64)
    counts = np.empty(len(marks), np.int64)
    runs_at = np.empty(len(marks), np.int64)
    following = np.empty(len(times), np.int64)
    tails, heads, lasts = np.empty(16, np.int64), np.empty(16, np.int64), np.empty(16, np.int64)
    runs = out = mark = 0
    last_run = _NOBODY
    watermark = NEVER
    for i in range(len(times) + 1):
        while mark < len(marks) and marks[mark] == i:
            watermark = watermarks[mark]
            runs_at[mark] = runs
            merged, runs = release(
                times, following, (tails, heads, lasts), runs, watermark, huffman
            )
            order[out : out + len(merged)] = merged
            out += len(merged)
            counts[mark] = out
            last_run = _NOBODY
            mark += 1
        if i == len(times) or times[i] < watermark:
            continue
        run = find_run(times[i], tails, runs, last_run if speculative else _NOBODY)
        if run == len(tails):
            tails, heads, lasts = (
                np.append(tails, tails),
                np.append(heads, heads),
                np.append(lasts, lasts),
            )
        if run == runs:
            heads[run] = i
            runs += 1
        else:
            following[lasts[run]] = i
        following[i] = _NOBODY
        lasts[run] = i
        tails[run] = times[i]
        last_run = run
    merged, runs = release(times, following, (tails, heads, lasts), runs, FOREVER, huffman)
    order[out : out + len(merged)] = merged
    return order[: out + len(merged)], counts, runs_at


@kernel
def release(
    times: Times,
    following: Positions,
    ends: tuple[Times, Positions, Positions],
    runs: int,
    watermark: int,
    huffman: bool,  # noqa: FBT001
) -> tuple[Positions, int]:
    """Cut the head off each run and merge the heads; runs that become empty are removed.

    Args:
        times: Times in order of arrival.
        following: For each event the next one on its run, or -1.
        ends: For each run its tail, its first event and its last.
        runs: Number of runs.
        watermark: Events up to this time are due.
        huffman: Merge the two shortest first.

    Returns:
        The positions of the events that are due, in order; and the number of remaining runs.
    """
    tails, heads, lasts = ends
    parts = []
    left = 0
    for run in range(runs):
        count, at = 0, heads[run]
        while at != _NOBODY and times[at] <= watermark:
            count += 1
            at = following[at]
        if count:
            part = np.empty(count, np.int64)
            event = heads[run]
            for i in range(count):
                part[i] = event
                event = following[event]
            parts.append(part)
        if at != _NOBODY:
            heads[left], tails[left], lasts[left] = at, tails[run], lasts[run]
            left += 1
    if len(parts) == 0:
        return np.empty(0, np.int64), left
    # A queue of the parts to merge. Without Huffman, pairs are merged in rounds.
    queue = np.arange(len(parts))
    while len(queue) > 1:
        first, second = 0, 1
        if huffman:
            first = shortest(parts, queue, _NOBODY)
            second = shortest(parts, queue, first)
        into = queue[first]
        parts[into] = merge(times, parts[into], parts[queue[second]])
        rest = np.ones(len(queue), np.bool_)
        rest[first] = rest[second] = False
        queue = np.append(queue[rest], into)
    return parts[queue[0]], left


@kernel
def shortest(parts: list[Positions], queue: Positions, other_than: int) -> int:
    """Return the place in the queue of the shortest part, leaving one out."""
    best = _NOBODY
    for i in range(len(queue)):
        if i != other_than and (best == _NOBODY or len(parts[queue[i]]) < len(parts[queue[best]])):
            best = i
    return best


@kernel
def merge(times: Times, left: Positions, right: Positions) -> Positions:
    """Merge two runs of events, given by their positions, by time and then by position."""
    merged = np.empty(len(left) + len(right), np.int64)
    i = j = 0
    for k in range(len(merged)):
        if j == len(right) or (
            i < len(left)
            and (
                times[left[i]] < times[right[j]]
                or (times[left[i]] == times[right[j]] and left[i] < right[j])
            )
        ):
            merged[k] = left[i]
            i += 1
        else:
            merged[k] = right[j]
            j += 1
    return merged
