"""The delays of one stream in its recent past, counted.

Tuples are remembered in the order in which they came, as many of them as the window of ADWIN holds,
and no more buckets of it than have enough. What is forgotten is taken off the counts:

    forgotten ◀── start               end ──▶
              …  0 1 0 0 2 0 0 1 0 0           counts: 7 times 0, 2 times 1, once 2
"""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.adwin import SIZES, State, Values, adwin
from latecomer.kernels.jit import kernel
from latecomer.time import Times

START, END, SKEW, LARGEST = range(4)
"""The marks: where what is remembered begins and ends, the sum of its skews, the largest delay."""


@kernel
def remember(
    given: tuple[Times, Times],
    limits: tuple[int, int, int, int, float],
    window: State,
    reach: Values,
    past: tuple[Positions, Positions, Positions, Positions],
) -> None:
    """Remember more tuples, and forget as many of the oldest as ADWIN does.

    Args:
        given: How late each came, and how far its stream was ahead.
        limits: How long a step is in which delays are counted, the most steps, the longest skew,
            how many tuples are enough, and how often ADWIN may cut where nothing has changed.
        window: The window of ADWIN, which is changed.
        reach: The largest delay ever, in an array of one, which is changed.
        past: The coarse delays and skews remembered, with room for more; how many have each coarse
            delay; and the marks. All of them are changed.

    Cost: O(n), and that of ADWIN.
    """
    delays, skews = given
    granularity, most_steps, longest_skew, enough, delta = limits
    steps, ahead, counts, marks = past
    values = np.empty(len(delays))
    for i in range(len(delays)):
        step = delays[i] // granularity
        if step * granularity < delays[i]:
            step += 1
        step = min(step, most_steps)
        values[i] = step
        reach[0] = max(reach[0], values[i])
        steps[marks[END]], ahead[marks[END]] = step, min(skews[i], longest_skew)
        marks[SKEW] += ahead[marks[END]]
        counts[step] += 1
        marks[LARGEST] = max(marks[LARGEST], step)
        marks[END] += 1
    adwin(values, window, delta, reach[0])
    # The last bucket is the one with which there are enough.
    kept, buckets = 0, window[2]
    for size in range(SIZES):
        for _ in range(buckets[size]):
            if kept < enough:
                kept += 2**size
    while marks[END] - marks[START] > kept:
        counts[steps[marks[START]]] -= 1
        marks[SKEW] -= ahead[marks[START]]
        marks[START] += 1
    while marks[LARGEST] > 0 and counts[marks[LARGEST]] == 0:
        marks[LARGEST] -= 1
