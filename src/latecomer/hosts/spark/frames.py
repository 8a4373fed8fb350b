"""Run a plan on Spark: DataFrames in, DataFrames out, streaming and batch.

    rows ─mapInArrow(pack)─▶ parcels ─withWatermark(newest)─▶ project `newest` away
         ─groupBy(bucket).transformWithState─▶ outputs ─mapInArrow(unpack)─▶ rows

**Spark's watermark is our clock, not our gate.** `withWatermark("newest", "0 seconds")` makes Spark
keep the largest time seen, for all buckets alike and in the checkpoint. Once the column is
projected away Spark no longer drops rows by it; the wait, and what is late, are ours.

A second stage is packed from what the first put out, without a watermark of its own: both see the
same clock in the same micro-batch.

A batch DataFrame is one micro-batch followed by the end of the stream: nothing in it is late, and
what comes out is the complete answer.

Only the public DataFrame API is used, so that all of it runs on Spark Connect too.
"""

from collections.abc import Callable
from itertools import chain, count

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.types import DayTimeIntervalType, StringType, StructField, StructType

from latecomer.batch import decode
from latecomer.disorder.watermark import Clock
from latecomer.hosts.local import MemoryChunks
from latecomer.hosts.spark.checks import check_state_store
from latecomer.hosts.spark.pack import NOW, OUTPUT, PARCEL, packer, repacker, unpack
from latecomer.hosts.spark.processor import BucketProcessor, as_rows
from latecomer.hosts.stage import RunningStage
from latecomer.plan import Plan
from latecomer.time import FOREVER, NEVER

_COUNTED = ("ready", "late", "dropped")
_metric_numbers = count(1)


def outputs(df: DataFrame, plan: Plan, buckets: int | None = None) -> DataFrame:
    """Run all stages of a plan; what comes out is still packed, with the name of its output."""
    if df.isStreaming:
        check_state_store(df.sparkSession)
    if not plan.source.key:
        buckets = 1
    elif buckets is None:
        buckets = int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
    packed = _with_wall_clock(df, plan).mapInArrow(packer(plan, buckets), PARCEL)
    if df.isStreaming:
        packed = packed.withColumn("newest", F.timestamp_micros("newest"))
        packed = packed.withWatermark("newest", "0 seconds")
    for at in range(len(plan.stages)):
        if at > 0:
            packed = packed.mapInArrow(repacker(plan, at, buckets), PARCEL)
        groups = packed.drop("newest").groupBy("bucket")
        packed = (
            groups.transformWithState(
                BucketProcessor(plan, at, buckets),
                OUTPUT,
                outputMode="append",
                timeMode="EventTime",
            )
            if df.isStreaming
            else groups.applyInArrow(_in_batch(plan, at), OUTPUT)
        )
    # Two streams may meet in one query, which wants each metric to have a name of its own.
    metric = f"latecomer_{next(_metric_numbers)}"
    return packed.observe(metric, *(_rows_of(name) for name in _COUNTED))


def counts(query: StreamingQuery) -> dict[str, int]:
    """Add up what the progress of a query reports of its micro-batches."""
    totals = dict.fromkeys(_COUNTED, 0)
    for progress in query.recentProgress:
        for metric, row in progress.observedMetrics.items():
            if metric.startswith("latecomer_"):
                for name in _COUNTED:
                    totals[name] += row[name]
    return totals


def expression(value: str | Column) -> Column:
    """Read a string as Spark SQL; a Column is one already."""
    if isinstance(value, str):
        return F.col("*") if value.strip() == "*" else F.expr(value)
    return value


def ready(packed: DataFrame, schema: StructType) -> DataFrame:
    """Unpack the rows that are ready."""
    return packed.where("output = 'ready'").mapInArrow(unpack, schema)


def late(packed: DataFrame, schema: StructType) -> DataFrame:
    """Unpack the rows that are late, given the schema of the rows that came in."""
    span = DayTimeIntervalType()
    own = [
        StructField("_delay", span),
        StructField("_behind", span),
        StructField("_reason", StringType(), nullable=False),
    ]
    return packed.where("output = 'late'").mapInArrow(unpack, StructType([*schema.fields, *own]))


def _rows_of(output: str) -> Column:
    return F.coalesce(F.sum(F.when(F.col("output") == output, F.col("rows"))), F.lit(0)).alias(
        output
    )


def _with_wall_clock(df: DataFrame, plan: Plan) -> DataFrame:
    """Add the wall clock, where the plan asks how far ahead a row is.

    In a micro-batch `current_timestamp` is the time of the batch, kept in the checkpoint: a batch
    that is run again sees the same clock.
    """
    if plan.source.ahead is None:
        return df
    return df.withColumn(NOW, F.unix_micros(F.current_timestamp()))


def _in_batch(plan: Plan, at: int) -> Callable[[pa.Table], pa.Table]:
    # Spark reads the type hints of a function to learn what to pass it, so it must be one.
    def run(parcels: pa.Table) -> pa.Table:
        return _bucket_in_batch(plan, at, parcels)

    return run


def _bucket_in_batch(plan: Plan, at: int, parcels: pa.Table) -> pa.Table:
    entries = sorted(parcels.to_pylist(), key=lambda parcel: parcel["part"])
    passed_on = [parcel for parcel in entries if parcel["kind"] != "rows"]
    rows = [{"output": p["kind"], "rows": p["rows"], "blob": p["blob"]} for p in passed_on]
    batches = [decode(parcel["blob"]) for parcel in entries if parcel["kind"] == "rows"]
    if batches:
        chunks = [MemoryChunks() for _ in plan.stages[at].operators]
        stage = RunningStage(plan, at, batches[0].schema, chunks)
        end = Clock(NEVER, FOREVER)
        steps = chain(stage.step(Clock(NEVER, NEVER), batches), stage.step(end, []))
        rows += [row.asDict() for output in steps for row in as_rows(output)]
    schema = pa.schema({"output": pa.string(), "rows": pa.int64(), "blob": pa.binary()})
    # One batch a row: an Arrow array of bytes ends at 2 GiB.
    return pa.Table.from_batches([pa.RecordBatch.from_pylist([r], schema) for r in rows], schema)
