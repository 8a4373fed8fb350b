"""The common part of all streams after the sort: they can be read, started or run."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import pyarrow as pa

from latecomer.api.local_run import LocalRun, run
from latecomer.api.query import Query
from latecomer.errors import ColumnNameError, LateRowsWarning, OptionError
from latecomer.hosts.spark import flush, migration, query, sinks, why
from latecomer.hosts.spark import outputs as reading
from latecomer.hosts.spark.columns import arrow_schema
from latecomer.hosts.spark.declared import declared, is_declared
from latecomer.hosts.spark.durable import offset_log, owner, record
from latecomer.hosts.spark.outputs import Format
from latecomer.hosts.spark.parcels import OUTPUT
from latecomer.hosts.spark.sinks import Sink
from latecomer.hosts.spark.spark_clock import SparkClock
from latecomer.operators.levels import TARGET_FIELDS
from latecomer.plan import Plan
from latecomer.plan.explain import explained
from latecomer.time import Duration, format_duration, parse_duration

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


@dataclass(frozen=True, slots=True)
class Readable:
    """A stream that can be read as a DataFrame, started as a query, or run in this process."""

    dfs: tuple[DataFrame, ...]
    """The rows of each stream, before the sort."""
    plan: Plan
    buckets: int | None
    _format: Format | None = None
    """Format of the columns that Latecomer adds; None for the default."""

    @property
    def df(self) -> DataFrame:
        """The rows of the first stream, before the sort."""
        return self.dfs[0]

    @property
    def _columns(self) -> pa.Schema:
        """The columns of the rows of the first stream, before the sort."""
        return arrow_schema(self.df)

    def formatted(
        self,
        *,
        durations: Literal["plain", "interval"] = "plain",
        windows: Literal["struct", "columns"] = "struct",
    ) -> Self:
        """Set the format of columns that Latecomer adds, in all outputs of this stream.

        Args:
            durations: With "plain", `_delay`, `_behind` and the `wait` that a recall chose are
                milliseconds, and any other `wait` is the text that was given for it. With
                "interval" all of them are day-time intervals, which Delta and Iceberg refuse.
            windows: With "struct", `window` is a column with the fields `start` and `end`, as
                Spark's own; with "columns" there are `window_start` and `window_end` instead.

        Raises:
            OptionError: There is no such format, or the stream has no windows.
            ColumnNameError: Another column has the name of a bound.
        """
        if any(map(is_declared, self.dfs)):
            raise OptionError(
                "formatted() is not available with schema=, because it would ask Spark for the "
                "types of columns.\n"
                "Hint: select the columns of to_df() as you need them, for example "
                '"window.start".'
            )
        asked = Format(durations, windows)
        asked.check(self._ready_schema().names)
        return replace(self, _format=asked)

    def to_df(
        self,
        *,
        wait: Duration | None = None,
        recall: float | None = None,
        alone: bool = True,
        packed: DataFrame | None = None,
    ) -> DataFrame:
        """Return the ready rows as a DataFrame.

        Args:
            wait: With several waits, return only the rows of this one, without the columns `wait`,
                `is_final` and `is_changed`. By default the rows of all waits are returned.
            recall: The same for several recalls.
            alone: Whether to fail if another watermark in the query keeps the clock from moving.
                Use False if a stream with a watermark of its own is joined or united with this
                DataFrame and may have no rows at first; nothing comes out until it has some
                (`latecomer.hosts.spark.spark_clock`).
            packed: The table that `packed_df()` was written to. Its rows are unpacked, and the
                stream is not run again.

        Raises:
            OptionError: The stream has no such wait, or recall.

        Warns:
            LateRowsWarning: The late rows of this stream are only in `late_df()`.
        """
        asked = self._formatting()
        if packed is None:
            self._warn_of_late_rows()
            packed = self._outputs(alone=alone, is_late_read=False)
        rows = reading.ready(self._packed(packed, alone=alone), self._ready_schema())
        if recall is not None:
            if recall not in self.plan.clock.recalls or len(self.plan.clock.recalls) == 1:
                recalls = ", ".join(map(str, self.plan.clock.recalls)) or "none"
                message = f"{recall} is not one of several recalls of the stream; it has {recalls}."
                raise OptionError(message)
            return asked.ready(reading.at_recall(rows, recall), self.plan, is_one=True)
        if wait is None:
            return asked.ready(rows, self.plan)
        if self.plan.clock.recalls:
            raise OptionError("the stream has a recall and no waits.\nHint: to_df(recall=0.99).")
        micros = parse_duration(wait, "wait")
        if micros not in self.plan.clock.waits or len(self.plan.clock.waits) == 1:
            waits = ", ".join(map(format_duration, self.plan.clock.waits))
            raise OptionError(
                f"{wait!r} is not one of several waits of the stream; it has {waits}."
            )
        text = self.plan.clock.wait_texts[self.plan.clock.waits.index(micros)]
        return asked.ready(reading.at_wait(rows, text), self.plan, is_one=True)

    def late_df(
        self, of: int = 0, *, alone: bool = True, packed: DataFrame | None = None
    ) -> DataFrame:
        """Return the late rows, with `_delay`, `_behind` (the watermark) and `_reason`.

        Args:
            of: The number of the stream, where several meet: 0 is the first, and the others follow
                from left to right.
            alone: As for `to_df`.
            packed: As for `to_df`.

        Raises:
            OptionError: There is no such stream.
        """
        if not 0 <= of < len(self.dfs):
            message = f"there is no stream {of}; the query reads {len(self.dfs)}, counted from 0."
            raise OptionError(message)
        output = self.plan.inputs[of].source.late
        packed = self._complete()._packed(packed, alone=alone)  # noqa: SLF001 - a stream, too
        return self._formatting().late(reading.late(packed, self.dfs[of].schema, output))

    def packed_df(self, *, alone: bool = True) -> DataFrame:
        """Return all outputs in one DataFrame; each row has the name of its output and a blob.

        A pipeline writes it to one table by one flow, so that the stream is run once, and reads
        the outputs from that table: `to_df(packed=...)`, `late_df(packed=...)`. Do not keep the
        blobs: their format may change with a release.

        Args:
            alone: As for `to_df`.
        """
        return self._outputs(alone=alone)

    def recall_df(self, *, alone: bool = True) -> DataFrame:
        """Return the measured recall: a row for each target, bucket and micro-batch.

        A window join has a row for each interval instead. `latecomer.hosts.recall_report` lists the
        columns.

        Args:
            alone: As for `to_df`.

        Raises:
            OptionError: The stream has no recall.
        """
        if not self.plan.targets:
            waits = ", ".join(map(format_duration, self.plan.clock.waits))
            raise OptionError(
                f"the stream has no stated recall to report on; it waits {waits}.\n"
                "Hint: state one, for example sort(recall=0.99); lc.recall(query) compares "
                "several waits."
            )
        packed = self._complete()._packed(None, alone=alone)  # noqa: SLF001 - a stream, too
        return self._formatting().recall(reading.recall(packed))

    def start(
        self,
        outputs: Mapping[str, Sink],
        *,
        checkpoint: str,
        trigger: Mapping[str, Any] | None = None,
        name: str | None = None,
        end: Literal["keep", "flush"] = "keep",
    ) -> Query:
        """Start one query that writes several outputs. See `latecomer.hosts.spark.sinks`.

        Args:
            outputs: "ready" and "late" (also "late_1", "late_2", … if several streams meet, and
                "recall" if the stream has one), each with a `table`, a `delta` table, a topic of
                `kafka`, an `upsert`, a directory for Parquet files, or a function of a DataFrame
                and the number of the micro-batch.
            checkpoint: The directory of the query's checkpoint.
            trigger: As for Spark's `trigger`, for example {"availableNow": True}. With `idle` there
                is a micro-batch every second by default.
            name: The name of the query.
            end: What happens to held rows when a query with `availableNow` has read everything.
                With "keep" they stay in the checkpoint for the next run. With "flush" the stream
                has ended: `start` waits until everything is read, and emits them as micro-batch
                2147483647. The checkpoint cannot be used again.

        Raises:
            OptionError: There is no such output; or the stream has ended already; or `end` is
                "flush" with a trigger that never ends.
        """
        checkpoint = str(checkpoint)
        spark, packed = self.df.sparkSession, self._outputs(checkpoint=checkpoint)
        schemas = {
            "ready": self._ready_schema(),
            **{
                plan.source.late: df.schema
                for plan, df in zip(self.plan.inputs, self.dfs, strict=True)
            },
        }
        if self.plan.targets:
            schemas["recall"] = reading.recall_struct()
        if self.plan.idle is not None and trigger is None:
            # With `idle` there is always new data: without a pause, micro-batches would never stop.
            trigger = {"processingTime": "1 second"}
        sinks.check(packed, schemas, outputs, self.plan)
        flush.check_ends(spark, checkpoint, trigger, end)
        flush.check_reader(spark, checkpoint, end)
        # Check before taking the checkpoint: a query that is refused must not stop a running one.
        asked = record.described(self.dfs, self.plan, self.buckets, "buckets")
        clock = SparkClock.of(self.plan)
        history = record.check_query(
            spark,
            checkpoint,
            self.plan,
            asked,
            lambda: clock.newest(offset_log.last_clock(spark, checkpoint)),
        )
        plan = history.resumed(self.plan, lambda: self._columns)
        if plan is not self.plan:
            packed = query.outputs(self.dfs, plan, self.buckets, checkpoint=checkpoint)
        options = sinks.Options(checkpoint, trigger, name, end, self._formatting())
        writer = sinks.own(spark, outputs, plan, options)
        with owner.released_on_error(checkpoint):
            history.write(spark, checkpoint)
            started = sinks.start(packed, schemas, writer, options)
            if end == "flush":
                why.explained(started.awaitTermination)
                flush.check_all_read(packed, plan, checkpoint)
                still_held = query.flushed(self.dfs, plan, self.buckets, checkpoint)
                sinks.write_rest(still_held, schemas, writer, checkpoint)
        owner.release_with(started, checkpoint)
        return Query(started, plan, checkpoint, spark)

    def run(
        self, *batches: Iterable[Any], end: Literal["flush", "keep"] = "flush", threads: int = 1
    ) -> LocalRun:
        """Run the stream in this process, without Spark. See `latecomer.api.local_run`.

        The stream must have begun with a table, `disordered(table, ...)`. `idle` has no effect.

        Args:
            batches: The batches of each stream, in the order of their micro-batches: Arrow tables,
                or frames of pandas or Polars. By default the table that the stream began with is
                one batch, in which nothing is late.
            end: With "flush" rows that are held at the end are emitted; with "keep" they are not.
            threads: Number of threads that keys are spread over. The answers are the same, and so
                is their order within each key; as on Spark, keys are not merged by time. Streams
                without a key or with a recall, and window joins, use one thread.

        Raises:
            OptionError: The stream has a DataFrame of Spark, or no rows.
            ColumnNotFoundError: A batch has other columns than the stream.
        """
        if self._format is not None:
            raise OptionError(
                "formatted() applies to Spark DataFrames only; run() returns Arrow tables.\n"
                "Hint: leave it out."
            )
        return run(self.dfs, self.plan, batches, end, threads)

    def migrate(self, old: str, new: str) -> None:
        """Move the state of a stopped query to a new checkpoint, with another number of buckets.

        See `latecomer.hosts.spark.migration`. Sources continue where the old query has stopped.
        The old checkpoint does not change. Then start this stream with the new checkpoint, and with
        new directories for its outputs.

        Args:
            old: The checkpoint of a query that start() has begun and that has stopped.
            new: The directory of the new checkpoint, which must not exist.

        Raises:
            OptionError: The state of this query cannot be moved. Only a sort without further
                operators, and windows with one wait, can be migrated.
            StateFormatError: The old checkpoint is of a query that differs in more than the place
                of its states.
        """
        self._migrate(old, new, "buckets")

    def _migrate(self, old: str, new: str, states: str) -> None:
        asked = record.described(self.dfs, self.plan, self.buckets, states)
        migration.migrate(self.dfs, self.plan, asked, str(old), str(new))

    def explain(self) -> str:
        """Return a description of the query: its stages, and what each sorts and holds."""
        return explained(self._complete().plan, self._columns)

    def _complete(self) -> Readable:
        """Return the stream with all operators that its outputs need."""
        return self

    def _formatting(self) -> Format:
        return self._format or Format()

    def _warn_of_late_rows(self) -> None:
        """Warn that a query of the user's own may leave late rows unread."""
        is_diverted = any(each.late == "divert" for each in self.plan.inputs)
        if is_diverted and any(df.isStreaming for df in self.dfs):
            warnings.warn(
                "late rows are not in to_df(). They are in late_df(), and a query that does not "
                "write late_df() only counts them.\n"
                'Hint: write both with start({"ready": ..., "late": ...}); or write late_df() '
                'with a second query; or, if you do not want them, use late="drop".',
                LateRowsWarning,
                stacklevel=3,
            )

    def _outputs(
        self, *, alone: bool = False, is_late_read: bool = True, checkpoint: str | None = None
    ) -> DataFrame:
        plan = self.plan if is_late_read else self.plan.with_ready_only
        return query.outputs(self.dfs, plan, self.buckets, alone=alone, checkpoint=checkpoint)

    def _packed(self, packed: DataFrame | None, *, alone: bool) -> DataFrame:
        """Return all outputs, packed: those in `packed`, or else those of this stream."""
        packed = self._outputs(alone=alone) if packed is None else packed
        if any(map(is_declared, self.dfs)):
            return declared(packed, OUTPUT, streaming=any(df.isStreaming for df in self.dfs))
        return packed

    def _ready_schema(self) -> StructType:
        schema = reading.ready_schema(self.df, self.plan)
        check_answer_names(schema.names)
        return schema


def check_answer_names(names: Sequence[str]) -> None:
    """Refuse columns with the names of those that distinguish several waits or recalls."""
    # Spark ignores the case of a name.
    lower = [name.lower() for name in names]
    for field in TARGET_FIELDS:
        if lower.count(field.name) > 1:
            taken = ", ".join(each.name for each in TARGET_FIELDS)
            raise ColumnNameError(
                f'the rows have a column "{field.name}", which Latecomer adds where a stream has '
                "several waits or recalls.\n"
                f"Hint: rename it first; the names {taken} are reserved."
            )
