"""Stretches of time in which the states of a key stay the same, and aggregates over each."""

import numpy as np

from latecomer.batch import Mask, Positions
from latecomer.kernels.jit import linear_kernel
from latecomer.time import FOREVER, Times

Cuts = tuple[Times, Times, Positions, Positions, Positions, Positions, Positions, Positions]


@linear_kernel
def cut(at: Times, other: Times, ended: Positions, codes: Positions, count: int) -> Cuts:
    """Cut the time of each key where one of its states begins or ends.

    Args:
        at: When each state begins. Those of one key ascend.
        other: When each state ends.
        ended: The states that have ended, in order of their ends.
        codes: The key of each state, from 0 to below `count`.
        count: The number of keys.

    Returns:
        For each stretch: its start, its end (`FOREVER` for the last one of a key), the stretch of
        the same key before it (-1 if there is none), its number of states, and the state whose
        begin or end it starts with. For each state: its first stretch, and the one after its last
        (-1 if it has not ended). For each key: its last stretch (-1 if there is none).
        Stretches are in order of their starts, as far as `at` is.

    Cost: O(n + count), one pass over begins and ends together.
    """
    # Numba asks of each signed position whether it is negative. Unsigned ones save a quarter of the
    # time; as such a number, -1 is the largest.
    none, one, states = np.uint64(2**64 - 1), np.uint64(1), np.uint64(len(at))
    size, ends_left = len(at) + len(ended), np.uint64(len(ended))
    ending_at, keys = ended.view(np.uint64), codes.view(np.uint64)
    starts, ends = np.empty(size, np.int64), np.empty(size, np.int64)
    before, rows = np.empty(size, np.uint64), np.empty(size, np.int64)
    one_state = np.empty(size, np.uint64)
    # First the stretches where states begin, then those where they end.
    places, lasts = np.full(2 * len(at), none), np.full(count, none)
    made, begun, left = np.uint64(0), np.uint64(0), np.uint64(0)
    for _ in range(size):
        # Few branches: the processor cannot predict whether a begin or an end is next.
        begin = at[begun] if begun < states else FOREVER
        ending = ending_at[left] if left < ends_left else np.uint64(0)
        end = other[ending] if left < ends_left else FOREVER
        is_end = np.uint64(end < begin)
        state = ending if is_end else begun
        time = end if is_end else begin
        code = keys[state]
        stretch = lasts[code]
        if stretch == none or starts[stretch] != time:
            starts[made], ends[made], before[made] = time, FOREVER, stretch
            one_state[made], rows[made] = state, 0
            if stretch != none:
                ends[stretch] = time
                rows[made] = rows[stretch]
            stretch = lasts[code] = made
            made += one
        places[state + is_end * states] = stretch
        rows[stretch] += 1 - 2 * np.int64(is_end)
        begun, left = begun + one - is_end, left + is_end
    places_of, count_made = places.view(np.int64), np.int64(made)
    return (
        starts[:count_made],
        ends[:count_made],
        before[:count_made].view(np.int64),
        rows[:count_made],
        one_state[:count_made].view(np.int64),
        places_of[: len(at)],
        places_of[len(at) :],
        lasts.view(np.int64),
    )


@linear_kernel
def tell(  # noqa: PLR0913, PLR0917 - the arrays of stretches
    starts: Times,
    ends: Times,
    rows: Positions,
    ids: Positions,
    ended: Positions,
    until: int,
    next_id: int,
) -> tuple[Times, Times, Positions, Positions, int]:
    """Return the begins and ends of stretches that have become final, to be emitted.

    These are the begins before `until` that were not emitted yet, and the ends of `ended`.

    Args:
        starts: In order, except for stretches that have an id.
        ends: `FOREVER` for stretches that are still open.
        rows: The number of states of each stretch; stretches without states are left out.
        ids: The id under which the begin of each stretch was emitted; -1 if it was not. Stretches
            whose begin is emitted now and that have no end yet are given an id.
        ended: The stretches whose begin was emitted and that have ended, in order of their ends.
        until: The watermark; at `FOREVER` no stretch is open.
        next_id: The first free id.

    Returns:
        Begins and ends in order: the time, the other time, and the id; the stretch of each; and the
        next free id.

    Cost: O(n), one pass.
    """
    size = len(starts) + len(ended)
    at, other = np.empty(size, np.int64), np.empty(size, np.int64)
    of, id_ = np.empty(size, np.int64), np.empty(size, np.int64)
    made = left = 0
    for stretch in range(len(starts) + 1):
        is_last = stretch == len(starts)
        if not is_last and (rows[stretch] == 0 or starts[stretch] >= until or ids[stretch] >= 0):
            continue
        while left < len(ended) and (is_last or ends[ended[left]] < starts[stretch]):
            of[made], id_[made] = ended[left], ids[ended[left]]
            at[made], other[made] = ends[ended[left]], starts[ended[left]]
            made += 1
            left += 1
        if not is_last:
            if ends[stretch] == FOREVER and until < FOREVER:
                ids[stretch] = next_id
                next_id += 1
            of[made], id_[made] = stretch, ids[stretch]
            at[made], other[made] = starts[stretch], ends[stretch]
            made += 1
    return at[:made], other[:made], id_[:made], of[:made], next_id


@linear_kernel
def cover_sums(
    firsts: Positions, stops: Positions, values: Positions, before: Positions
) -> Positions:
    """Return, for each stretch, the sum of the values of its key that cover it.

    Args:
        firsts: The number of the first stretch of each value.
        stops: The number of the stretch after the last; -1 if it has none.
        values: The values to add. A sum that does not fit wraps around.
        before: For each stretch, the one of the same key before it; -1 if there is none.

    Cost: O(n + number of stretches).
    """
    sums = np.zeros(len(before), np.int64)
    for i in range(len(values)):
        sums[firsts[i]] += values[i]
        if stops[i] >= 0:
            sums[stops[i]] -= values[i]
    for stretch in range(len(before)):
        if before[stretch] >= 0:
            sums[stretch] += sums[before[stretch]]
    return sums


STEPS = 4
"""Number of values that `cover_largest` may pass over, for each value and stretch."""


@linear_kernel
def cover_largest(  # noqa: C901, PLR0912 - one loop, or the lists would be arguments of many
    firsts: Positions, stops: Positions, ranks: Positions, counts: Mask, before: Positions
) -> Positions:
    """Return the value with the highest rank in each stretch.

    For each key there is a queue of the values that can still become the highest: from front to
    back, ranks fall and stops rise. A new value removes those that it outranks and outlasts. If
    stops are in the order of firsts, these are at the back, so no value is passed over.

    Args:
        firsts: The number of the first stretch of each value.
        stops: The number of the stretch after the last; -1 if it has none.
        ranks: The rank of each value.
        counts: Whether each value is considered.
        before: For each stretch, the one of the same key before it; -1 if there is none.

    Returns:
        For each stretch the position of a value with the highest rank; -1 if it has none. If too
        many values would have to be passed over, an array with one element too many.

    Cost: O(n + number of stretches).
    """
    stretches, values = len(before), len(firsts)
    # As an unsigned number, -1 is the largest.
    until = stops.view(np.uint64)
    # The values that begin in a stretch form a linked list, in the order of the arguments.
    first_here, next_here = np.full(stretches, -1), np.empty(values, np.int64)
    for i in range(values - 1, -1, -1):
        if counts[i]:
            next_here[i] = first_here[firsts[i]]
            first_here[firsts[i]] = i
    heads, tails = np.empty(stretches, np.int64), np.empty(stretches, np.int64)
    ahead, behind = np.empty(values, np.int64), np.empty(values, np.int64)
    passed, allowed = 0, STEPS * (values + stretches)
    for stretch in range(stretches):
        head = heads[before[stretch]] if before[stretch] >= 0 else -1
        tail = tails[before[stretch]] if before[stretch] >= 0 else -1
        while head >= 0 and until[head] <= np.uint64(stretch):
            head = behind[head]
        if head >= 0:
            ahead[head] = -1
        else:
            tail = -1
        new = first_here[stretch]
        while new >= 0:
            place, after = tail, -1
            while place >= 0 and ranks[place] <= ranks[new]:
                # Values at the back that outlast the new one stay. Those ahead of them are removed.
                if until[place] > until[new]:
                    passed += 1
                    after = place
                place = ahead[place]
            if until[new] > np.uint64(stretch) and (place < 0 or until[place] < until[new]):
                ahead[new], behind[new] = place, after
                if place >= 0:
                    behind[place] = new
                else:
                    head = new
                if after >= 0:
                    ahead[after] = new
                else:
                    tail = new
            new = next_here[new]
        if passed > allowed:
            return np.full(stretches + 1, -1)
        heads[stretch], tails[stretch] = head, tail
    return heads


@linear_kernel
def tree_cover(firsts: Positions, stops: Positions, levels: int) -> tuple[Positions, Positions]:
    """Cover ranges of leaves with few nodes of a binary tree.

    Node 1 is the root, node n has the children 2n and 2n + 1, and the leaves begin at 2 ** levels.

    Args:
        firsts: The first leaf of each range.
        stops: The leaf after the last.
        levels: The depth of the leaves.

    Returns:
        The nodes, and the range that each belongs to.

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
