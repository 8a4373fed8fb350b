"""The delays of tuples as they arrive, and how far their streams are ahead of the slowest.

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
    """Return the delay of each tuple, and how far its stream is ahead of the slowest.

    Args:
        streams: The stream of each tuple, in order of arrival.
        times: The time of each tuple.
        before: The newest time of each stream before; `NEVER` if it had sent nothing.

    Returns:
        How far each tuple is behind the newest of its stream; how far that newest is ahead of the
        slowest stream, 0 while some stream has sent nothing; and the newest time of each stream
        afterwards. A difference that does not fit an int64 is `FOREVER`.

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
    """Return how far `time` is behind `newest`; `FOREVER` if that does not fit an int64."""
    return FOREVER if newest > 0 and time < newest - FOREVER else newest - time
