"""Sums over stretches of time."""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.jit import linear_kernel


@linear_kernel
def cover_sums(firsts: Positions, stops: Positions, values: Positions, count: int) -> Positions:
    """Add each value to all stretches from its first to before its stop.

    Args:
        firsts: The number of the first stretch of each value.
        stops: The number of the stretch after the last.
        values: What to add. A sum that does not fit wraps around.
        count: How many stretches there are.

    Cost: O(n + count).
    """
    sums = np.zeros(count + 1, np.int64)
    for i in range(len(values)):
        sums[firsts[i]] += values[i]
        sums[stops[i]] -= values[i]
    total = np.int64(0)
    for stretch in range(count):
        total += sums[stretch]
        sums[stretch] = total
    return sums[:count]


@linear_kernel
def tree_cover(firsts: Positions, stops: Positions, levels: int) -> tuple[Positions, Positions]:
    """Cover ranges of leaves by few nodes of a binary tree.

    Node 1 is the root, node n has the children 2n and 2n + 1, and the leaves begin at 2 ** levels.

    Args:
        firsts: The first leaf of each range.
        stops: The leaf after the last.
        levels: How deep the leaves are.

    Returns:
        Nodes, and the range that each is for.

    Cost: O(n levels): at most two nodes at each level.
    """
    nodes, ranges = np.empty(len(firsts) + 1, np.int64), np.empty(len(firsts) + 1, np.int64)
    found = 0
    for i in range(len(firsts)):
        low, high = firsts[i] + (1 << levels), stops[i] + (1 << levels)
        while low < high:
            if found + 2 > len(nodes):
                nodes = np.append(nodes, np.empty_like(nodes))
                ranges = np.append(ranges, np.empty_like(ranges))
            if low & 1:
                nodes[found], ranges[found] = low, i
                found += 1
                low += 1
            if high & 1:
                high -= 1
                nodes[found], ranges[found] = high, i
                found += 1
            low >>= 1
            high >>= 1
    return nodes[:found].copy(), ranges[:found].copy()
