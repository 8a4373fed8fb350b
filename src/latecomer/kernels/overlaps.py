"""Lifetimes that overlap, and what they leave uncovered.

The rows of two streams are swept once, in order of their starts. Of each stream and key those rows
are at hand that may not have ended, as a list linked through arrays. A row that begins meets those
of the other stream, and the ones found to have ended are forgotten on the way, so that each look
either finds a pair or is the last at that row:

    left    ├── a ──────┤                  b begins: a is there, (a, b)
    right        ├── b ───────┤            c begins: b is there, (c, b)
    left               ├── c ──┤           d begins: a is forgotten, c is there, (c, d)
    right                    ├── d ──
"""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.jit import kernel
from latecomer.time import Times


@kernel
def overlapping(
    codes: Positions, starts: Times, ends: Times, count: int, old: Positions, rights: int
) -> tuple[Positions, Positions]:
    """Find all pairs of a left and a right row of one key whose lifetimes overlap.

    Args:
        codes: The key of each row, before `count`; rows with -1 have no partner. First all rows of
            the left stream, then all of the right one.
        starts: Where lifetimes begin; those of a stream ascend.
        ends: Where they end.
        count: How many keys there are.
        old: How many rows of each stream, from its first on, are old. They begin before all others.
            A third number says whether pairs are wanted of which both rows are old: 0 or 1.
        rights: Where the rows of the right stream begin.

    Returns:
        The positions of left and of right rows, both in their own stream. Pairs are in the order in
        which the second of both begins, and those of one row in the order of the starts of others.

    Cost: O(n + count + pairs).
    """
    rows = len(codes)
    # Behind the links of rows there is one for each list, which leads to its first row.
    links, tails = np.full(rows + 2 * count, -1), rows + np.arange(2 * count)
    sizes, done = np.zeros(2 * count, np.int64), np.array([0, rights, 0])
    lefts_found, rights_found = np.empty(rows + 1, np.int64), np.empty(rows + 1, np.int64)
    lists, found = (links, tails, sizes), (lefts_found, rights_found)
    while sweep(codes, starts, ends, old, rights, lists, found, done):
        lefts_found = np.append(lefts_found, np.empty_like(lefts_found))
        rights_found = np.append(rights_found, np.empty_like(rights_found))
        found = (lefts_found, rights_found)
    return lefts_found[: done[2]].copy(), rights_found[: done[2]].copy()


@kernel
def sweep(  # noqa: PLR0913, PLR0917 - what one pass of `overlapping` works on
    codes: Positions,
    starts: Times,
    ends: Times,
    old: Positions,
    rights: int,
    lists: tuple[Positions, Positions, Positions],
    found: tuple[Positions, Positions],
    done: Positions,
) -> bool:
    """Sweep rows until all have been seen, or until there may be no room for the next pairs.

    To enlarge arrays within the loop would double its time.

    Args:
        codes: These and the next four are those of `overlapping`.
        starts: Where lifetimes begin.
        ends: Where they end.
        old: How many rows of each stream are old.
        rights: Where the rows of the right stream begin.
        lists: The row behind each row of a list and the first row of each list, the place of the
            last link of each list, and how many rows each list has. List 2c is that of the left
            rows of code c, and list 2c + 1 that of the right ones.
        found: Where to write pairs.
        done: The next left row, the next right row, and how many pairs there are.

    Returns:
        True if more room is needed.
    """
    links, tails, sizes = lists
    lefts_found, rights_found = found
    rows, room = len(codes), len(lefts_found)
    left, right, pairs = done
    needs_room = False
    while left < rights or right < rows:
        # Few branches: which stream comes next, and who has ended, cannot be predicted.
        is_right = left == rights or (right < rows and starts[right] < starts[left])
        side = np.int64(is_right)
        new = right if is_right else left
        code = codes[new]
        mine, others = 2 * code + side, 2 * code + 1 - side
        if code >= 0 and (old[2] or new - side * rights >= old[side]):
            if pairs + sizes[others] > room:
                needs_room = True
                break
            start, before, first = starts[new], rows + others, pairs
            each = links[before]
            while each >= 0:
                after, counts = links[each], ends[each] > start
                lefts_found[pairs] = each if is_right else new
                rights_found[pairs] = (new if is_right else each) - rights
                pairs += np.int64(counts)
                links[before] = each if counts else after
                before = each if counts else before
                each = after
            tails[others], sizes[others] = before, pairs - first
        if code >= 0:
            links[tails[mine]] = new
            tails[mine] = new
            sizes[mine] += 1
        left, right = left + 1 - side, right + side
    done[0], done[1], done[2] = left, right, pairs
    return needs_room


@kernel
def uncovered(
    starts: Times, ends: Times, rows: Positions, begins: Times, stops: Times
) -> tuple[Positions, Times, Times]:
    """Find the pieces of lifetimes that others do not cover.

    Args:
        starts: Where lifetimes begin.
        ends: Where they end.
        rows: Which row each cover is for, ascending; those of one row in order of their begins.
        begins: Where covers begin.
        stops: Where they end.

    Returns:
        For each piece its row, where it begins and where it ends; in order of rows and begins.

    Cost: O(n + covers), one pass.
    """
    most = len(starts) + len(rows)
    found, froms, tos = (
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
    )
    pieces = cover = 0
    for row in range(len(starts)):
        free = starts[row]
        while cover < len(rows) and rows[cover] == row:
            begin = min(begins[cover], ends[row])
            if begin > free:
                found[pieces], froms[pieces], tos[pieces] = row, free, begin
                pieces += 1
            free = max(free, stops[cover])
            cover += 1
        if free < ends[row]:
            found[pieces], froms[pieces], tos[pieces] = row, free, ends[row]
            pieces += 1
    return found[:pieces].copy(), froms[:pieces].copy(), tos[:pieces].copy()
