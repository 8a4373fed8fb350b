"""Results by the delay of the tuple that gave them.

delay     0    up to g    up to 2g    …
step      0    1          2
"""

import numpy as np
import numpy.typing as npt

from latecomer.batch import Mask
from latecomer.kernels.jit import kernel
from latecomer.kernels.window_probes import Counts
from latecomer.time import Times

FADED = 1e-9
"""Number of results below which faded counts are taken for none."""


@kernel
def add_results(
    gave: tuple[Times, Mask, Counts, Counts],
    steps: tuple[int, int],
    fade: float,
    cross: Counts,
    joined: Counts,
) -> tuple[Counts, Counts, float]:
    """Add the results of tuples to faded counts.

    Args:
        gave: For each tuple its delay, whether it came in order, and the number of results that it
            gave in the cross join and in the join. One out of order is assumed to be as productive
            as the most productive one.
        steps: The length of a step in which delays are counted, and the largest number of steps.
        fade: The share of the counts that is kept.
        cross: The number of results of the cross join at each step so far.
        joined: That of the join.

    Returns:
        The counts of the cross join, those of the join, and the number of results added to these.

    Cost: O(n).
    """
    delays, in_order, own_cross, own_joined = gave
    granularity, most_steps = steps
    at, size = np.empty(len(delays), np.int64), len(cross)
    most_cross, most_joined, total = 0.0, 0.0, 0.0
    for i in range(len(delays)):
        step = delays[i] // granularity
        if step * granularity < delays[i]:
            step += 1
        at[i] = min(step, most_steps)
        size = max(size, at[i] + 1)
        most_cross, most_joined = max(most_cross, own_cross[i]), max(most_joined, own_joined[i])
    all_cross, all_joined = np.zeros(size), np.zeros(size)
    for step in range(len(cross)):
        all_cross[step], all_joined[step] = fade * cross[step], fade * joined[step]
    for i in range(len(delays)):
        all_cross[at[i]] += own_cross[i] if in_order[i] else most_cross
        found = own_joined[i] if in_order[i] else most_joined
        all_joined[at[i]] += found
        total += found
    return all_cross, all_joined, total


@kernel
def relative_selectivity(cross: Counts, joined: Counts, waits: int) -> npt.NDArray[np.float64]:
    """Return the selectivity under waits of 0, 1, 2 … steps, each divided by that of all results.

    Args:
        cross: The number of results of the cross join, by the delay of the tuple that gave them.
        joined: That of the join.
        waits: The number of waits.

    Cost: O(n).
    """
    found = np.ones(waits)
    all_cross, all_joined = 0.0, 0.0
    for step in range(len(cross)):
        all_cross += cross[step]
        all_joined += joined[step]
    # Counts that have faded to almost nothing are not used, nor divided by.
    if all_joined <= FADED:
        return found
    some_cross, some_joined = 0.0, 0.0
    for step in range(min(waits, len(cross))):
        some_cross += cross[step]
        some_joined += joined[step]
        # Up to delays with no cross join results, the selectivity is unknown: use the overall.
        if some_cross > 0:
            found[step] = some_joined / some_cross * (all_cross / all_joined)
        else:
            found[step] = all_joined / all_cross * (all_cross / all_joined)
    return found
