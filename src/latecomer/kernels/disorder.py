"""Four exact measures of the disorder of a stream.

    time   2   6   5   1   4   3   7   8     in order of arrival

    inversions    9   pairs that came the wrong way round: (2,1) (6,5) (6,1) (6,4) (6,3) …
    distance      4   the inversion farthest apart is 6 … 3
    runs          4   2 6 | 5 | 1 4 | 3 7 8
    interleaved   4   6 5 4 3 descends, so its times must go to four different sequences

No single measure is enough. Two sorted streams end to end have 2 runs and a large distance. The
same two, interleaved, have many runs and a small distance. Both have 2 interleaved sequences.

Rows of equal time are in order, whichever came first. Nothing here subtracts times, so the whole
range of int64 is measured exactly.

Paper: Chandramouli, Goldstein, Li: Impatience Is a Virtue (ICDE 2018), Section II.
"""

import numpy as np

from latecomer.kernels.jit import kernel
from latecomer.time import Times

_BLOCK = 16
"""Number of times that are sorted by insertion before blocks are merged; a power of two."""


@kernel
def find_run(time: int, tails: Times, runs: int, guess: int) -> int:
    """Return the first run whose tail is not after a time; `runs` if there is none.

    Args:
        time: The time to place.
        tails: The last times of the runs, strictly falling.
        runs: The number of tails in use.
        guess: The run to try first; -1 for none.
    """
    if 0 <= guess < runs and tails[guess] <= time and (guess == 0 or tails[guess - 1] > time):
        return guess
    low, high = 0, runs
    while low < high:
        middle = (low + high) // 2
        if tails[middle] <= time:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def inversions(times: Times) -> int:
    """Return the number of pairs of rows in which the earlier row came later.

    This is a merge sort that counts. A time taken from the right half forms an inversion with each
    time that remains in the left half. Halves are merged as soon as both are sorted, while they are
    in the processor's cache. Halves that are already in order are not merged.

    Cost: O(n log n) time, two copies of the times.
    """
    rows = len(times)
    held = times.copy()
    spare = np.empty(rows, np.int64)
    count = 0
    for start in range(0, rows, _BLOCK):
        stop = min(start + _BLOCK, rows)
        count += _insert(held, start, stop)
        size = _BLOCK
        while stop % (2 * size) == 0:
            count += _merge(held, spare, stop - 2 * size, stop - size, stop)
            size *= 2
    size = _BLOCK
    while size < rows:
        start = rows // (2 * size) * (2 * size)
        if start + size < rows:
            count += _merge(held, spare, start, start + size, rows)
        size *= 2
    return count


@kernel
def _insert(held: Times, start: int, stop: int) -> int:
    """Sort a few times in place, by insertion; return the inversions among them."""
    count = 0
    for at in range(start + 1, stop):
        time = held[at]
        to = at
        while to > start and held[to - 1] > time:
            held[to] = held[to - 1]
            to -= 1
        held[to] = time
        count += at - to
    return count


@kernel
def _merge(held: Times, spare: Times, start: int, middle: int, stop: int) -> int:
    """Merge two ascending neighbours in place; return the inversions between them."""
    if held[middle - 1] <= held[middle]:
        return 0
    # Times at the beginning that are already in place stay there.
    while held[start] <= held[middle]:
        start += 1
    left = middle - start
    for i in range(left):
        spare[i] = held[start + i]
    count = 0
    i, j, to = 0, middle, start
    while i < left and j < stop:
        # No branch here: the processor could not predict which of the two is taken.
        is_right = held[j] < spare[i]
        held[to] = held[j] if is_right else spare[i]
        count += left - i if is_right else 0
        j += is_right
        i += not is_right
        to += 1
    while i < left:
        held[to] = spare[i]
        i += 1
        to += 1
    return count


@kernel
def distance(times: Times) -> int:
    """Return how many places apart the farthest inversion is; 0 if there is none.

    The newest time up to `i` and the oldest from `j` on can only rise as `i` and `j` do. So `j`
    advances while some time up to `i` is newer than the oldest from `j` on; otherwise `i` does.

    Cost: O(n) time and space.
    """
    rows = len(times)
    oldest = np.empty(rows, np.int64)
    for at in range(rows - 1, -1, -1):
        is_older = at == rows - 1 or times[at] < oldest[at + 1]
        oldest[at] = times[at] if is_older else oldest[at + 1]
    farthest = i = j = 0
    newest = times[0] if rows else 0
    while j < rows and i < rows:
        newest = max(newest, times[i])
        if newest > oldest[j]:
            farthest = max(farthest, j - i)
            j += 1
        else:
            i += 1
    return farthest


@kernel
def runs(times: Times) -> int:
    """Return the number of maximal stretches that do not descend; 0 if there are no rows.

    Cost: O(n), one pass.
    """
    if len(times) == 0:
        return 0
    count = 1
    for at in range(1, len(times)):
        count += times[at] < times[at - 1]
    return count


@kernel
def interleaved(times: Times) -> int:
    """Return the smallest number of ascending sequences that interleave to the stream.

    This is Patience sort, without keeping the rows. A time goes to the first run whose last time is
    not after it, or starts a new run if there is none. Last times strictly fall from run to run, so
    the run is found by binary search. Rows of one source tend to go to the same run, so the run of
    the row before is tried first.

    Cost: O(n log k) time for k runs, O(k) space.
    """
    tails = np.empty(64, np.int64)
    count = run = 0
    for time in times:
        run = find_run(time, tails, count, run)
        if run == len(tails):
            tails = np.concatenate((tails, tails))
        count = max(count, run + 1)
        tails[run] = time
    return count
