"""Windows of the last n items of each key, and how they change when items are added or removed."""

import numpy as np
import numpy.typing as npt

from latecomer.batch import Positions
from latecomer.kernels.jit import kernel

Status = npt.NDArray[np.int8]

KEPT, NEW, GONE = 0, 1, 2


@kernel
def changed_windows(  # noqa: C901 - one pass over all keys
    status: Status, bounds: Positions, wanted: int, sign: int
) -> tuple[Positions, Positions, Positions]:
    """Return the windows that have disappeared, or those that are new.

    The items of a key are from one bound to the next. The window of an item consists of it and of
    the `wanted - 1` items before it. It changes if one of these was added or removed.

    Args:
        status: For each item, whether it was kept (0), added (1) or removed (2).
        bounds: Where the items of each key begin, and where the last ones end.
        wanted: The largest number of items in a window. No more memory is used than a key needs.
        sign: -1 for the windows that have disappeared, 1 for those that are new.

    Returns:
        The last item of each window; where its items begin in the third array; and the items of all
        windows.

    Cost: O(items + items in windows).
    """
    absent = NEW if sign < 0 else GONE
    count, total = 0, 0
    ends = np.empty(len(status), np.int64)
    starts = np.empty(len(status) + 1, np.int64)
    firsts = np.empty(len(status), np.int64)
    for group in range(len(bounds) - 1):
        # Ring buffers of the last items: of the side that is asked for, and of the other side.
        size = max(1, min(wanted, bounds[group + 1] - bounds[group]))
        here, other = np.empty(size, np.int64), np.empty(size, np.int64)
        seen, seen_other, last_dirty = 0, 0, -1
        for i in range(bounds[group], bounds[group + 1]):
            if status[i] != KEPT:
                last_dirty = i
            if status[i] != absent:
                here[seen % size] = i
                seen += 1
            if status[i] == KEPT or status[i] == absent:
                other[seen_other % size] = i
                seen_other += 1
            if status[i] == absent:
                continue
            first = here[seen % size] if seen >= size else here[0]
            if status[i] == KEPT:
                first_other = other[seen_other % size] if seen_other >= size else other[0]
                if last_dirty < min(first, first_other):
                    continue
            ends[count], starts[count], firsts[count] = i, total, first
            total += min(seen, size)
            count += 1
    starts[count] = total
    members = np.empty(total, np.int64)
    for window in range(count):
        at = starts[window]
        for i in range(firsts[window], ends[window] + 1):
            if status[i] != absent:
                members[at] = i
                at += 1
    return ends[:count], starts[: count + 1], members
