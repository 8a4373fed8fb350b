"""Count join results by the delay of the tuple that produced them."""

from latecomer.batch import Mask
from latecomer.kernels.jit import kernel
from latecomer.kernels.window_probes import Counts
from latecomer.time import Times


@kernel
def add_results(
    delays: Times, in_order: Mask, given: Counts, steps: tuple[int, int], by_delay: Counts
) -> float:
    """Add the results of tuples to the counts of their delays, and return the number of results.

    A tuple that came out of order has not probed the windows. It is assumed to be as productive as
    the most productive tuple.

    Args:
        delays: The delay of each tuple.
        in_order: Whether each tuple came in order.
        given: The number of results that each tuple gave.
        steps: The length of a step in which delays are counted, and the largest number of steps.
        by_delay: The number of results of tuples with each coarse delay, which is changed.

    Cost: O(n).
    """
    granularity, most_steps = steps
    most = 0.0
    for i in range(len(given)):
        most = max(most, given[i])
    total = 0.0
    for i in range(len(given)):
        step = delays[i] // granularity
        if step * granularity < delays[i]:
            step += 1
        results = given[i] if in_order[i] else most
        by_delay[min(step, most_steps)] += results
        total += results
    return total
