"""A stage of a plan on several threads of this process: one bucket on each.

    rows ─spread by key─▶ bucket 0 ─▶ outputs ─merge by time─▶ outputs of the stage
                        ▶ bucket 1 ─▶ outputs ▶

Kernels, Arrow and most of NumPy run without the global interpreter lock, so the buckets run at the
same time. Functions of Python that a query calls for rows need the lock, and gain nothing.

Only the last stage of a plan is split, and only if that cannot change an answer. It needs a key. A
recall and a window join are not split: they measure all rows to choose how long to wait. A stage
before the last is not split either: rows of equal time would reach the next one in another order,
and a float sum depends on it.

Paper: Chandramouli et al.: Trill (VLDB 2014), Section 8: spray, shuffle by hash, apply, merge.
Departures: The paper's branches run all the time, connected by queues. Here they meet at the end of
each micro-batch, because only then its results are visible.
Holds: The outputs of each key are those of one thread, in the same order. If the outputs of one
thread are in order of time, so are these.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from latecomer.batch import Batch, combined, gather
from latecomer.hosts.buckets import spread, told_apart
from latecomer.hosts.output import READY, Output
from latecomer.hosts.stage import check_held
from latecomer.kernels.order import stable_order
from latecomer.operators.temporal.edges import AT
from latecomer.operators.temporal.whole import START
from latecomer.operators.windows.bounds import WINDOW

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor

    from latecomer.clock.watermark import Clock
    from latecomer.hosts.stage import RunningStage
    from latecomer.plan import Plan
    from latecomer.time import Times


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
        ready = [
            [
                output.batch
                for output in outputs
                if output.batch is not None and output.name == READY
            ]
            for outputs in found
        ]
        rest = [output for outputs in found for output in outputs if output.name != READY]
        return [*(Output(READY, each.num_rows, each) for each in self._merged(ready)), *rest]

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

    def _merged(self, ready: list[list[Batch]]) -> list[Batch]:
        """Merge the rows of all buckets by time; each bucket keeps its order."""
        whole = [pa.concat_tables(batches) for batches in ready if batches]
        times = [_times(each, self._plan) for each in whole]
        known = [np.maximum.accumulate(each) for each in times if each is not None]
        if not known or len(known) < len(whole):
            return whole
        order = stable_order(np.concatenate(known))
        rows = combined(pa.concat_tables(whole))
        parts = np.array_split(order, len(self._buckets))
        return [*self._pool.map(partial(gather, rows), parts)]


def _cut(batch: Batch, pieces: int) -> list[Batch]:
    """Cut a batch into pieces of nearly equal size."""
    size = max(1, -(-batch.num_rows // pieces))
    return [batch.slice(start, size) for start in range(0, batch.num_rows, size)]


def _parts(key: tuple[str, ...], buckets: int, rows: Batch) -> list[tuple[int, Batch]]:
    """Return the rows of each bucket, with its number."""
    order, stops = spread(key, rows, buckets, np.arange(rows.num_rows))
    rows = gather(rows, order)
    return [(number, rows.slice(start, stop - start)) for number, start, stop in stops]


def _times(rows: Batch, plan: Plan) -> Times | None:
    """Return the times of rows, their starts, or the ends of their windows; None without any."""
    time = plan.source.time.name
    # Where rows have become others, a result may have the name of the time.
    expected = (AT, time, START, WINDOW) if plan.carries_columns else (AT, START, time, WINDOW)
    names = [name for name in expected if name in rows.column_names]
    if not names:
        return None
    column = rows.column(names[0])
    if pa.types.is_struct(column.type) and column.type.get_field_index("end") >= 0:
        column = pc.struct_field(column, "end")
    is_time = pa.types.is_integer(column.type) or pa.types.is_temporal(column.type)
    return column.to_numpy().astype(np.int64) if is_time and not column.null_count else None
