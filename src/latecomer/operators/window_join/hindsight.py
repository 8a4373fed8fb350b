"""Count lost results, with a second join that waits for everything.

A join that runs early cannot know which rows will still come. So the same tuples go through a
second set of buffers, which wait for the longest remembered delay, and through a join that counts
results without finding them. Some seconds later the true number of results is known, and with it
the recall for all times up to the clock of the second join:

    produced   ███████ ████████ ███████ ██      up to the clock of the join
    true       ████████████████ ███████         up to the clock of hindsight
               ├────────────────────────┤       what was missed of these

Where results are counted by key, this costs about as much again as the join. It holds tuples for
the longest delay plus two windows.

A join with a fixed wait that is at least as long as every delay so far would give its hindsight the
same tuples in the same order. Hindsight then uses the buffers and the join of the first one, and
costs next to nothing. With the first delay that is longer it goes apart: it copies them.

A tuple with a longer delay than any remembered one is behind this clock too. The last window is
then counted again, with that tuple. Only a result that is farther behind than the longest window is
not counted; one of its rows is late.
"""

import numpy as np

from latecomer.arrays import Arrays, nested, part
from latecomer.operators.window_join.held_rows import HeldRows
from latecomer.operators.window_join.joiner import Probes, WindowJoin, WindowJoiner
from latecomer.operators.window_join.recent_tuples import RecentTuples
from latecomer.operators.window_join.reordering import Arrivals, Reordering
from latecomer.operators.window_join.result_size_monitor import ResultSizeMonitor
from latecomer.operators.window_join.saving import Savable
from latecomer.operators.window_join.tuples import Tuples
from latecomer.time import FOREVER, NEVER


class Hindsight(Savable):
    """A second join that counts the true results, some time later."""

    saves = ("_ahead", "_recent", "produced", "true")

    def __init__(
        self,
        asked: WindowJoin,
        rows: HeldRows,
        first: tuple[Reordering, WindowJoiner] | None = None,
    ) -> None:
        """Begin with no tuples.

        Args:
            asked: The join.
            rows: The rows of the tuples.
            first: The buffers of the first join, and the join, if its wait is fixed. They are
                shared until `go_apart`.
        """
        self._is_shared = first is not None
        self.reordering, self._joiner = first or (
            Reordering(len(asked.windows)),
            asked.start("counts"),
        )
        # Tuples that have left their buffer before earlier ones of another.
        self._ahead = Tuples.none()
        self._asked = asked
        self._widest = max(asked.windows)
        # The tuples of the last two windows that this join has received.
        self._recent = RecentTuples()
        self._rows = rows
        self.produced, self.true = ResultSizeMonitor(), ResultSizeMonitor()
        self._before = self.clock

    @property
    def clock(self) -> int:
        """Time up to which the number of true results is known."""
        return self._joiner.clock

    def go_apart(self) -> None:
        """Use buffers and a join of its own from now on, which begin as those of the first."""
        if self._is_shared:
            self._own(self.reordering.save(), self._joiner.save())

    def _own(self, reordering: Arrays, joiner: Arrays) -> None:
        self._is_shared = False
        self.reordering = Reordering(len(self._asked.windows))
        self.reordering.load(reordering)
        self._joiner = self._asked.start("counts")
        self._joiner.load(joiner)

    def add(self, arrivals: Arrivals, longest: int, probes: Probes) -> Probes:
        """Join more tuples, and count the results that the first join has produced.

        Args:
            arrivals: The tuples of all streams, in order of arrival.
            longest: The longest remembered delay, or the wait of the first join if that is longer.
            probes: The tuples that the first join received, with their results.

        Returns:
            The tuples that this join received, nearly all of them in order, with their results.
        """
        if self._is_shared:
            return self._count(probes, probes)
        return self._count(self._join(self.reordering.push(arrivals, longest)), probes)

    def finish(self, probes: Probes) -> Probes:
        """Join all held tuples at the end of the streams, and count the last results produced."""
        if self._is_shared:
            return self._count(probes, probes)
        return self._count(self._join(self.reordering.finish()), probes)

    def _in_turn(self, released: Tuples) -> Tuples:
        """Hold back tuples that are later than one that a buffer still holds.

        That happens when the longest delay grows: a tuple that came before waited less than the
        earlier ones that come after it. Without this they would be behind the clock.
        """
        oldest = self.reordering.oldest
        is_in_turn = oldest is None or not len(released) or int(released.times.max()) <= oldest
        if is_in_turn and not len(self._ahead):
            return released
        both = self._ahead + released
        both = both.take(np.argsort(both.times, kind="stable"))
        count = len(both) if oldest is None else int(both.times.searchsorted(oldest, side="right"))
        self._ahead = both.take(slice(count, None))
        return both.take(slice(count))

    def _join(self, released: Tuples) -> Probes:
        return self._joiner.push(self._in_turn(released), self._rows.known(self._asked.on))

    def _count(self, seen: Probes, probes: Probes) -> Probes:
        """Count the results that this join has seen, and those that the first has produced."""
        in_order = probes.in_order
        self.produced.add(probes.tuples.times[in_order], probes.joined[in_order])
        self._recent.add(seen.tuples)
        if seen.in_order.all():
            self.true.add(seen.tuples.times, seen.joined)
        else:
            self._count_since(max(self._before, NEVER + 2 * self._widest) - self._widest)
        self._before = self.clock
        self._recent.forget(max(self.clock, NEVER + 2 * self._widest) - 2 * self._widest)
        return seen

    def _count_since(self, since: int) -> None:
        """Count the true results from a time on again, from all tuples that have come by now."""
        recent = self._recent.tuples
        tuples = recent.take(np.argsort(recent.times, kind="stable"))
        known = self._rows.known(self._asked.on)
        joined = self._asked.start("counts").push(tuples, known).joined
        at = tuples.times >= since
        self.true.retract(since)
        self.true.add(tuples.times[at], joined[at])

    def reach(self, newest: int, longest: int, probes: Probes) -> Probes:
        """Move all streams ahead to a time reached in other buckets; the rest is as for `add`."""
        if self._is_shared:
            return self._count(probes, probes)
        return self._count(self._join(self.reordering.reach(newest, longest)), probes)

    def settled(self, *, is_over: bool = False) -> tuple[float, float]:
        """Return the number of results ever produced, and the true number, where both are known.

        Args:
            is_over: Whether the streams have ended. Until then, results at the clock may follow.
        """
        until = FOREVER if is_over else max(self.clock, NEVER + 1) - 1
        produced = self.produced.total - self.produced.count(until, FOREVER)
        return produced, self.true.total - self.true.count(until, FOREVER)

    @property
    def held(self) -> Tuples:
        """Tuples whose rows will be needed, besides those that the first join holds."""
        own = self._ahead + self._recent.tuples
        return own if self._is_shared else self.reordering.held + own

    @property
    def undecided(self) -> int:
        """Number of held tuples whose results are not counted yet."""
        return len(self.reordering) + len(self._ahead)

    def forget(self) -> None:
        """Drop counts that are older than the window that may be recounted."""
        if self.clock > NEVER:
            until = self.clock - self._widest - 1
            self.true.forget(until)
            self.produced.forget(until)

    def save(self) -> Arrays:
        found = super().save()
        if not self._is_shared:
            found |= nested("reordering", self.reordering.save())
            found |= nested("_joiner", self._joiner.save())
        return found

    def load(self, arrays: Arrays) -> None:
        super().load(arrays)
        if own := part("reordering", arrays):
            self._own(own, part("_joiner", arrays))
        self._before = self.clock
