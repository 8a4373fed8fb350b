"""Counts of the recent delays of one stream.

Tuples are remembered in order of arrival, at most as many as the window of ADWIN holds, and only in
as many of its newest buckets as have enough. Forgotten tuples are subtracted from the counts. An
entry is a tuple, or several of one bucket that have the same delay:

    forgotten ◀── start               end ──▶
              …  0 1 0 0 2 0 0 1 0 0           counts: 7 times 0, 2 times 1, once 2
"""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.adwin import SIZES, State, Values, adwin
from latecomer.kernels.jit import kernel
from latecomer.time import Times

START, END, TUPLES, SKEW, LARGEST = range(5)
"""Positions in `marks`: the first entry and the one after the last, the number of tuples in all
entries, the sum of their skews, and the largest delay."""
STEP, AHEAD, MANY = range(3)
"""Lines of entries: the coarse delay, the sum of the skews, and the number of tuples."""


@kernel
def remember(
    given: tuple[Times, Times],
    limits: tuple[int, int, int, int, float],
    window: State,
    reach: Values,
    past: tuple[Positions, Positions, Positions],
) -> None:
    """Remember more tuples, and forget the oldest ones that ADWIN has cut or that are not needed.

    Args:
        given: The delay of each tuple, and how far its stream was ahead.
        limits: The length of a step in which delays are counted, the largest number of steps, the
            longest skew, the number of tuples that are enough, and the probability that ADWIN cuts
            where nothing has changed.
        window: The window of ADWIN, which is changed.
        reach: The largest delay ever, in an array of one, which is changed.
        past: The entries, in lines, with room for more; the number of tuples with each coarse
            delay; and the marks. All of them are changed.

    Cost: O(n), and that of ADWIN.
    """
    delays, skews = given
    granularity, most_steps, longest_skew, enough, delta = limits
    entries, counts, marks = past
    values = np.empty(len(delays))
    for i in range(len(delays)):
        step = delays[i] // granularity
        if step * granularity < delays[i]:
            step += 1
        step = min(step, most_steps)
        values[i] = step
        reach[0] = max(reach[0], values[i])
        at = marks[END]
        entries[STEP, at], entries[AHEAD, at], entries[MANY, at] = (
            step,
            min(skews[i], longest_skew),
            1,
        )
        counts[step] += 1
        marks[END] += 1
        marks[TUPLES] += 1
        marks[SKEW] += entries[AHEAD, at]
        marks[LARGEST] = max(marks[LARGEST], step)
    adwin(values, window, delta, reach[0])
    # Buckets are kept, from the newest on, until they have enough tuples.
    kept, buckets = 0, window[2]
    for size in range(SIZES):
        for _ in range(buckets[size]):
            if kept < enough:
                kept += 2**size
    while marks[TUPLES] > kept:
        at = marks[START]
        counts[entries[STEP, at]] -= entries[MANY, at]
        marks[START] += 1
        marks[TUPLES] -= entries[MANY, at]
        marks[SKEW] -= entries[AHEAD, at]
    while marks[LARGEST] > 0 and counts[marks[LARGEST]] == 0:
        marks[LARGEST] -= 1
