"""Results by the delay of the tuple that gave them."""

from latecomer.batch import Mask
from latecomer.kernels.jit import kernel
from latecomer.kernels.window_probes import Counts
from latecomer.time import Times


@kernel
def add_results(
    delays: Times, in_order: Mask, given: Counts, steps: tuple[int, int], by_delay: Counts
) -> float:
    """Add the results of tuples to the counts of their delays; return how many there are.

    A tuple that came out of order has met nobody. It is taken to be as productive as the most
    productive one.

    Args:
        delays: How late each tuple came.
        in_order: Whether it came in order.
        given: How many results it gave.
        steps: How long a step is in which delays are counted, and the most steps.
        by_delay: How many results tuples of each coarse delay gave, which is changed.

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
