"""Lifetimes that overlap, and what they leave uncovered.

The rows of two streams are swept once, in order of their starts. For each stream and key there is a
list, linked through arrays, of the rows that may not have ended. When a row begins, the list of the
other stream is searched. Rows found to have ended are removed from it, so that each look at a row
either finds a pair or is the last at that row:

    left    ├── a ──────┤                  b begins: a is there, (a, b)
    right        ├── b ───────┤            c begins: b is there, (c, b)
    left               ├── c ──┤           d begins: a is removed, c is there, (c, d)
    right                    ├── d ──
"""

import numpy as np
import numpy.typing as npt

from latecomer.batch import Positions
from latecomer.kernels.jit import inner_kernel, kernel
from latecomer.time import Times

Unsigned = npt.NDArray[np.unsignedinteger]
NONE = np.uint64(2**64 - 1)
"""No row. As a signed number it is -1."""
LIST, LISTS = np.uint64(3), np.uint64(6)
"""How many numbers describe a list of rows, and both lists of a key."""


def overlapping(
    codes: Positions, starts: Times, ends: Times, count: int, old: Positions, rights: int
) -> tuple[Positions, Positions]:
    """Return all pairs of a left and a right row of one key whose lifetimes overlap.

    Args:
        codes: The key of each row, below `count`; rows with -1 have no partner. First all rows of
            the left stream, then all of the right one.
        starts: Where lifetimes begin; those of a stream ascend.
        ends: Where they end.
        count: The number of keys.
        old: The number of old rows of each stream. They come first, and begin before all others.
            The third number is 1 if pairs of two old rows are wanted, otherwise 0.
        rights: Where the rows of the right stream begin.

    Returns:
        The positions of left and of right rows, each in its own stream. Pairs are in order of the
        later of their two starts; those with the same later row, in order of the other start.

    Cost: O(n + count + pairs).
    """
    # With many keys each look at a list misses the caches, so all of a key's is in one place.
    size = len(codes) + int(LISTS) * count
    is_small = size < np.iinfo(np.uint32).max
    links: Unsigned = np.empty(size, np.uint32) if is_small else np.empty(size, np.uint64)
    return linked(codes, starts, ends, old, rights, links)


@kernel
def linked(
    codes: Positions, starts: Times, ends: Times, old: Positions, rights: int, links: Unsigned
) -> tuple[Positions, Positions]:
    """Return what `overlapping` returns, given room for the lists of all keys."""
    rows, done = len(codes), np.array([0, rights, 0])
    for at in range(rows, len(links), np.int64(LIST)):
        links[at], links[at + 1], links[at + 2] = no_row(links), at, 0
    lefts_found, rights_found = np.empty(rows + 1, np.uint64), np.empty(rows + 1, np.uint64)
    found = (lefts_found, rights_found)
    keys, first_right = codes.view(np.uint64), np.uint64(rights)
    while sweep(keys, starts, ends, old, first_right, links, found, done):
        lefts_found = np.append(lefts_found, np.empty_like(lefts_found))
        rights_found = np.append(rights_found, np.empty_like(rights_found))
        found = (lefts_found, rights_found)
    lefts, rights_of = lefts_found[: done[2]].copy(), rights_found[: done[2]].copy()
    return lefts.view(np.int64), rights_of.view(np.int64)


@inner_kernel
def no_row(links: Unsigned) -> np.uint64:
    """Return the largest number that fits into `links`."""
    return NONE >> np.uint64(64 - 8 * links.itemsize)


@kernel
def sweep(  # noqa: PLR0913, PLR0917 - what one pass of `overlapping` works on
    codes: Unsigned,
    starts: Times,
    ends: Times,
    old: Positions,
    rights: np.uint64,
    links: Unsigned,
    found: tuple[Unsigned, Unsigned],
    done: Positions,
) -> bool:
    """Sweep rows until all have been seen, or until there may be no room for the next pairs.

    Growing the arrays within the loop would double its time. Positions are unsigned, because Numba
    compares each signed one with zero, which takes a tenth of the time.

    Args:
        codes: This and the next four arguments are those of `overlapping`.
        starts: Where lifetimes begin.
        ends: Where they end.
        old: The number of old rows of each stream.
        rights: Where the rows of the right stream begin.
        links: The next row after each row of a list, and then three numbers for each list: its
            first row, where its last link is, and its length. List 2c has the left rows of code c,
            and list 2c + 1 the right ones. No row is the largest number.
        found: The arrays to write pairs to.
        done: The next left row, the next right row, and the number of pairs.

    Returns:
        True if more room is needed.
    """
    lefts_found, rights_found = found
    none = no_row(links)
    one, two = np.uint64(1), np.uint64(2)
    rows, room = np.uint64(len(codes)), np.uint64(len(lefts_found))
    left, right, pairs = np.uint64(done[0]), np.uint64(done[1]), np.uint64(done[2])
    old_left, old_right = np.uint64(old[0]), np.uint64(old[1])
    needs_room = False
    while left < rights or right < rows:
        # Few branches: the processor cannot predict which stream is next or which row has ended.
        is_right = left == rights or (right < rows and starts[right] < starts[left])
        side = np.uint64(is_right)
        new = right if is_right else left
        code = codes[new]
        if code != NONE:
            pair = rows + code * LISTS
            mine, others = pair + side * LIST, pair + (one - side) * LIST
            if old[2] or new - side * rights >= (old_right if is_right else old_left):
                if pairs + np.uint64(links[others + two]) > room:
                    needs_room = True
                    break
                start, before, first = starts[new], others, pairs
                each = np.uint64(links[before])
                while each != none:
                    after, counts = np.uint64(links[each]), ends[each] > start
                    lefts_found[pairs] = each if is_right else new
                    rights_found[pairs] = (new if is_right else each) - rights
                    pairs += np.uint64(counts)
                    links[before] = each if counts else after
                    before = each if counts else before
                    each = after
                links[others + one], links[others + two] = before, pairs - first
            links[new] = none
            links[links[mine + one]] = new
            links[mine + one] = new
            links[mine + two] += one
        left, right = left + one - side, right + side
    done[0], done[1], done[2] = left, right, pairs
    return needs_room


@kernel
def uncovered(
    starts: Times, ends: Times, rows: Positions, begins: Times, stops: Times
) -> tuple[Positions, Times, Times]:
    """Return the pieces of lifetimes that others do not cover.

    Args:
        starts: Where lifetimes begin.
        ends: Where they end.
        rows: The row that each cover is for, ascending; covers of one row in order of `begins`.
        begins: Where covers begin.
        stops: Where they end.

    Returns:
        For each piece its row, where it begins and where it ends, in order of rows and begins.

    Cost: O(n + covers), one pass.
    """
    most = len(starts) + len(rows)
    found, froms, tos = (
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
    )
    pieces, cover = np.int64(0), 0
    for row in range(len(starts)):
        free = starts[row]
        while cover < len(rows) and rows[cover] == row:
            # Written in any case and counted if it is a piece, which takes no branch.
            begin = min(begins[cover], ends[row])
            found[pieces], froms[pieces], tos[pieces] = row, free, begin
            pieces += np.int64(begin > free)
            free = max(free, stops[cover])
            cover += 1
        found[pieces], froms[pieces], tos[pieces] = row, free, ends[row]
        pieces += np.int64(free < ends[row])
    return found[:pieces].copy(), froms[:pieces].copy(), tos[:pieces].copy()
