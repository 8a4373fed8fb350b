"""The whole loop: joins disordered streams, with results in time order and a wait that adapts.

    arrivals ─▶ K-slack ×m ─▶ Synchronizer ─▶ window join ─▶ results
       │            ▲ wait                        │
       ▼            │                             ▼
    Statistics ─▶ Buffer-Size Manager ◀── Profiler, Result-Size Monitor, Hindsight

The wait is chosen anew whenever the newest time of all streams enters another interval
(`intervals` cuts tuples there). Only times of tuples matter, so the same tuples in the same order
give the same waits and the same results, whatever the wall clock shows.

Paper: Ji, Sun, Nica, Jerzak, Hackenbroich, Fetzer: Quality-Driven Disorder Handling for m-way
    Sliding Window Stream Joins (ICDE 2016), Fig. 2.
Departures: the wait of Max-K-slack grows once an interval, not with each tuple.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

import numpy as np

from latecomer.operators.window_join.buffer_size_manager import BufferSizeManager, Quality
from latecomer.operators.window_join.feedback import Seen
from latecomer.operators.window_join.held_rows import HeldRows
from latecomer.operators.window_join.hindsight import Hindsight
from latecomer.operators.window_join.joiner import Probes, WindowJoin
from latecomer.operators.window_join.productivity_profiler import (
    Productivity,
    TupleProductivityProfiler,
)
from latecomer.operators.window_join.reordering import Arrivals, Reordering
from latecomer.operators.window_join.result_size_monitor import ResultSizeMonitor
from latecomer.operators.window_join.saving import Savable
from latecomer.operators.window_join.statistics_manager import StatisticsManager
from latecomer.operators.window_join.tuples import Tuples
from latecomer.time import NEVER

Wait = int | Literal["max"] | Quality
"""A fixed wait; the longest delay so far (Max-K-slack); or the wait that a recall needs."""


class JoinLoop(Savable):
    """A running join of disordered streams."""

    saves = (
        "wait",
        "reordering",
        "_joiner",
        "_statistics",
        "_produced",
        "_manager",
        "_profiler",
        "_gave",
        "hindsight",
    )

    def __init__(
        self,
        asked: WindowJoin,
        rows: HeldRows,
        wait: Wait,
        answer: Literal["results", "counts"] = "results",
        counted: Quality | None = None,
    ) -> None:
        """Begin with no tuples.

        Args:
            asked: The join.
            rows: The rows of the tuples.
            wait: The wait, or how to choose it.
            answer: Whether to find the results, or only to count them.
            counted: The period over which to count lost results. If left out, they are counted only
                if the wait depends on them.
        """
        streams = len(asked.windows)
        self._policy = wait
        self.wait = wait if isinstance(wait, int) else 0
        """Current wait, in microseconds."""
        quality = wait if isinstance(wait, Quality) else counted or Quality(1.0)
        self.quality = quality
        self._rows, self._on = rows, asked.on
        self.reordering = Reordering(streams)
        self._joiner = asked.start(answer)
        self._statistics = StatisticsManager(streams, quality.granularity)
        self._produced = ResultSizeMonitor()
        self._manager = BufferSizeManager(quality, asked.windows)
        self._is_calibrated = isinstance(wait, Quality) and wait.feedback == "calibrated"
        needs_hindsight = self._is_calibrated or counted is not None
        first = (self.reordering, self._joiner) if isinstance(wait, int) else None
        self.hindsight = Hindsight(asked, rows, first) if needs_hindsight else None
        memory = quality.period / quality.interval if self._is_calibrated else 1
        self._profiler = TupleProductivityProfiler(quality.granularity, memory)
        # Productivity that is not recorded yet, because an interval may come in several parts.
        self._gave = Productivity.none()

    @property
    def clock(self) -> int:
        """The newest time that the join has received."""
        return self._joiner.clock

    @property
    def newest(self) -> int:
        """The newest time of all streams."""
        return self._statistics.newest

    @property
    def held(self) -> Tuples:
        """Tuples whose rows will be needed."""
        held = self.reordering.held + self._joiner.held
        return held + self.hindsight.held if self.hindsight else held

    @property
    def undecided(self) -> int:
        """Number of held tuples whose results are not counted yet."""
        return self.hindsight.undecided if self.hindsight else len(self.reordering)

    def extrapolated(self) -> float:
        """Return an estimate of the recall of the current wait."""
        return self._manager.extrapolated(self.wait, self._statistics, self._profiler)

    @property
    def due(self) -> int | None:
        """Time that all streams must reach to release the oldest held tuple; None if none is."""
        oldest = self.reordering.oldest
        return None if oldest is None else oldest + self.wait

    def take_in(self, arrivals: Arrivals) -> Probes:
        """Join tuples of one interval, all or some of them."""
        if self.hindsight or not isinstance(self._policy, int):
            self._statistics.add(arrivals.streams, arrivals.times)
        elif len(arrivals):
            # With a fixed wait, only the newest time is needed.
            self._statistics.reach(int(arrivals.times.max()))
        longest = self._waited_in_hindsight()
        probes = self._join(self.reordering.push(arrivals, self.wait))
        known = self.hindsight.add(arrivals, longest, probes) if self.hindsight else probes
        return self._noted(probes, known)

    def reach(self, newest: int) -> Probes:
        """Move all streams ahead to a time reached in other buckets, and join what is released."""
        self._statistics.reach(newest)
        longest = self._waited_in_hindsight()
        probes = self._join(self.reordering.reach(newest, self.wait))
        known = self.hindsight.reach(newest, longest, probes) if self.hindsight else probes
        return self._noted(probes, known)

    def choose(self) -> None:
        """End an interval, and choose the wait of the next."""
        if self._policy == "max":
            self.wait = self._statistics.longest
        elif isinstance(self._policy, Quality):
            newest = self._statistics.newest
            self._produced.forget(newest - self.quality.period)
            self._profiler.record(self._gave)
            seen = Seen(newest, self._produced, self._profiler.true_results, self.hindsight)
            self.wait = self._manager.choose(self._statistics, self._profiler, seen)
        self._gave = Productivity.none()
        if self.hindsight:
            self.hindsight.forget()

    def finish(self) -> Probes:
        """Join all held tuples, at the end of the streams."""
        probes = self._join(self.reordering.finish())
        if self.hindsight:
            self.hindsight.finish(probes)
        return probes

    def _waited_in_hindsight(self) -> int:
        """Return the wait of hindsight, before tuples come; let it go apart if that is longer.

        It is the longest remembered delay, and at least the wait of the join. One row that is a
        year late does not make it hold a year of rows: remembered delays are limited to the number
        of steps of the model, and are forgotten after a while.
        """
        if self.hindsight is None:
            return self.wait
        longest = max(self._statistics.largest * self.quality.granularity, self.wait)
        if longest > self.wait:
            self.hindsight.go_apart()
        return longest

    def _join(self, tuples: Tuples) -> Probes:
        return self._joiner.push(tuples, self._rows.known(self._on))

    def _noted(self, probes: Probes, known: Probes) -> Probes:
        if isinstance(self._policy, Quality):
            if self._policy.feedback == "paper":
                in_order = probes.in_order
                self._produced.add(probes.tuples.times[in_order], probes.joined[in_order])
            # In hindsight hardly any tuple is out of order, so productivity need not be guessed.
            self._gave += Productivity.of(known if self._is_calibrated else probes)
        return probes


def intervals(arrivals: Arrivals, interval: int, newest: int = NEVER) -> Iterator[Arrivals]:
    """Cut tuples where the newest time of all streams enters another interval.

    Args:
        arrivals: The tuples.
        interval: The length of an interval.
        newest: The newest time before them.
    """
    entered = np.maximum(np.maximum.accumulate(arrivals.times), newest) // interval
    cuts = np.flatnonzero(np.diff(entered)) + 1
    bounds = [0, *cuts.tolist(), len(arrivals)]
    for start, stop in pairwise(bounds):
        if stop > start:
            yield arrivals.take(slice(start, stop))
