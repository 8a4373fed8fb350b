"""Run a plan on Spark: DataFrames in, DataFrames out, streaming and batch.

    rows ─mapInArrow(pack)─▶ parcels ─withWatermark(clock)─▶ project `clock` away
         ─groupBy(bucket).transformWithState─▶ outputs ─mapInArrow(unpack)─▶ rows

**Spark's watermark is our clock, but drops no rows.** `withWatermark("clock", "0 seconds")` makes
Spark keep the largest time seen, for all buckets alike and in the checkpoint. Once the column is
projected away, Spark no longer drops rows by it; Latecomer applies the wait and finds late rows.

A second stage is packed from the output of the first, without a watermark of its own: both see the
same clock in the same micro-batch.

A batch DataFrame is one micro-batch followed by the end of the stream: no row in it is late, and
the output is the complete answer.

Only the public DataFrame API is used, so that all of it runs on Spark Connect too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import count

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from latecomer.hosts.spark import progress
from latecomer.hosts.spark.batch_bucket import in_batch
from latecomer.hosts.spark.batch_clock import BatchClock, readable
from latecomer.hosts.spark.checks import (
    check_slowest_clock,
    check_state_store,
    warn_of_partitions,
)
from latecomer.hosts.spark.columns import (
    arrow_schema,
    map_in_arrow,
    partitions,
    with_wall_clock,
)
from latecomer.hosts.spark.declared import is_declared, known, read_schema
from latecomer.hosts.spark.flush import held
from latecomer.hosts.spark.inputs import pruned
from latecomer.hosts.spark.parcels import OUTPUT, PARCEL, packer, repack, tick
from latecomer.hosts.spark.processor import BucketProcessor
from latecomer.hosts.spark.spark_clock import SparkClock
from latecomer.plan import Plan

# Parsed here: as text, they would be sent to Spark Connect for parsing in every query.
_PARCEL, _OUTPUT, _NOW = (read_schema(text) for text in (PARCEL, OUTPUT, "now long"))
_ARRIVING = StructType([*_PARCEL, StructField("branch", IntegerType())])


def flushed(
    dfs: Sequence[DataFrame], plan: Plan, buckets: int | None, checkpoint: str
) -> DataFrame:
    """Run all stages from what a stopped query holds to the end of time, without rows."""
    query = _Query(dfs, buckets or partitions(dfs[0]), SparkClock.of(plan), checkpoint)
    return query.stage(plan, len(plan.stages) - 1)


def outputs(
    dfs: Sequence[DataFrame],
    plan: Plan,
    buckets: int | None = None,
    *,
    alone: bool = False,
    checkpoint: str | None = None,
) -> DataFrame:
    """Run all stages of a plan, and return packed rows with the names of their outputs.

    Args:
        dfs: The rows of each stream that meets in the plan.
        plan: The plan to run.
        buckets: Number of buckets over which to spread the keys.
        alone: Refuse a clock that the watermark of another stream holds at its beginning.
        checkpoint: The checkpoint of the query, if it is known.
    """
    if any(df.isStreaming for df in dfs):
        check_state_store(dfs[0].sparkSession)
        warn_of_partitions(dfs[0].sparkSession)
        if len(dfs) > 1:
            check_slowest_clock(dfs[0].sparkSession)
    clock = SparkClock.of(plan, alone=alone)
    query = _Query(dfs, buckets or partitions(dfs[0]), clock)
    if checkpoint is not None and query.is_streaming:
        query.batch_clock = readable(dfs[0].sparkSession, plan, checkpoint, clock)
    packed = query.stage(plan, len(plan.stages) - 1)
    return progress.observed(packed, plan)


class _Query:
    """The stages of a plan, as Spark runs them."""

    def __init__(
        self,
        dfs: Sequence[DataFrame],
        buckets: int,
        clock: SparkClock,
        checkpoint: str | None = None,
    ) -> None:
        """Run on the rows, or from the checkpoint of a stopped query if one is given."""
        self._dfs = dfs
        self._buckets = buckets
        self._checkpoint = checkpoint
        self._clock = clock
        self._is_declared = any(map(is_declared, dfs))
        self.is_streaming = checkpoint is None and any(df.isStreaming for df in dfs)
        self.batch_clock: BatchClock | None = None
        """The clock of micro-batches, if tasks that pack rows can read it."""
        # Spark numbers the last stage first.
        self._numbers = count()

    def stage(self, plan: Plan, at: int) -> DataFrame:
        """Run a stage, and all before it."""
        buckets = self._buckets if plan.stages[at].key else 1
        number = next(self._numbers)
        branches = self._arriving(plan, at, buckets)
        parcels = reduce(
            DataFrame.unionByName,
            [rows.withColumn("branch", F.lit(number)) for number, rows in enumerate(branches)],
        )
        if not self.is_streaming:
            parcels = parcels.drop("newest")
        elif plan.idle is not None:
            # Buckets that only check rows for lateness must have the same clock.
            told = buckets if at else self._spread(plan, buckets)
            parcels = parcels.unionByName(self._ticks(told))
        if self._checkpoint is not None:
            found = held(self._dfs[0].sparkSession, self._checkpoint, number)
            parcels = parcels.unionByName(found.withColumn("branch", F.lit(0)))
        groups = self._known(parcels, _ARRIVING).groupBy("bucket")
        if not self.is_streaming:
            return groups.applyInArrow(in_batch(plan, at, buckets), _OUTPUT)
        # Later stages need no check: a stage whose clock stands still releases no rows to them.
        clock = replace(self._clock, streams=0) if at else self._clock
        processor = BucketProcessor(plan, at, buckets, clock)
        rows = groups.transformWithStateInPandas(
            processor, _OUTPUT, outputMode="append", timeMode="EventTime"
        )
        return self._known(rows, _OUTPUT)

    def _known(self, df: DataFrame, columns: StructType) -> DataFrame:
        """Name the columns of a DataFrame if Spark must not be asked for them."""
        if not self._is_declared:
            return df
        if not self.is_streaming:
            columns = StructType([field for field in columns if field.name != "newest"])
        return known(df, columns)

    def _arriving(self, plan: Plan, at: int, buckets: int) -> Iterator[DataFrame]:
        """Pack the rows of a stage: those of its stream, then those of streams that meet it."""
        yield (
            self._read(plan, buckets)
            if at == 0
            else self.stage(plan, at - 1).mapInArrow(partial(repack, plan, at, buckets), _PARCEL)
        )
        for right in plan.stages[at].rights:
            yield from self._arriving(right, len(right.stages) - 1, buckets)

    def _read(self, plan: Plan, buckets: int) -> DataFrame:
        """Pack the rows of a stream, and set the clock by them."""
        df = self._dfs[plan.source.number]
        if self._checkpoint is not None:
            return df.sparkSession.createDataFrame([], _PARCEL)
        spread = self._spread(plan, buckets) if self.is_streaming else 0
        is_shifted = bool(self._clock.shift)
        read, columns = self._pruned(df, plan)
        pack = packer(
            plan,
            buckets,
            spread,
            columns,
            clock=self.batch_clock,
            since_1970=df.isStreaming and not is_shifted,
        )
        packed = map_in_arrow(with_wall_clock(read, plan.source), pack, _PARCEL)
        if not df.isStreaming:
            return packed
        shown = F.least(F.col("newest"), F.lit(self._clock.last)) + F.lit(self._clock.shift)
        clock = F.timestamp_micros(F.greatest(shown, F.lit(0)))
        return packed.withColumn("clock", clock).withWatermark("clock", "0 seconds").drop("clock")

    def _pruned(self, df: DataFrame, plan: Plan) -> tuple[DataFrame, pa.Schema | None]:
        """Leave out columns that only late rows would have; return all columns beside, if any.

        States carry the columns of the rows that they were made of, and must not change in a
        checkpoint. The zone of a time is known only in the workers, so such columns stay.
        """
        is_needed = plan.is_late_read or plan.needs_late_rows or plan.source.rows is not None
        early = None if is_needed or self._is_declared else plan.early
        if early is None:
            return df, None
        columns = arrow_schema(df)
        zoned = (field.name for field in columns if "tz=" in str(field.type))
        read = pruned(df, plan.source, (*early.reads, *plan.clock.reads, *zoned))
        return (read, columns) if len(read.columns) < len(columns) else (df, None)

    def _spread(self, plan: Plan, buckets: int) -> int:
        """Return the number of buckets over which to spread rows that any bucket can check."""
        return max(buckets, partitions(self._dfs[plan.source.number]))

    def _ticks(self, buckets: int) -> DataFrame:
        """Send the time to all buckets, with each micro-batch.

        It is the time of the micro-batch: kept in the checkpoint, and the same in all stages.
        """
        # This source always has a row, and also supports availableNow.
        source = self._dfs[0].sparkSession.readStream.format("rate-micro-batch")
        ticks = source.option("rowsPerBatch", 1).option("numPartitions", 1).load()
        now = F.unix_micros(F.current_timestamp()).alias("now")
        told = self._known(ticks.select(now), _NOW)
        parcels = told.mapInArrow(partial(tick, buckets), _PARCEL)
        return parcels.withColumn("branch", F.lit(0))
