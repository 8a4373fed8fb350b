"""Statistics of the raw streams: their delays, and how far each is ahead of the slowest.

Paper: Ji et al. (ICDE 2016), Sections III-A and IV-A.
Symbols: f_Di → `shares`, K_sync → `ahead`, MaxDH → `largest`.
Departures: rates are not kept, because they cancel out of Eq. 5.
Holds: the slowest stream is 0 ahead.
"""

import numpy as np
import numpy.typing as npt

from latecomer.batch import Positions
from latecomer.kernels.slowest import progress
from latecomer.operators.window_join.delay_history import DelayHistory
from latecomer.operators.window_join.saving import Savable
from latecomer.time import NEVER, Times


class StatisticsManager(Savable):
    """The delays of all streams in their recent past."""

    saves = ("longest", "_newest", "_histories")

    def __init__(self, streams: int, granularity: int) -> None:
        self.granularity = granularity
        self.longest = 0
        """Longest delay ever seen, in microseconds."""
        self._newest = np.full(streams, NEVER)
        self._histories = [DelayHistory(granularity) for _ in range(streams)]

    def add(self, streams: Positions, times: Times) -> None:
        """Add tuples of all streams, in order of arrival."""
        if not len(times):
            return
        delays, ahead, self._newest = progress(streams, times, self._newest)
        self.longest = max(self.longest, int(delays.max()))
        for stream, history in enumerate(self._histories):
            at = np.flatnonzero(streams == stream)
            history.add(delays[at], ahead[at])

    def reach(self, newest: int) -> None:
        """Move all streams ahead to a time reached in other buckets; delays count from there."""
        np.maximum(self._newest, newest, out=self._newest)

    @property
    def newest(self) -> int:
        """Newest time of all streams."""
        return int(self._newest.max())

    @property
    def largest(self) -> int:
        """Largest coarse delay that is remembered."""
        return max(history.largest for history in self._histories)

    @property
    def ahead(self) -> Positions:
        """Average distance of each stream from the slowest, in whole steps."""
        skews = np.array([history.skew for history in self._histories])
        return ((skews - skews.min()) // self.granularity).astype(np.int64)

    def shares(self) -> npt.NDArray[np.float64]:
        """Return, for each stream, the share of its tuples with a coarse delay of up to 0, 1, 2 ….

        All shares are 1 for a stream without remembered tuples.
        """
        steps = self.largest + 1
        return np.stack([history.shares(steps) for history in self._histories])
