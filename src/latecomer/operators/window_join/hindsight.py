"""What has been lost: a second join that waits for everything, and only counts.

Whoever joins early cannot know what will still come. So the same tuples go through a second set of
buffers, which wait as long as the longest delay that is remembered, and through a join that does
not find results but counts them. Some seconds later it knows what there was to be found, and of all
times up to its clock one can say which share was:

    produced   ███████ ████████ ███████ ██      up to the clock of the join
    true       ████████████████ ███████         up to the clock of hindsight
               ├── period ──────────────┤       what was missed of these

That costs about as much again as the join does where results are counted by key, and holds
tuples as long as the longest delay, and two windows.

A tuple that comes later still than all that are remembered is behind this clock too. Then the last
window is counted anew, with it. Only a result that is farther behind, by more than the longest
window, is not counted; a row of it is late.
"""

import numpy as np

from latecomer.operators.window_join.held_rows import HeldRows
from latecomer.operators.window_join.joiner import Probes, WindowJoin
from latecomer.operators.window_join.recent_tuples import RecentTuples
from latecomer.operators.window_join.reordering import Arrivals, Reordering
from latecomer.operators.window_join.result_size_monitor import ResultSizeMonitor
from latecomer.operators.window_join.saving import Savable
from latecomer.operators.window_join.tuples import Tuples
from latecomer.time import FOREVER, NEVER


class Hindsight(Savable):
    """The number of true results, some time later."""

    saves = ("reordering", "_joiner", "_recent", "produced", "true")

    def __init__(self, asked: WindowJoin, rows: HeldRows) -> None:
        self.reordering = Reordering(len(asked.windows))
        self._asked = asked
        self._joiner = asked.start("counts")
        self._widest = max(asked.windows)
        # What the join has received of the last two windows.
        self._recent = RecentTuples()
        self._rows = rows
        self.produced, self.true = ResultSizeMonitor(), ResultSizeMonitor()

    @property
    def clock(self) -> int:
        """Up to which time true results are known."""
        return self._joiner.clock

    def add(self, arrivals: Arrivals, longest: int, probes: Probes) -> Probes:
        """Take note of tuples, and of what the join made of those that it has received.

        Args:
            arrivals: The tuples of all streams, as they came.
            longest: The longest delay that is remembered, or what the join waits if that is more.
            probes: What the join itself received, and found.

        Returns:
            What the second join received, nearly all of it in order, and would have found.
        """
        return self._join(self.reordering.push(arrivals, longest), probes)

    def finish(self, probes: Probes) -> Probes:
        """Take note that nothing will follow, and of what the join received last."""
        return self._join(self.reordering.finish(), probes)

    def _join(self, tuples: Tuples, probes: Probes) -> Probes:
        in_order = probes.in_order
        self.produced.add(probes.tuples.times[in_order], probes.joined[in_order])
        before = max(self.clock, NEVER + 2 * self._widest)
        seen = self._joiner.push(tuples, self._rows.known(self._asked.on))
        self._recent.add(tuples)
        if seen.in_order.all():
            self.true.add(tuples.times, seen.joined)
        else:
            self._count_since(before - self._widest)
        self._recent.forget(max(self.clock, NEVER + 2 * self._widest) - 2 * self._widest)
        return seen

    def _count_since(self, since: int) -> None:
        """Count the true results from a time on anew, from all that has come by now."""
        recent = self._recent.tuples
        tuples = recent.take(np.argsort(recent.times, kind="stable"))
        known = self._rows.known(self._asked.on)
        joined = self._asked.start("counts").push(tuples, known).joined
        at = tuples.times >= since
        self.true.retract(since)
        self.true.add(tuples.times[at], joined[at])

    def reach(self, newest: int, longest: int, probes: Probes) -> Probes:
        """Take note that all streams have come as far, elsewhere; the rest is as for `add`."""
        return self._join(self.reordering.reach(newest, longest), probes)

    def measured(self, period: int) -> tuple[float, float] | None:
        """Count what was produced of the last period, and what there was; None if that is unknown.

        The period ends where hindsight has come to.
        """
        if self.clock == NEVER:
            return None
        # Results at the clock itself may still follow.
        since, until = self.clock - period, self.clock - 1
        true = self.true.count(since, until)
        return (min(self.produced.count(since, until), true), true) if true else None

    def missed(self, period: int) -> float | None:
        """Return the share of the last period's results that is missing; None if there are none."""
        counts = self.measured(period)
        return None if counts is None else 1 - counts[0] / counts[1]

    def settled(self, *, is_over: bool = False) -> tuple[float, float]:
        """Count all results ever produced, and those that there were, as far as both are known.

        Args:
            is_over: Nothing will follow. Before that, results at the clock itself still may.
        """
        until = FOREVER if is_over else max(self.clock, NEVER + 1) - 1
        produced = self.produced.total - self.produced.count(until, FOREVER)
        return produced, self.true.total - self.true.count(until, FOREVER)

    @property
    def lost(self) -> float:
        """How many results could not be produced, as far as that is known."""
        produced, true = self.settled()
        return true - produced

    @property
    def held(self) -> Tuples:
        """The tuples whose rows will be needed."""
        return self.reordering.held + self._recent.tuples

    def forget(self, period: int) -> None:
        """Let go of what is older than a period, and than what may be counted anew."""
        if self.clock > NEVER:
            until = self.clock - max(period, self._widest) - 1
            self.true.forget(until)
            self.produced.forget(until)
