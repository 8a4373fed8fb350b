"""Operators for rows that have lifetimes; thin.

Each operator is documented in its own file, in `latecomer.operators.temporal`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from latecomer.api.arguments import (
    TAKEN,
    check_key_types,
    check_meeting,
    grouped,
    length,
    read_closing,
    read_on,
    signed,
)
from latecomer.errors import OptionError, OrderError
from latecomer.hosts.spark.columns import arrow_schema
from latecomer.operators.temporal.alter import Alter, PointAtEnd, Quantize, Shift
from latecomer.operators.temporal.binary import Binary, On
from latecomer.operators.temporal.chop import Chop
from latecomer.operators.temporal.clip import Clip, ClipBy, UntilNext
from latecomer.operators.temporal.compiling import check_arguments
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.temporal.extend import Extend
from latecomer.operators.temporal.join import How, Join
from latecomer.operators.temporal.lifetimes import POINT
from latecomer.operators.temporal.session import Session
from latecomer.operators.temporal.specification import Temporal
from latecomer.operators.temporal.stitch import Stitch
from latecomer.operators.temporal.union import Union
from latecomer.plan import placement
from latecomer.time import Duration

if TYPE_CHECKING:
    from latecomer.api.arguments import Key
    from latecomer.api.temporal import TemporalStream


class WithLifetimes:
    """Operators for rows that have lifetimes."""

    __slots__ = ()

    @abstractmethod
    def temporal(self) -> TemporalStream:
        """Return the stream as rows with lifetimes."""

    def alter(self, *, duration: Duration | None) -> TemporalStream:
        """Let each row count for `duration` from its start; None means without end."""
        return then(self, Alter(None if duration is None else length(duration, "duration")))

    def extend(self, by: Duration) -> TemporalStream:
        """Move all ends later, or with "-5 minutes" earlier; rows that become empty are removed."""
        return then(self, Extend(signed(by, "by")))

    def shift(self, by: Duration) -> TemporalStream:
        """Move lifetimes later, or with "-5 minutes" earlier."""
        return then(self, Shift(signed(by, "by")))

    def quantize(
        self, size: Duration, hop: Duration | None = None, *, origin: Duration = "0 seconds"
    ) -> TemporalStream:
        """Round lifetimes to whole windows of `size`, one of which begins every `hop`.

        Without a hop a row counts in all windows that it touches. With a hop windows overlap: the
        points in time that count in the last `hop` of a window are those that lie in the window,
        if the size is a multiple of the hop. For rows that last longer see
        `latecomer.operators.temporal.alter`.
        """
        long = length(size, "size")
        every = long if hop is None else length(hop, "hop")
        return then(self, Quantize(long, every, signed(origin, "origin")))

    def chop(self, period: Duration, *, origin: Duration = "0 seconds") -> TemporalStream:
        """Cut lifetimes at the multiples of `period`."""
        return then(self, Chop(length(period, "period"), signed(origin, "origin")))

    def stitch(self, *key: str, equal: Callable[[Any, Any], bool] | None = None) -> TemporalStream:
        """Join rows that are equal and follow each other without a gap into one row.

        See `latecomer.operators.temporal.stitch`.

        Args:
            key: The columns to compare; by default all, unless `equal` is given.
            equal: A Python function of two rows, the first of the joined rows and the next one; it
                returns whether they belong together. See
                `latecomer.operators.temporal.conditions`.
        """
        stream = self.temporal()
        if equal is not None:
            check_arguments(equal, ("before", "after"))
        if not key and equal is None:
            stream.checked(tuple(stream.schema().names))
            return then(self, Stitch())
        keys = grouped(stream, stream.checked(key))
        return then(self, Stitch(keys, None if equal is None else Condition(equal)))

    def point_at_end(self) -> TemporalStream:
        """Replace each row by a point in time at its end."""
        return then(self, PointAtEnd())

    def until_next(self, *key: str) -> TemporalStream:
        """Let each row count until the next row of its key begins, whatever its end was."""
        stream = self.alter(duration=None)
        return then(stream, UntilNext(grouped(stream, stream.checked(key))))

    def session(
        self, timeout: Duration, *key: str, max_duration: Duration | None = None
    ) -> TemporalStream:
        """Let each row count until the session of its key ends, whatever its end was.

        See `latecomer.operators.temporal.session`. For one answer per session, see
        `GroupedLifetimes.sessions`.

        Args:
            timeout: The time after its last row at which a session ends.
            key: The columns in which rows of a session are equal.
            max_duration: Cut longer sessions at a multiple of this duration.
        """
        stream = self.temporal()
        keys = grouped(stream, stream.checked(key))
        return then(stream, Session(keys, read_closing(timeout, max_duration)))

    def clip(self, by: Duration | WithLifetimes, *, on: Key = None) -> TemporalStream:
        """Cut lifetimes short.

        Args:
            by: A duration after which rows end, or a stream whose rows end them.
            on: The columns in which the two rows must be equal; see `join`.
        """
        if isinstance(by, WithLifetimes):
            return _meet(self, by, on, ClipBy)
        if on is not None:
            raise OptionError(
                "on= needs a stream that cuts rows; a duration cuts all of them alike.\n"
                "Hint: leave out on=."
            )
        return then(self, Clip(length(by, "by")))

    def union(self, other: WithLifetimes) -> TemporalStream:
        """Return all rows of both streams, which must have the same columns."""
        return _meet(self, other, None, lambda _: Union())

    def join(
        self,
        other: WithLifetimes,
        *,
        on: Key = None,
        where: Callable[[Any, Any], bool] | None = None,
        broadcast: bool = False,
    ) -> TemporalStream:
        """Return pairs of rows, for as long as both count.

        Args:
            other: The other stream.
            on: The column or columns in which rows must be equal, or a dictionary from the names of
                this stream to those of the other. Without it all rows are partners.
            where: A Python function of two rows that returns whether they are partners; see
                `latecomer.operators.temporal.conditions`.
            broadcast: Whether to send the other stream to all buckets, so that the rows of this
                stream do not have to move. Use it if the other stream is small.

        Raises:
            OrderError: The other stream is not ordered.
            ColumnNameError: Both have a column of the same name, which is not in `on`.
        """
        return _join(self, other, "inner", on, where, broadcast=broadcast)

    def left_join(
        self,
        other: WithLifetimes,
        *,
        on: Key = None,
        where: Callable[[Any, Any], bool] | None = None,
        broadcast: bool = False,
    ) -> TemporalStream:
        """Also return rows of this stream, with nulls, while they have no partner; see `join`."""
        return _join(self, other, "left", on, where, broadcast=broadcast)

    def full_join(
        self,
        other: WithLifetimes,
        *,
        on: Key = None,
        where: Callable[[Any, Any], bool] | None = None,
    ) -> TemporalStream:
        """Also return rows of both streams, with nulls, while they have no partner; see `join`."""
        return _join(self, other, "full", on, where)

    def anti_join(
        self,
        other: WithLifetimes,
        *,
        on: Key = None,
        where: Callable[[Any, Any], bool] | None = None,
        broadcast: bool = False,
    ) -> TemporalStream:
        """Return the rows of this stream, for as long as they have no partner."""
        return _join(self, other, "anti", on, where, broadcast=broadcast)

    def asof_join(
        self, other: WithLifetimes, *, on: Key = None, tolerance: Duration | None = None
    ) -> TemporalStream:
        """Return each row, as a point in time, with the last row of `other` that began by then.

        The end of the other row does not matter. If several began at the same time, all of them
        are returned. The time column keeps its name, beside `start` and `end`.

        Args:
            other: The other stream.
            on: See `join`.
            tolerance: Ignore rows of `other` that began longer ago than this.
        """
        ours = self.temporal()
        signal = _ordered(other).until_next(*grouped(ours, read_on(on).right))
        if tolerance is not None:
            # A row that began exactly `tolerance` ago still counts.
            signal = then(signal, Clip(length(tolerance, "tolerance") + POINT))
        points = then(ours, Alter(POINT))
        dated = ours.dated()
        is_named = dated.time.name.lower() in (*TAKEN, *map(str.lower, ours.schema().names))
        return _join(points if is_named else then(points, dated), signal, "inner", on)


def then(stream: WithLifetimes, operator: Temporal) -> TemporalStream:
    """Return a stream with an operator added at the end."""
    known = stream.temporal()
    return known.changed(placement.then(known.plan, operator))


def _join(
    stream: WithLifetimes,
    other: WithLifetimes,
    how: How,
    on: Key,
    where: Callable[[Any, Any], bool] | None = None,
    *,
    broadcast: bool = False,
) -> TemporalStream:
    condition = None if where is None else Condition(where)
    return _meet(stream, other, on, lambda on: Join(on, how, condition, broadcast=broadcast))


def _meet(
    stream: WithLifetimes, other: WithLifetimes, on: Key, operator: Callable[[On], Binary]
) -> TemporalStream:
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
        raise OrderError(
            f"both streams must be sorted; got a {type(other).__name__}.\n"
            'Hint: sort it first, for example with sort(wait="5 seconds").'
        )
    return other
