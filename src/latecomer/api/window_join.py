"""Joins of disordered streams, as users write them; thin.

    lc.window_join({"bid": bids, "ask": asks, "trade": trades}, within="5 seconds",
                   on="symbol", recall=0.99)                      JoinedStream
      .to_df()        time, bid_symbol, bid_time, bid_price, ask_symbol, …

`operators.window_join.loop` joins the rows, and `api.window_join_arguments` reads the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from latecomer.api import window_join_arguments as joining
from latecomer.api.disordered import DisorderedStream
from latecomer.api.local_run import LocalRun
from latecomer.api.readable import Readable
from latecomer.api.waiting import check_buckets
from latecomer.clock.policy import OneClock
from latecomer.hosts.spark import query
from latecomer.hosts.spark.columns import arrow_schema, partitions
from latecomer.operators.window_join.joiner import WindowJoin
from latecomer.operators.window_join.quality_join import Input, QualityJoin
from latecomer.plan import Gathering, Plan, Stage
from latecomer.time import Duration

if TYPE_CHECKING:
    from types import EllipsisType

    from pyspark.sql import DataFrame

    from latecomer.api.window_join_arguments import Feedback, On


def window_join(
    streams: Mapping[str, DisorderedStream],
    *,
    within: Duration | Mapping[str, Duration],
    on: On = None,
    where: Callable[..., bool] | None = None,
    recall: float | None = None,
    wait: Duration | Literal["max"] | EllipsisType | None = ...,
    period: Duration | None = None,
    interval: Duration | None = None,
    granularity: Duration | None = None,
    feedback: Feedback = "calibrated",
    buckets: int | None = None,
) -> JoinedStream:
    """Join two or more disordered streams whose rows are close in time.

    A result has one row of each stream. Each row is at most the window of its stream before the
    latest of them, and the rows meet the conditions. Results come out in order of time within a
    bucket. For batch DataFrames nothing is missed.

    Args:
        streams: Streams made by `disordered`, by name. Names are put before columns in results.
        within: The window: the longest time from a row to the latest row of a result. One for all
            streams, or one for each.
        on: The columns in which rows must be equal: the name of one that all streams have, several
            such names, the name in each stream (`{"bid": "symbol", "trade": "ticker"}`), or pairs
            (`[("bid.symbol", "trade.ticker"), ...]`). Nulls are equal to nothing.
        where: A further condition: a function of one row of each stream, in their order. It is
            compiled, and can use columns that are numbers, times (in microseconds) and booleans. It
            is false where it compares a null.
        recall: The share of the true results to produce in each period; 0.99 if neither this nor a
            wait is given. The wait is chosen again in each interval.
        wait: Instead, a fixed wait such as "20 seconds"; "max" for the longest delay so far; or
            None for no wait.
        period: The period over which recall is measured; by default 12 times the longest window.
        interval: How often the wait is chosen; by default a 60th of the period.
        granularity: The step in which waits are tried; by default a 500th of the longest window.
        feedback: How the achieved recall influences the wait: "calibrated", "paper" (Eq. 7 of the
            paper) or "none"; see `latecomer.operators.window_join.feedback`.
        buckets: Number of buckets for the rows; by default the session's number of shuffle
            partitions. Without a common key it is at most 4, because all streams but the first are
            then copied to all buckets.

    Raises:
        OptionError: There are fewer than two streams, some are streaming and others not, an option
            has an unknown value, or both a recall and a wait are given.
        OrderError: A stream is sorted already.
        DurationError: A duration is negative or unreadable.
        ColumnNotFoundError: A column does not exist.
        ColumnTypeError: Columns in `on` are of different types, or nested; or the times are of
            different types.
        ColumnNameError: Two columns of a result would have the same name.
        ConditionError: The condition does not compile, or takes other rows.
    """
    joining.check_streams(streams)
    check_buckets(buckets)
    names = tuple(streams)
    schemas = tuple(arrow_schema(stream.df) for stream in streams.values())
    windows = joining.read_windows(within, names)
    equalities = joining.read_on(on, names, schemas)
    condition = joining.read_condition(where, names, schemas)
    quality = joining.read_quality(recall, windows, period, interval, granularity, feedback)
    inputs = tuple(
        Input(name, each.source.time, each.source.arrival) for name, each in streams.items()
    )
    join = QualityJoin(
        inputs, WindowJoin(windows, equalities, condition), joining.read_wait(recall, wait), quality
    )
    joining.check_names(join.output_schema(schemas))
    keys = joining.keys_of(equalities, schemas)
    sources = [
        replace(each.source, number=number, rows=schema, key=key)
        for number, (each, schema, key) in enumerate(
            zip(streams.values(), schemas, keys, strict=True)
        )
    ]
    # The join chooses its own waits; the clock only tracks the progress of all streams.
    clocks = [OneClock((0,), each.idle) for each in streams.values()]
    rights = tuple(
        Plan(each, clock, "divert", (Stage(each.key, everywhere=not each.key, as_read=True),))
        for each, clock in zip(sources[1:], clocks[1:], strict=True)
    )
    first = Stage(sources[0].key, join=Gathering(join, rights, schemas), as_read=True)
    plan = Plan(sources[0], clocks[0], "divert", (first,))
    if not sources[1].key and buckets is None:
        buckets = min(joining.COPIES, partitions(next(iter(streams.values())).df))
    return JoinedStream(tuple(each.df for each in streams.values()), plan, buckets)


@dataclass(frozen=True, slots=True)
class JoinedStream(Readable):
    """One row per result: `time`, and all columns, each prefixed with the name of its stream."""

    def run(
        self, *batches: Iterable[Any], end: Literal["flush", "keep"] = "flush", threads: int = 1
    ) -> LocalRun:
        """Run the join in this process; see `OrderedStream.run`."""
        return Readable.run(self if batches else self._whole(), *batches, end=end, threads=threads)

    def _outputs(
        self, *, alone: bool = False, is_late_read: bool = True, checkpoint: str | None = None
    ) -> DataFrame:
        # Rows of a join travel as they are, whether the late ones are read or not.
        del is_late_read, checkpoint
        plan = (self if self.df.isStreaming else self._whole()).plan
        return query.outputs(self.dfs, plan, self.buckets, alone=alone)

    def _whole(self) -> JoinedStream:
        """Return the stream for rows that are all there, so that no result is missed."""
        (stage,) = self.plan.stages
        if stage.join is None:
            return self
        whole = replace(stage.join, operator=replace(stage.join.operator, is_whole=True))
        return replace(self, plan=self.plan.with_last(replace(stage, join=whole)))
