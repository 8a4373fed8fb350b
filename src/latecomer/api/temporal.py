"""Temporal streams: rows that count for a while, and what can be asked of them.

    lc.disordered(df, time="start", end="end")      each row has a lifetime [start, end)
      .sort(wait="5 minutes")
      .join(prices, on="item")                      pairs, while both count
      .group_by("shop").aggregate(n=lc.agg.count()) what was true at each instant
      .to_df()                                      start, end, and the other columns

Thin, as all streams are: what an operator does is told in its own file, in
`latecomer.operators.temporal`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from latecomer.api.arguments import (
    check_columns,
    check_key_types,
    check_meeting,
    check_names,
    length,
    read_closing,
    read_on,
    signed,
    summarized,
)
from latecomer.api.readable import Readable
from latecomer.errors import OptionError, OrderError
from latecomer.operators.temporal.aggregate import SnapshotAggregate
from latecomer.operators.temporal.alter import Alter, Quantize, Shift
from latecomer.operators.temporal.binary import On
from latecomer.operators.temporal.chop import Chop
from latecomer.operators.temporal.clip import Clip, ClipBy, UntilNext
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.temporal.edges import payload_schema
from latecomer.operators.temporal.extend import Extend
from latecomer.operators.temporal.join import How, Join
from latecomer.operators.temporal.lifetimes import POINT
from latecomer.operators.temporal.point_at_end import PointAtEnd
from latecomer.operators.temporal.session import Closing, Session
from latecomer.operators.temporal.session_aggregate import SessionAggregate
from latecomer.operators.temporal.stitch import Stitch
from latecomer.operators.temporal.union import Union
from latecomer.operators.temporal.whole import AsEdges, Whole, instants
from latecomer.plan import placement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

    from latecomer.api.arguments import Key
    from latecomer.hosts.spark.sinks import Sink
    from latecomer.operators.aggregates.base import Aggregate
    from latecomer.operators.aggregates.custom import UserAggregate
    from latecomer.operators.temporal.binary import Binary
    from latecomer.operators.temporal.specification import Temporal
    from latecomer.plan import Plan
    from latecomer.time import Duration, Unit


class WithLifetimes:
    """What can be asked of rows that have lifetimes."""

    __slots__ = ()

    @abstractmethod
    def temporal(self) -> TemporalStream:
        """See the stream as one of lifetimes."""

    def alter(self, *, duration: Duration | None) -> TemporalStream:
        """Let each row count for `duration` from its start on; None is for ever."""
        return _then(self, Alter(None if duration is None else length(duration, "duration")))

    def extend(self, by: Duration) -> TemporalStream:
        """Move all ends: later, or with "-5 minutes" earlier. What is left of nothing is gone."""
        return _then(self, Extend(signed(by, "by")))

    def shift(self, by: Duration) -> TemporalStream:
        """Move lifetimes: to later, or with "-5 minutes" to earlier."""
        return _then(self, Shift(signed(by, "by")))

    def quantize(
        self, size: Duration, hop: Duration | None = None, *, origin: Duration = "0 seconds"
    ) -> TemporalStream:
        """Let rows count in all windows that they touch: one of `size` begins every `hop`."""
        long = length(size, "size")
        every = long if hop is None else length(hop, "hop")
        return _then(self, Quantize(long, every, signed(origin, "origin")))

    def chop(self, period: Duration, *, origin: Duration = "0 seconds") -> TemporalStream:
        """Cut lifetimes at the multiples of `period`."""
        return _then(self, Chop(length(period, "period"), signed(origin, "origin")))

    def stitch(self) -> TemporalStream:
        """Put rows together that are equal and follow each other without a gap."""
        stream = self.temporal()
        stream.checked(tuple(stream.schema().names))
        return _then(self, Stitch())

    def point_at_end(self) -> TemporalStream:
        """Let each row count at its end only."""
        return _then(self, PointAtEnd())

    def until_next(self, *key: str) -> TemporalStream:
        """Let each row count until the next of its key begins, whatever its end was: a signal."""
        stream = self.alter(duration=None)
        keys = dict.fromkeys((*stream.groups, *stream.checked(key)))
        return _then(stream, UntilNext(tuple(keys)))

    def session(
        self, timeout: Duration, *key: str, max_duration: Duration | None = None
    ) -> TemporalStream:
        """Let each row count until the session of its key ends, whatever its end was.

        How: `latecomer.operators.temporal.session`. For one answer per session, see
        `GroupedLifetimes.sessions`.

        Args:
            timeout: A session ends so long after its last row.
            key: The columns in which rows of a session are equal.
            max_duration: Cut sessions that last longer, at a multiple of this; see there.
        """
        stream = self.temporal()
        keys = dict.fromkeys((*stream.groups, *stream.checked(key)))
        return _then(stream, Session(tuple(keys), read_closing(timeout, max_duration)))

    def clip(self, by: Duration | WithLifetimes, *, on: Key = None) -> TemporalStream:
        """Cut lifetimes short.

        Args:
            by: After so long, or when a row of this stream begins.
            on: The columns in which that row must be equal; see `join`.
        """
        if isinstance(by, WithLifetimes):
            return _meet(self, by, on, ClipBy)
        if on is not None:
            raise OptionError("on= is for a stream that cuts; a limit cuts all rows.")
        return _then(self, Clip(length(by, "by")))

    def union(self, other: WithLifetimes) -> TemporalStream:
        """All rows of both streams, which must have the same columns."""
        return _meet(self, other, None, lambda _: Union())

    def join(
        self,
        other: WithLifetimes,
        *,
        on: Key = None,
        where: Callable[[Any, Any], bool] | None = None,
        broadcast: bool = False,
    ) -> TemporalStream:
        """Pairs of rows, while both count.

        Args:
            other: The other stream.
            on: The column or columns in which rows must be equal, or a dictionary from ours to
                theirs. Without it all rows are partners.
            where: What must be true of two rows; see `latecomer.operators.temporal.conditions`.
            broadcast: The other stream is small: send all of it everywhere, and leave our rows in
                the buckets where they are.

        Raises:
            OrderError: The other stream is not ordered.
            ColumnNameError: Both have a column of the same name, which is not in `on`.
        """
        return _join(self, other, _Partners(on, where, broadcast), "inner")

    def left_join(
        self,
        other: WithLifetimes,
        *,
        on: Key = None,
        where: Callable[[Any, Any], bool] | None = None,
        broadcast: bool = False,
    ) -> TemporalStream:
        """As `join`; and our rows with nulls, while they have no partner."""
        return _join(self, other, _Partners(on, where, broadcast), "left")

    def full_join(
        self,
        other: WithLifetimes,
        *,
        on: Key = None,
        where: Callable[[Any, Any], bool] | None = None,
    ) -> TemporalStream:
        """As `join`; and the rows of both sides with nulls, while they have no partner."""
        return _join(self, other, _Partners(on, where), "full")

    def anti_join(
        self,
        other: WithLifetimes,
        *,
        on: Key = None,
        where: Callable[[Any, Any], bool] | None = None,
        broadcast: bool = False,
    ) -> TemporalStream:
        """Our rows, while they have no partner."""
        return _join(self, other, _Partners(on, where, broadcast), "anti")

    def asof_join(
        self, other: WithLifetimes, *, on: Key = None, tolerance: Duration | None = None
    ) -> TemporalStream:
        """Each of our rows, as a point in time, with the last of theirs that began by then.

        When theirs end does not matter. Of several that began together, all are the last.

        Args:
            other: The other stream.
            on: See `join`.
            tolerance: Leave out theirs that began longer ago than this.
        """
        groups = self.temporal().groups
        signal = _ordered(other).until_next(*dict.fromkeys((*groups, *read_on(on).right)))
        if tolerance is not None:
            # One that began just so long ago still counts.
            signal = _then(signal, Clip(length(tolerance, "tolerance") + POINT))
        return _join(_then(self, Alter(POINT)), signal, _Partners(on), "inner")


@dataclass(frozen=True, slots=True)
class TemporalStream(Readable, WithLifetimes):
    """Rows that count for a while: columns `start` and `end` (null: it has not ended), and more."""

    groups: tuple[str, ...] = ()
    """Inside `apply`: what rows are grouped by."""

    def temporal(self) -> TemporalStream:
        """It is one already."""
        return self

    def group_by(self, *columns: str) -> GroupedLifetimes:
        """Group rows by columns; no columns group all rows."""
        return GroupedLifetimes(self, self.checked(columns))

    def to_df(
        self, *, wait: Duration | None = None, recall: float | None = None, edges: bool = False
    ) -> DataFrame:
        """Get the rows with `start` and `end`, each once it is final.

        Args:
            wait: Not for streams with lifetimes, which have one wait.
            recall: Nor is this; there is one recall, if any.
            edges: Do not keep back rows whose end is not known. They come at once, without it, and
                again when they end; a column `edge` says "start", "end", or "interval" if both
                are known from the start.
        """
        if wait is not None or recall is not None:
            raise OptionError("a stream with lifetimes has one wait or recall; leave it out.")
        stream = replace(self, plan=self.told(edges=edges))
        return Readable.to_df(stream)

    def start(
        self,
        outputs: Mapping[str, Sink],
        *,
        checkpoint: str,
        trigger: Mapping[str, Any] | None = None,
        name: str | None = None,
        end: Literal["keep", "flush"] = "keep",
        edges: bool = False,
    ) -> StreamingQuery:
        """Start one query that writes several outputs; see `OrderedStream.start` and `to_df`."""
        stream = replace(self, plan=self.told(edges=edges))
        return Readable.start(
            stream, outputs, checkpoint=checkpoint, trigger=trigger, name=name, end=end
        )

    def late_df(self, of: int = 0) -> DataFrame:
        """Get the late rows of one of the streams that meet here."""
        return Readable.late_df(replace(self, plan=self.told()), of)

    def recall_df(self) -> DataFrame:
        """Get what the stream tells of its recall."""
        return Readable.recall_df(replace(self, plan=self.told()))

    def explain(self) -> str:
        """Tell what runs where, and why."""
        from latecomer.hosts.spark.columns import arrow_schema
        from latecomer.plan.explain import explained

        return explained(self.told(), arrow_schema(self.df))

    def changed(self, plan: Plan, dfs: tuple[DataFrame, ...] | None = None) -> TemporalStream:
        """Ask for something else."""
        stream = replace(self, plan=plan, dfs=self.dfs if dfs is None else dfs)
        stream.schema()
        return stream

    def schema(self) -> pa.Schema:
        """Say what rows look like, `start` and `end` left out; this checks the plan."""
        from latecomer.hosts.spark.columns import arrow_schema

        schema = payload_schema(self.plan.output_schema(arrow_schema(self.df)))
        check_names(schema)
        return schema

    def checked(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Take columns that are there and can be compared; refuse any other."""
        check_columns(self.schema(), columns)
        return columns

    def known_plan(self) -> Plan:
        """The plan, with what rows look like: a bucket may see those of the other stream first."""
        from latecomer.hosts.spark.columns import arrow_schema

        source = replace(self.plan.source, rows=arrow_schema(self.df))
        return replace(self.plan, source=source)

    def told(self, *, edges: bool = False) -> Plan:
        """The plan, with what makes rows of begins and ends."""
        self.schema()
        told = AsEdges(*_instants(self)) if edges else Whole(*_instants(self))
        return placement.then(self.known_plan(), told)


@dataclass(frozen=True, slots=True)
class GroupedLifetimes:
    """Rows with lifetimes, by key."""

    of: TemporalStream
    keys: tuple[str, ...]

    def aggregate(self, **aggregates: Aggregate | UserAggregate) -> TemporalStream:
        """Give one row for each key and stretch of time in which the same rows count.

        How: `latecomer.operators.temporal.aggregate`.

        Args:
            aggregates: The name of each result, and what it is, made with `latecomer.agg`.
        """
        stream, summary = summarized(self.of, self.keys, aggregates)
        return _then(stream, SnapshotAggregate(summary))

    def sessions(self, timeout: Duration, max_duration: Duration | None = None) -> GroupedSessions:
        """Put rows of a key together that come soon after each other; see `session`."""
        return GroupedSessions(self.of, self.keys, read_closing(timeout, max_duration))

    def apply(self, query: Callable[[TemporalStream], TemporalStream]) -> TemporalStream:
        """Run a query for each key: what it asks is asked of the rows of one key at a time.

        Args:
            query: From a stream to a stream, for example
                `lambda rows: rows.until_next().group_by().aggregate(n=agg.count())`.
        """
        groups = tuple(dict.fromkeys((*self.of.groups, *self.keys)))
        inner = query(replace(self.of, groups=groups))
        if not isinstance(inner, TemporalStream):
            message = (
                f"apply needs a query that gives back a stream; got {inner!r}.\n"
                "Hint: for example lambda rows: rows.until_next()."
            )
            raise OptionError(message)
        return replace(inner, groups=self.of.groups)


@dataclass(frozen=True, slots=True)
class GroupedSessions:
    """Sessions, by key; to be aggregated."""

    of: TemporalStream
    keys: tuple[str, ...]
    closing: Closing

    def aggregate(self, **aggregates: Aggregate | UserAggregate) -> TemporalStream:
        """Give one row for each session, once it is closed: a point in time, at its end.

        The column `session` says when it started and ended. How:
        `latecomer.operators.temporal.session_aggregate`.

        Args:
            aggregates: The name of each result, and what it is, made with `latecomer.agg`.
        """
        stream, summary = summarized(self.of, self.keys, aggregates)
        return _then(stream, SessionAggregate(summary, self.closing, *_instants(stream)))


def _instants(stream: TemporalStream) -> tuple[pa.DataType, Unit | None]:
    """Say how times are written."""
    from latecomer.hosts.spark.columns import arrow_schema

    time = stream.plan.source.time
    return instants(arrow_schema(stream.df).field(time.name).type, time.unit)


def _then(stream: WithLifetimes, operator: Temporal) -> TemporalStream:
    known = stream.temporal()
    return known.changed(placement.then(known.plan, operator))


@dataclass(frozen=True, slots=True)
class _Partners:
    """Which rows are partners, and how they find each other."""

    on: Key
    where: Callable[[Any, Any], bool] | None = None
    broadcast: bool = False


def _join(
    stream: WithLifetimes, other: WithLifetimes, partners: _Partners, how: How
) -> TemporalStream:
    condition = None if partners.where is None else Condition(partners.where)
    broadcast = partners.broadcast
    return _meet(
        stream, other, partners.on, lambda on: Join(on, how, condition, broadcast=broadcast)
    )


def _meet(
    stream: WithLifetimes, other: WithLifetimes, on: Key, operator: Callable[[On], Binary]
) -> TemporalStream:
    from latecomer.hosts.spark.columns import arrow_schema

    left, right = stream.temporal(), _ordered(other).temporal()
    check_meeting(left, right)
    keys = read_on(on)
    pairs = dict.fromkeys(zip(left.groups, left.groups, strict=True))
    pairs |= dict.fromkeys(zip(keys.left, keys.right, strict=True))
    keys = On(tuple(one for one, _ in pairs), tuple(other_one for _, other_one in pairs))
    left.checked(keys.left)
    right.checked(keys.right)
    check_key_types(left.schema(), right.schema(), keys)
    plan = placement.meet(left.plan, operator(keys), right.known_plan(), arrow_schema(right.df))
    return left.changed(plan, (*left.dfs, *right.dfs))


def _ordered(other: WithLifetimes) -> WithLifetimes:
    if not isinstance(other, WithLifetimes):
        message = (
            f"two streams meet in order; got a {type(other).__name__}.\n"
            'Hint: sort it first, for example with sort(wait="5 seconds").'
        )
        raise OrderError(message)
    return other
