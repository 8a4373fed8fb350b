"""How far streams have come as their tuples arrive.

stream          0   1   0   1   0
time            5   3   9   4   7
newest          5   3   9   4   9       of its own stream
slowest         –   3   3   4   4       of all; unknown while one has sent nothing
delay           0   0   0   0   2       how far behind the newest of its stream a tuple is
ahead           0   0   6   0   5       how far that is ahead of the slowest
"""

import numpy as np

from latecomer.batch import Positions
from latecomer.kernels.jit import kernel
from latecomer.time import FOREVER, NEVER, Times


@kernel
def progress(streams: Positions, times: Times, before: Times) -> tuple[Times, Times, Times]:
    """Return how late each tuple comes, and how far its stream is ahead of the slowest.

    Args:
        streams: Of which stream each tuple is, in order of arrival.
        times: When it happened.
        before: How far each stream had come before; `NEVER` if it had sent nothing.

    Returns:
        How far each tuple is behind the newest of its stream; how far that is ahead of the slowest
        stream, 0 while some stream has sent nothing; and how far each stream has come in the end.
        A difference that is too large for a number is `FOREVER`.

    Cost: O(n · m) for m streams.
    """
    reached = before.copy()
    delays, ahead = np.empty_like(times), np.empty_like(times)
    for i in range(len(times)):
        own = max(reached[streams[i]], times[i])
        reached[streams[i]] = own
        least = reached.min()
        slowest = own if least == NEVER else least
        delays[i], ahead[i] = behind(own, times[i]), behind(own, slowest)
    return delays, ahead, reached


@kernel
def behind(newest: int, time: int) -> int:
    """Return how far a time is behind one at or after it; `FOREVER` if no number is so large."""
    return FOREVER if newest > 0 and time < newest - FOREVER else newest - time
