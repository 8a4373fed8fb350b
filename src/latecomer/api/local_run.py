"""Run a stream in this process, without Spark: for tests, notebooks and small jobs.

    orders = pa.table({"time": [...], "key": [...]})        or a frame of pandas or Polars
    stream = lc.disordered(orders, time="time").sort(wait="10 seconds")
    stream.run()                                            all rows at once, as a batch
    stream.run([first, second, third]).late                 batch by batch, as micro-batches

The plan and the answers are the same as on Spark: `hosts.local` is the reference that the Spark
host is tested against. A recall chooses one wait for all rows, because there is one bucket.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import pyarrow as pa

from latecomer.errors import OptionError
from latecomer.hosts.local import LocalHost, Step
from latecomer.hosts.spark.local_frame import LocalFrame
from latecomer.plan import Plan

MOST_THREADS = 256
"""More than there are cores in nearly all machines."""


@dataclass(frozen=True, slots=True)
class LocalRun:
    """The outputs of a stream that was run in this process."""

    ready: pa.Table
    """The ready rows, in the order in which they were emitted."""
    lates: tuple[pa.Table, ...]
    """The late rows of each stream, with `_delay`, `_behind` and `_reason`."""
    dropped: int
    """Number of late rows that were dropped, with `late="drop"`."""
    recall: pa.Table
    """The measured recall, if the stream has one: `latecomer.hosts.recall_report`."""
    steps: tuple[LocalRun, ...] = ()
    """The outputs of each batch, and of the end of the stream."""

    @property
    def late(self) -> pa.Table:
        """The late rows of the first stream."""
        return self.lates[0]


def run(
    frames: Sequence[Any],
    plan: Plan,
    batches: Sequence[Iterable[Any]],
    end: str,
    threads: int = 1,
) -> LocalRun:
    """Run a plan over batches of each stream; see `OrderedStream.run`."""
    if not all(isinstance(frame, LocalFrame) for frame in frames):
        raise OptionError(
            "run() works on tables in this process, and this stream reads a Spark DataFrame.\n"
            "Hint: use to_df() or start(); or begin with disordered(table, ...)."
        )
    if end not in ("flush", "keep"):
        raise OptionError(f'end must be "flush" or "keep"; got {end!r}.')
    if batches and len(batches) != len(frames):
        raise OptionError(
            f"the query reads {len(frames)} streams, and batches were given for {len(batches)}.\n"
            "Hint: run(batches_of_the_first, batches_of_the_second)."
        )
    if type(threads) is not int or not 1 <= threads <= MOST_THREADS:
        raise OptionError(
            f"threads must be a whole number from 1 to {MOST_THREADS}; got {threads!r}.\n"
            "Hint: the number of cores, for example os.cpu_count()."
        )
    host = LocalHost(plan, *(frame.arrow for frame in frames), threads=threads)
    steps = [host.step(*each) for each in _steps(frames, batches)]
    if end == "flush":
        steps.append(host.finish())
    return replace(_shown(host.joined(steps)), steps=tuple(map(_shown, steps)))


def _steps(
    frames: Sequence[LocalFrame], batches: Sequence[Iterable[Any]]
) -> Iterator[list[pa.Table]]:
    """Yield one batch of each stream for each step; it is empty for a stream that has ended."""
    if not batches:
        if any(frame.rows is None for frame in frames):
            raise OptionError(
                "there are no rows to run: disordered() was given a schema.\n"
                "Hint: run([table, ...]), or give disordered() the table itself."
            )
        batches = [[frame.rows] for frame in frames]
    for given in zip_longest(*batches):
        yield [
            frame.arrow.empty_table() if each is None else frame.batch(each)
            for frame, each in zip(frames, given, strict=True)
        ]


def _shown(step: Step) -> LocalRun:
    """Return the outputs of a step, without the internal columns of Latecomer."""
    return LocalRun(
        _without_own(step.ready), tuple(map(_without_own, step.lates)), step.dropped, step.recall
    )


def _without_own(table: pa.Table) -> pa.Table:
    return table.select([name for name in table.column_names if not name.startswith("_lc_")])
