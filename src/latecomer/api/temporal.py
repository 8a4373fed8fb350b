"""Temporal streams: rows that count for a while, and their operators.

    lc.disordered(df, time="start", end="end")      each row has a lifetime [start, end)
      .sort(wait="5 minutes")
      .join(prices, on="item")                      pairs, while both count
      .group_by("shop").aggregate(n=lc.agg.count()) what was true at each instant
      .to_df()                                      start, end, and the other columns

Thin, like all streams: each operator is documented in its own file, in
`latecomer.operators.temporal`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from latecomer.api.arguments import check_columns, check_names, grouped, read_closing, summarized
from latecomer.api.lifetimes import WithLifetimes, then
from latecomer.api.local_run import LocalRun
from latecomer.api.query import Query
from latecomer.api.readable import Readable
from latecomer.api.rows import Rows
from latecomer.errors import OptionError
from latecomer.hosts.spark.columns import arrow_schema
from latecomer.hosts.spark.sinks import Sink
from latecomer.operators.aggregates.base import Aggregate
from latecomer.operators.aggregates.custom import UserAggregate
from latecomer.operators.temporal.aggregate import SnapshotAggregate
from latecomer.operators.temporal.edges import payload_schema
from latecomer.operators.temporal.lifetimes import Dated
from latecomer.operators.temporal.session import Closing
from latecomer.operators.temporal.session_aggregate import SessionAggregate
from latecomer.operators.temporal.whole import AsEdges, Whole, instants
from latecomer.plan import Plan, placement
from latecomer.time import Duration, Unit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class TemporalStream(Rows, WithLifetimes):
    """Rows that count for a while, with `start`, `end` (null if a row has no end), and more."""

    groups: tuple[str, ...] = ()
    """Columns by which rows are grouped inside `apply`."""

    def temporal(self) -> TemporalStream:
        """Return the stream itself."""
        return self

    def group_by(self, *columns: str) -> GroupedLifetimes:
        """Group rows by columns. Without columns all rows are one group."""
        return GroupedLifetimes(self, self.checked(columns))

    def to_df(
        self,
        *,
        wait: Duration | None = None,
        recall: float | None = None,
        alone: bool = True,
        packed: DataFrame | None = None,
        edges: bool = False,
    ) -> DataFrame:
        """Return the rows with `start` and `end`, each once it is final; see `OrderedStream.to_df`.

        A stream with lifetimes has only one wait or recall, so `wait` and `recall` must be left
        out. With `edges`, a row whose end is not known yet is emitted at once with a null end, and
        again when it ends. The column `edge` is then "start", "end", or "interval" if both are
        known from the start.
        """
        if wait is not None or recall is not None:
            raise OptionError(
                "a stream with lifetimes has only one wait or recall.\n"
                "Hint: leave out wait= and recall=."
            )
        return Readable.to_df(self._complete(edges=edges), alone=alone, packed=packed)

    def start(
        self,
        outputs: Mapping[str, Sink],
        *,
        checkpoint: str,
        trigger: Mapping[str, Any] | None = None,
        name: str | None = None,
        end: Literal["keep", "flush"] = "keep",
        edges: bool = False,
    ) -> Query:
        """Start one query that writes several outputs; see `OrderedStream.start` and `to_df`."""
        stream = self._complete(edges=edges)
        return Readable.start(
            stream, outputs, checkpoint=checkpoint, trigger=trigger, name=name, end=end
        )

    def run(
        self,
        *batches: Iterable[Any],
        end: Literal["flush", "keep"] = "flush",
        edges: bool = False,
        threads: int = 1,
    ) -> LocalRun:
        """Run the stream in this process; see `OrderedStream.run` and `to_df`."""
        return Readable.run(self._complete(edges=edges), *batches, end=end, threads=threads)

    def packed_df(self, *, alone: bool = True, edges: bool = False) -> DataFrame:
        """Return all outputs in one DataFrame; see `OrderedStream.packed_df` and `to_df`."""
        return Readable.packed_df(self._complete(edges=edges), alone=alone)

    def changed(self, plan: Plan, dfs: tuple[DataFrame, ...] | None = None) -> TemporalStream:
        """Return the same stream with another plan."""
        stream = replace(self, plan=plan, dfs=self.dfs if dfs is None else dfs)
        stream.schema()
        return stream

    def schema(self) -> pa.Schema:
        """Return the schema of rows without `start` and `end`; this also checks the plan."""
        schema = payload_schema(self.plan.output_schema(self._columns))
        check_names(schema)
        return schema

    def _verify(self) -> None:
        self.schema()

    def checked(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Return the columns, if they exist and can be compared; refuse others."""
        check_columns(self.schema(), columns)
        return columns

    def known_plan(self) -> Plan:
        """Return the plan with the schema of rows, as a bucket may see the other stream's first."""
        source = replace(self.plan.source, rows=self._columns)
        return replace(self.plan, source=source)

    def dated(self) -> Dated:
        """Return an operator that adds the starts of rows, as the first stream's time column."""
        source = self.plan.source
        time = source.time if source.begin is None else source.begin
        return Dated(time, self._columns.field(time.name).type)

    def _complete(self, *, edges: bool = False) -> TemporalStream:
        return replace(self, plan=self.told(edges=edges))

    def told(self, *, edges: bool = False) -> Plan:
        """Return the plan with the operator that turns beginnings and ends into rows."""
        self.schema()
        told = AsEdges(*_instants(self)) if edges else Whole(*_instants(self))
        return placement.then(self.known_plan(), told)


@dataclass(frozen=True, slots=True)
class GroupedLifetimes:
    """Rows with lifetimes, grouped by key."""

    of: TemporalStream
    keys: tuple[str, ...]

    def aggregate(self, **aggregates: Aggregate | UserAggregate) -> TemporalStream:
        """Return one row for each key and stretch of time in which the same rows count.

        See `latecomer.operators.temporal.aggregate`.

        Args:
            aggregates: The results by name, made with `latecomer.agg`.
        """
        stream, summary = summarized(self.of, self.keys, aggregates)
        return then(stream, SnapshotAggregate(summary))

    def sessions(self, timeout: Duration, max_duration: Duration | None = None) -> GroupedSessions:
        """Group rows of a key that follow each other closely into sessions; see `session`."""
        return GroupedSessions(self.of, self.keys, read_closing(timeout, max_duration))

    def apply(self, query: Callable[[TemporalStream], TemporalStream]) -> TemporalStream:
        """Run a query on the rows of each key separately.

        Args:
            query: A function from a stream to a stream, for example
                `lambda rows: rows.until_next().group_by().aggregate(n=agg.count())`.
        """
        inner = query(replace(self.of, groups=grouped(self.of, self.keys)))
        if not isinstance(inner, TemporalStream):
            raise OptionError(
                f"the function given to apply must return a stream; it returned {inner!r}.\n"
                "Hint: for example lambda rows: rows.until_next()."
            )
        return replace(inner, groups=self.of.groups)


@dataclass(frozen=True, slots=True)
class GroupedSessions:
    """Sessions, grouped by key. Call `aggregate` next."""

    of: TemporalStream
    keys: tuple[str, ...]
    closing: Closing

    def aggregate(self, **aggregates: Aggregate | UserAggregate) -> TemporalStream:
        """Return one row for each session once it has closed: a point in time at its end.

        The column `session` has its start and end. See
        `latecomer.operators.temporal.session_aggregate`.

        Args:
            aggregates: The results by name, made with `latecomer.agg`.
        """
        stream, summary = summarized(self.of, self.keys, aggregates)
        return then(stream, SessionAggregate(summary, self.closing, *_instants(stream)))


def _instants(stream: TemporalStream) -> tuple[pa.DataType, Unit | None]:
    """Return the type and the unit in which times are written."""
    time = stream.plan.source.time
    return instants(arrow_schema(stream.df).field(time.name).type, time.unit)
