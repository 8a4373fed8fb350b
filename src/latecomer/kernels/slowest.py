"""How far streams have come as their tuples arrive.

stream          0   1   0   1   0
time            5   3   9   4   7
newest          5   3   9   4   9       of its own stream
slowest         –   3   3   4   4       of all; unknown while one has sent nothing
"""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.jit import kernel
from latecomer.time import NEVER, Times


@kernel
def progress(streams: Positions, times: Times, before: Times) -> tuple[Times, Times, Times]:
    """Return at each tuple how far its own stream has come, and the slowest of all.

    Args:
        streams: Of which stream each tuple is, in order of arrival.
        times: When it happened.
        before: How far each stream had come before; `NEVER` if it had sent nothing.

    Returns:
        The newest time of its stream, for each tuple; that of the slowest stream, or its own while
        some stream has sent nothing; and how far each stream has come in the end.

    Cost: O(n · m) for m streams.
    """
    reached = before.copy()
    newest, slowest = np.empty_like(times), np.empty_like(times)
    for i in range(len(times)):
        own = max(reached[streams[i]], times[i])
        reached[streams[i]] = own
        newest[i] = own
        least = reached.min()
        slowest[i] = own if least == NEVER else least
    return newest, slowest, reached
