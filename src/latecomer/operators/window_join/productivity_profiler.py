"""Profile how productive tuples are, by their delay.

To lose a tuple that joins with many others is worse than to lose one that joins with none. So
results are counted by the delay of the tuple that gave them, for the join and for the cross join.
Their quotient up to some delay is the selectivity of a join that waits that long.

Few tuples of one interval have a delay. At a recall of 99 % only a handful of them matter, and the
quotient is mostly noise, as is the wait. Counts of earlier intervals can therefore be kept, and
fade.

Paper: Ji et al. (ICDE 2016), Section IV-B.
Symbols: M× → `cross`, M⋈ → `joined`, sel(K)/sel → `ratios`, N_true(L) → `true_results`.
Departures: the paper keeps the counts of the last interval only, which is a memory of 1. Where
    nothing joined, the ratio is 1. A tuple that comes out of order is assumed to be as productive
    as the most productive one of its interval, as in the paper.
Holds: beyond the largest delay the ratio is 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from latecomer.batch import Mask
from latecomer.kernels.productivity import add_results, relative_selectivity
from latecomer.kernels.window_probes import Counts
from latecomer.operators.window_join.delay_history import MOST_STEPS
from latecomer.operators.window_join.joiner import Probes
from latecomer.operators.window_join.saving import Savable
from latecomer.operators.window_join.tuples import Aligned
from latecomer.time import Times


@dataclass(frozen=True, slots=True, eq=False)
class Productivity(Aligned):
    """Numbers of results of tuples, with their delays."""

    delays: Times
    in_order: Mask
    cross: Counts
    joined: Counts

    @classmethod
    def none(cls) -> Productivity:
        """Return the productivity of no tuples."""
        return cls(np.empty(0, np.int64), np.empty(0, np.bool_), np.empty(0), np.empty(0))

    @classmethod
    def of(cls, probes: Probes) -> Productivity:
        """Return the productivity of tuples that the join received."""
        return cls(probes.tuples.delays, probes.in_order, probes.cross, probes.joined)


class TupleProductivityProfiler(Savable):
    """Counts of results by the delay of the tuple that gave them."""

    saves = ("cross", "joined", "true_results")

    def __init__(self, granularity: int, memory: float = 1) -> None:
        """Begin with no results.

        Args:
            granularity: The step in which delays are counted, in microseconds.
            memory: The average number of intervals to remember.
        """
        self._granularity = granularity
        self._fade = 1 - 1 / memory
        self.cross: Counts = np.zeros(1)
        self.joined: Counts = np.zeros(1)
        self.true_results = 0.0
        """Number of results that the last interval would have had without disorder."""

    def record(self, gave: Productivity) -> None:
        """Count the results of an interval's tuples."""
        results = (gave.delays, gave.in_order, gave.cross, gave.joined)
        self.cross, self.joined, self.true_results = add_results(
            results, (self._granularity, MOST_STEPS), self._fade, self.cross, self.joined
        )

    def ratios(self, waits: int) -> npt.NDArray[np.float64]:
        """Return the selectivity under waits of 0, 1, 2 … steps, each divided by the true one."""
        return relative_selectivity(self.cross, self.joined, waits)
