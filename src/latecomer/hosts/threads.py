"""A stage of a plan on several threads of this process: one bucket on each.

    rows ─spread by key─▶ bucket 0 ─▶ outputs
                        ▶ bucket 1 ─▶ outputs

Kernels, Arrow and most of NumPy run without the global interpreter lock, so the buckets run at the
same time. Functions of Python that a query calls for rows need the lock, and gain nothing.

Only the last stage of a plan is split, and only if that cannot change an answer. It needs a key. A
recall and a window join are not split: they measure all rows to choose how long to wait. A stage
before the last is not split either: rows of equal time would reach the next one in another order,
and a float sum depends on it.

Paper: Chandramouli et al.: Trill (VLDB 2014), Section 8: spray, shuffle by hash, apply.
Departures: The paper's branches run all the time, connected by queues. Here they meet at the end of
each micro-batch, because only then its results are visible. Outputs are not merged by time: that
took what the second thread had gained, and buckets are not merged on Spark either.
Holds: The outputs of each key are those of one thread, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from latecomer.batch import Batch
from latecomer.clock.watermark import Clock
from latecomer.hosts.buckets import spread, told_apart
from latecomer.hosts.output import Output
from latecomer.hosts.stage import RunningStage, check_held
from latecomer.plan import Plan

if TYPE_CHECKING:
    from concurrent.futures import Executor


def is_split(plan: Plan, at: int) -> bool:
    """Return True if a stage gives the same answers in any number of buckets."""
    stage, is_last = plan.stages[at], at == len(plan.stages) - 1
    return is_last and bool(stage.key) and stage.join is None and not plan.clock.recalls


class ThreadedStage:
    """The last stage of a plan, running in several buckets."""

    def __init__(
        self, plan: Plan, start: Callable[[], RunningStage], buckets: int, pool: Executor
    ) -> None:
        """Start the stage in so many buckets, which run in the pool."""
        self._plan = plan
        self._pool = pool
        self._buckets = [start() for _ in range(buckets)]

    @property
    def held(self) -> int:
        """Number of rows, or states of rows, that are held."""
        return sum(bucket.held for bucket in self._buckets)

    def step(self, clock: Clock, inputs: Sequence[Sequence[Batch]]) -> list[Output]:
        """Run one micro-batch; see `Chain.step`."""
        shares = self._shares(inputs)

        def run(number: int) -> list[Output]:
            outputs = self._buckets[number].step(clock, shares[number])
            return [told_apart(each, self._plan, number, len(self._buckets)) for each in outputs]

        found = [*self._pool.map(run, range(len(self._buckets)))]
        # One thread would have held the rows of all buckets.
        check_held(self._plan, self.held, "the stream", "run it on Spark with more buckets")
        return [output for outputs in found for output in outputs]

    def _shares(self, inputs: Sequence[Sequence[Batch]]) -> list[list[list[Batch]]]:
        """Return the rows of each bucket: for each input, some batches, in order of arrival."""
        count = len(self._buckets)
        shares: list[list[list[Batch]]] = [[[] for _ in inputs] for _ in range(count)]
        for at, branch in enumerate(self._plan.stages[-1].branches):
            if branch.everywhere:
                for share in shares:
                    share[at] = list(inputs[at])
                continue
            pieces = [piece for batch in inputs[at] for piece in _cut(batch, count)]
            for parts in self._pool.map(partial(_parts, branch.key, count), pieces):
                for number, part in parts:
                    shares[number][at].append(part)
        return shares


def _cut(batch: Batch, pieces: int) -> list[Batch]:
    """Cut a batch into pieces of nearly equal size."""
    size = max(1, -(-batch.num_rows // pieces))
    return [batch.slice(start, size) for start in range(0, batch.num_rows, size)]


def _parts(key: tuple[str, ...], buckets: int, rows: Batch) -> list[tuple[int, Batch]]:
    """Return the rows of each bucket, with its number."""
    return [(number, part) for number, part, _ in spread(key, rows, buckets)]
