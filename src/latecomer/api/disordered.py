"""Streams, as users write them: thin, because each operator is documented in its own file.

    lc.disordered(df, time="departed", key="origin")   DisorderedStream: where, select, with_columns
      .where("carrier = 'UA'")                         run by Spark, before the sort
      .sort(wait="6 hours")                            OrderedStream: in time order from here on
      .to_df()                                         a DataFrame again, streaming if `df` was

    lc.disordered(df, time="departed")
      .tumbling("1 hour")                              DisorderedWindows (`api.windowed`)
      .wait(["5 minutes", "6 hours"])                  WindowedStream: answers after each wait
      .group_by("origin").aggregate(n=lc.agg.count())  AggregatedStream

Only an `OrderedStream` offers what depends on order, so a type checker knows the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, cast

from latecomer.api.arguments import check_choice
from latecomer.api.optimistic import OptimisticStream
from latecomer.api.ordered import OrderedStream
from latecomer.api.readable import check_answer_names
from latecomer.api.unordered import Unordered
from latecomer.api.waiting import check_buckets, read_recalls, read_waits, read_within
from latecomer.api.windowed import DisorderedWindows
from latecomer.clock.policy import OneClock
from latecomer.errors import OptionError
from latecomer.hosts.spark.checks import check_source, usual_ahead
from latecomer.hosts.spark.declared import declared
from latecomer.hosts.spark.local_frame import LocalFrame, is_local
from latecomer.hosts.spark.outputs import ready_schema
from latecomer.hosts.spark.profile.live import profiled
from latecomer.operators.base import Operator
from latecomer.operators.in_order import InOrder
from latecomer.operators.levels import Levels
from latecomer.operators.optimistic.enter import Enter
from latecomer.operators.sort import Sort
from latecomer.operators.windows.grid import Lifetime, Windows
from latecomer.plan import LATE_POLICIES, LatePolicy, Plan, Source, Stage
from latecomer.time import Duration, TimeColumn, Unit, check_unit, duration_text, parse_duration

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType


PROFILED_WAITS = ("0 seconds", "1 second", "10 seconds", "1 minute", "10 minutes", "1 hour")


def disordered(
    df: DataFrame | Any,  # noqa: ANN401 - any frame
    *,
    time: str,
    key: str | Sequence[str] | None = None,
    end: str | None = None,
    edges: bool = False,
    arrival: str | None = None,
    ahead: Duration | None = "auto",
    unit: Unit | None = None,
    clock: str | Sequence[str] | None = None,
    idle: Duration | None = None,
    sources: str | Sequence[str] | None = None,
    promise: str | Column | None = None,
    before_1970: bool = False,
    redact: bool = False,
    held_limit: int | None = None,
    schema: str | StructType | None = None,
    streaming: bool | None = None,
) -> DisorderedStream:
    """Begin a stream with a DataFrame, streaming or batch, whose rows may be in any order.

    Args:
        df: Any DataFrame of Spark. Without Spark, an Arrow table, a frame of pandas or Polars, or
            the Arrow schema of the rows; run such a stream with `run()`, and use Arrow expressions
            instead of Spark SQL (`latecomer.api.local_run`).
        time: The time column: a timestamp, a date, or an integer.
        key: The column or columns whose rows belong together. Rows of one key stay together in
            one bucket; without a key the whole stream is one bucket.
        end: The column with the end of a row's lifetime; null if it has no end. Without this
            column a row is a point in time, unless `alter` gives it a duration.
        edges: Whether beginnings and ends are separate rows. A row without an end begins
            something; a row with an end ends what began at its time and is equal in all other
            columns.
        arrival: The column with the arrival of a row. Within a micro-batch, rows of equal time are
            in order of arrival; without this column, in the order in which Spark reads them.
        ahead: Rows further ahead of their arrival than this are taken to have a wrong clock. They
            do not move the clock, and come out as late rows with the reason "ahead". Without
            `arrival` the wall clock is used. With "auto" the bound is a day for timestamps and
            dates of a stream, and there is none for integers and batch DataFrames. None removes
            the bound.
        clock: The column or columns whose values each have a clock of their own, so that no device
            makes another one late; "key" stands for the columns in `key`. Everything that follows
            must be grouped by them. See `latecomer.hosts.clocks.per_key`.
        idle: The time, by the wall clock, without a newer row after which the clock advances by
            itself and held rows are emitted (`latecomer.clock.silence`). With `clock`, this is
            measured for each key (`latecomer.hosts.clocks.per_key`).
        sources: The column or columns that name the source of a row, such as the partition of a
            Kafka topic. The slowest source then sets the clock; a source that is silent for `idle`
            is left out. Nothing has to be grouped by them. See `latecomer.clock.source_clocks`.
        promise: A boolean column or expression that is true for a row if nothing earlier will
            follow: from its source, from its key if there is `clock`, or otherwise from the whole
            stream. From the next micro-batch on the watermark is at least at that row, whatever the
            wait.
        before_1970: Whether the stream may have times before 1970. Spark's clock begins there, so
            the clock of such a stream shows 2,000 years more. Without this, such rows end the query
            with an error (`hosts.spark.spark_clock`). Batch DataFrames do not need it.
        redact: Whether errors leave out the rows that they are about.
        held_limit: The largest number of rows, or states, that a stage may hold in one bucket.
            Beyond it the query ends with a `HeldLimitError` instead of running out of memory. By
            default there is no limit; `docs/checkpoints.md` lists what can grow.
        schema: The columns of the DataFrame, for the functions of a declarative pipeline, where
            Spark must not be asked for them. For example "time timestamp, key string"; nested types
            take a `StructType`. See `latecomer.hosts.spark.declared`.
        streaming: Whether the DataFrame is streaming; needed with `schema`, and only then.
        unit: Unit of an integer `time` or `arrival` column: "s", "ms", "us" or "ns".

    Raises:
        ColumnNotFoundError: The DataFrame has no such column.
        ColumnTypeError: The time column is not a time, or the key is nested.
        ColumnNameError: A column has a name that Latecomer uses for its own columns.
    """
    local = is_local(df)
    df = cast("DataFrame", LocalFrame.of(df)) if local else declared(df, schema, streaming)
    check_unit(unit)
    if edges and end is None:
        raise OptionError(
            "edges=True needs the column with the ends of lifetimes, and end= is missing.\n"
            'Hint: disordered(df, time="start", end="end", edges=True).'
        )
    if held_limit is not None and held_limit < 1:
        raise OptionError(f"held_limit must be a number of rows, 1 or more; got {held_limit!r}.")
    keys = (key,) if isinstance(key, str) else tuple(key or ())
    source = Source(
        time=TimeColumn(time, unit),
        key=keys,
        arrival=TimeColumn(arrival, unit) if arrival is not None else None,
        end=TimeColumn(end, unit) if end is not None else None,
        begin=TimeColumn(time, unit) if edges else None,
        ahead=parse_duration(ahead, "ahead") if ahead not in (None, "auto") else None,
        before_1970=before_1970,
        redact=redact,
        held_limit=held_limit,
    )
    columns = _clock_columns(clock, keys)
    origins = (sources,) if isinstance(sources, str) else tuple(sources or ())
    if columns and origins:
        raise OptionError(
            "clock= and sources= cannot be combined: sources= needs one clock for all keys.\n"
            "Hint: leave out clock= or sources=."
        )
    check_source(df, source, (*columns, *origins))
    if ahead == "auto":
        source = replace(source, ahead=usual_ahead(df, source))
    silence = parse_duration(idle, "idle") if idle is not None else None
    return DisorderedStream(df, source, columns, silence, origins, promise)


def _clock_columns(clock: str | Sequence[str] | None, key: tuple[str, ...]) -> tuple[str, ...]:
    if clock == "key":
        if not key:
            raise OptionError(
                'clock="key" needs a key, and the stream has none.\n'
                'Hint: name one with disordered(df, key="...").'
            )
        return key
    return (clock,) if isinstance(clock, str) else tuple(clock or ())


@dataclass(frozen=True, slots=True)
class DisorderedStream(Unordered):
    """Rows in order of arrival, with the operations that do not depend on order."""

    def tumbling(
        self, size: Duration, *, origin: Duration = "0 seconds", zone: str | None = None
    ) -> DisorderedWindows:
        """Put rows into windows that follow each other. See `latecomer.operators.windows.grid`.

        Args:
            size: The length of a window.
            origin: How far windows are shifted from 1970, as with Spark's `startTime`.
            zone: For windows of whole days, the time zone in which days begin at midnight. The
                default is UTC, as with Spark's `window`.

        Raises:
            DurationError: A duration is unreadable.
            OptionError: The windows have no length, or do not support a zone.
        """
        return self.hopping(size, size, origin=origin, zone=zone)

    def hopping(
        self,
        size: Duration,
        hop: Duration,
        *,
        origin: Duration = "0 seconds",
        zone: str | None = None,
    ) -> DisorderedWindows:
        """Put rows into windows that overlap: one starts every `hop`; see `tumbling`."""
        windows = Windows(
            parse_duration(size, "size"),
            parse_duration(hop, "hop"),
            parse_duration(origin, "origin"),
            zone,
        )
        return self._windowed(windows)

    def lifetime(self, duration: Duration) -> DisorderedWindows:
        """Let each row count for `duration` from its time: a window that slides with time.

        There is one answer for each stretch of time in which the same rows count.
        See `latecomer.operators.windows.sliding`.

        Raises:
            DurationError: The duration is unreadable.
            OptionError: It is zero.
        """
        return self._windowed(Lifetime(parse_duration(duration, "duration")))

    def sort(
        self,
        *,
        wait: Duration | Sequence[Duration] | None = None,
        recall: float | Sequence[float] | None = None,
        within: Duration | None = None,
        late: LatePolicy = "divert",
        buckets: int | None = None,
        presorted: bool = False,
    ) -> OrderedStream:
        """Put the rows in time order. See `latecomer.operators.sort`.

        Args:
            wait: How long to wait for late rows, for example "10 minutes". A row is late if an
                earlier micro-batch had a row that is more than this ahead of it. With a list of
                waits, rows come out once after each wait; the longest wait decides what is late.
            recall: Instead of a wait, the share of the rows that should be in time, for example
                0.999. The query uses the shortest wait that keeps it, chosen in each micro-batch
                from recent delays, separately in each bucket (`hosts.clocks.by_recall`). With a
                list of recalls, rows come out once for each. `recall_df()` reports the result.
            within: With a recall, the length of the periods that should each have the recall, for
                example "1 hour". By default the recall holds in the long run. It makes the wait
                longer (`latecomer.waits.reserve`).
            late: What happens to late rows. With "divert" they go to `late_df()`, with "drop" they
                are counted, with "adjust" their time is moved up to the watermark and kept in
                `_original_time`, and with "raise" the query fails. Rows without a time, or too far
                ahead, always go to `late_df()`, unless late is "raise".
            buckets: Number of buckets for the keys; by default the session's number of shuffle
                partitions. It cannot change during the life of a checkpoint.
            presorted: Whether rows are already in order of time, within each partition and between
                micro-batches. Then nothing is sorted or held. This is checked: a row out of order
                ends the query with an `OrderError`.

        Raises:
            DurationError: The wait is missing, negative or unreadable.
            OptionError: The late policy is unknown, or the recall is not a share, or cannot be
                combined with another option.
            ColumnNameError: With several waits or recalls, a column has the name of one that
                distinguishes them.
        """
        recalls = read_recalls(recall, wait, self.clock)
        has_clock = bool(self.clock or self.sources) or self.idle is not None
        has_clock |= self.promise is not None
        if presorted and (wait is not None or recall is not None or has_clock):
            raise OptionError(
                "presorted=True cannot be combined with a wait, a recall, clock=, sources=, "
                "promise= or idle=.\n"
                "Hint: use sort(presorted=True) by itself, or sort(wait=...)."
            )
        waits = {} if recalls else read_waits("0 seconds" if presorted else wait)
        check_choice("late", late, LATE_POLICIES)
        check_buckets(buckets, has_key=bool(self.source.key or self.clock))
        df, plan = self._planned(waits, recalls, read_within(within, recalls), late)
        time = plan.source.time
        levels = Levels(time, tuple(waits), texts=plan.clock.wait_texts)
        operator: Operator = levels if len(waits) > 1 else Sort(time)
        if presorted:
            operator = InOrder(time)
        plan = plan.with_last(Stage(plan.stages[0].key, (operator,)))
        check_answer_names(ready_schema(df, plan).names)
        return OrderedStream((df,), plan, buckets)

    def optimistic(
        self,
        *,
        wait: Duration | None = None,
        late: LatePolicy = "divert",
        buckets: int | None = None,
    ) -> OptimisticStream:
        """Compute with rows as they arrive, and correct results when a late row comes.

        There is no buffer before any step. See `latecomer.operators.optimistic.items`.

        Args:
            wait: How long to wait for late rows, for example "10 minutes". It can also be given to
                `barrier` or `changelog`. Results further behind the newest row are final.
            late: What happens to later rows: "divert", "drop" or "raise", as for `sort`.
            buckets: Number of buckets for the keys, as for `sort`.

        Raises:
            DurationError: The wait is negative or unreadable.
            OptionError: The late policy is unknown; or the stream has beginnings and ends as
                separate rows, or a clock for each key.
        """
        if self.source.begin is not None or self.clock or self.sources or self.promise is not None:
            raise OptionError(
                "optimistic() does not support edges=, clock=, sources= and promise=.\n"
                "Hint: leave them out in disordered()."
            )
        check_choice("late", late, ("divert", "drop", "raise"))
        check_buckets(buckets)
        waits = () if wait is None else (parse_duration(wait, "wait"),)
        source = self.source
        stage = Stage(source.key, (Enter(source.time, source.key),))
        return OptimisticStream(
            self.df, Plan(source, OneClock(waits, self.idle), late, (stage,)), buckets
        )

    def profile_df(self, *, waits: Sequence[Duration] = PROFILED_WAITS) -> DataFrame:
        """Measure how disordered a running stream is, in one row per micro-batch.

        What is counted, and by which rule: `latecomer.profile.live`.

        Args:
            waits: The waits for which to report the share of rows in time.

        Raises:
            DurationError: A wait is negative or unreadable.
            OptionError: The DataFrame is not a stream; use `latecomer.profile` for it.
        """
        asked = {parse_duration(wait, "waits"): duration_text(wait) for wait in waits}
        return profiled(self.df, self.source, asked)

    def _windowed(self, windows: Windows | Lifetime) -> DisorderedWindows:
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return DisorderedWindows(**own, windows=windows)
