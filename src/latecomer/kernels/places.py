"""Find rows by their numbers."""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.jit import kernel


@kernel
def find_rows(
    streams: Positions, rows: Positions, numbers: Positions, starts: Positions
) -> Positions:
    """Return the place of each row among those of all streams.

    Args:
        streams: The stream of each row.
        rows: The number of each row in its stream.
        numbers: The numbers of all known rows, stream by stream, ascending in each.
        starts: Where each stream begins, and where the last one ends.

    Cost: O(1) for a row before which no number is missing, O(log n) otherwise.
    """
    found = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        low, high = starts[streams[i]], starts[streams[i] + 1]
        # Its place if no number were missing; it cannot be after that.
        high = min(high, low + rows[i] - numbers[low] + 1)
        if numbers[high - 1] == rows[i]:
            found[i] = high - 1
            continue
        while low < high:
            middle = (low + high) >> 1
            if numbers[middle] < rows[i]:
                low = middle + 1
            else:
                high = middle
        found[i] = low
    return found
