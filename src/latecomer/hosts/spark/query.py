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

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import chain, count

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import ArrayType, DayTimeIntervalType, StringType, StructField, StructType

from latecomer.clock.watermark import Clock
from latecomer.errors import ColumnTypeError
from latecomer.hosts import recall_report
from latecomer.hosts.spark import progress
from latecomer.hosts.spark.bucket import (
    BucketProcessor,
    Delivery,
    as_rows,
    is_repeated,
    started,
    told_apart,
)
from latecomer.hosts.spark.checks import check_slowest_clock, check_state_store
from latecomer.hosts.spark.flush import Held, held
from latecomer.hosts.spark.parcels import NOW, OUTPUT, PARCEL, packer, repacker, ticker, unpack
from latecomer.operators.distinct import Distinct
from latecomer.operators.in_order import InOrder
from latecomer.operators.levels import IS_FINAL, RECALL, TARGET_FIELDS, WAIT
from latecomer.operators.sort import Sort
from latecomer.operators.windows.aggregate import IS_CHANGED
from latecomer.plan.plan import Plan, Stage
from latecomer.time import FOREVER, NEVER


def rest(dfs: Sequence[DataFrame], plan: Plan, buckets: int | None, checkpoint: str) -> DataFrame:
    """Run all stages from what a stopped query holds to the end of time, without rows."""
    query = _Query(dfs, buckets or partitions(dfs[0]), checkpoint)
    return query.stage(plan, len(plan.stages) - 1)


def outputs(dfs: Sequence[DataFrame], plan: Plan, buckets: int | None = None) -> DataFrame:
    """Run all stages of a plan; what comes out is still packed, with the name of its output.

    Args:
        dfs: The rows of each stream, as many as meet in the plan.
        plan: What to run.
        buckets: Over how many buckets to spread the keys.
    """
    if any(df.isStreaming for df in dfs):
        check_state_store(dfs[0].sparkSession)
        if len(dfs) > 1:
            check_slowest_clock(dfs[0].sparkSession)
    packed = _Query(dfs, buckets or partitions(dfs[0])).stage(plan, len(plan.stages) - 1)
    return progress.observed(packed, plan)


class _Query:
    """The stages of a plan, as Spark runs them."""

    def __init__(
        self, dfs: Sequence[DataFrame], buckets: int, checkpoint: str | None = None
    ) -> None:
        """Run on the rows, or else from what a stopped query left in its checkpoint."""
        self._dfs = dfs
        self._buckets = buckets
        self._checkpoint = checkpoint
        self._is_streaming = checkpoint is None and any(df.isStreaming for df in dfs)
        # As Spark numbers them: the last stage first.
        self._numbers = count()

    def stage(self, plan: Plan, at: int) -> DataFrame:
        """Run a stage, and all before it."""
        buckets = self._buckets_of(plan.stages[at])
        number = next(self._numbers)
        branches = self._arriving(plan, at, buckets)
        parcels = reduce(
            DataFrame.unionByName,
            [rows.withColumn("branch", F.lit(number)) for number, rows in enumerate(branches)],
        )
        if self._is_streaming and plan.idle is not None:
            # Also those who look rows through for late ones must have the same clock.
            told = buckets if at else self._spread(plan, buckets)
            parcels = parcels.unionByName(self._ticks(told))
        if self._checkpoint is not None:
            found = held(self._dfs[0].sparkSession, self._checkpoint, number)
            parcels = parcels.unionByName(found.withColumn("branch", F.lit(0)))
        groups = parcels.groupBy("bucket")
        if not self._is_streaming:
            return groups.applyInArrow(_in_batch(plan, at, buckets), OUTPUT)
        processor = BucketProcessor(plan, at, buckets)
        return groups.transformWithState(
            processor, OUTPUT, outputMode="append", timeMode="EventTime"
        )

    def _arriving(self, plan: Plan, at: int, buckets: int) -> Iterator[DataFrame]:
        """Pack what comes to a stage: the rows of its stream, then those that come in."""
        yield (
            self._read(plan, buckets)
            if at == 0
            else self.stage(plan, at - 1).mapInArrow(repacker(plan, at, buckets), PARCEL)
        ).drop("newest")
        for right in plan.stages[at].rights:
            yield from self._arriving(right, len(right.stages) - 1, buckets)

    def _read(self, plan: Plan, buckets: int) -> DataFrame:
        """Pack the rows of a stream, and set the clock by them."""
        df = self._dfs[plan.source.number]
        if self._checkpoint is not None:
            return df.sparkSession.createDataFrame([], PARCEL)
        spread = self._spread(plan, buckets) if self._is_streaming else 0
        packed = _with_wall_clock(df, plan).mapInArrow(packer(plan, buckets, spread), PARCEL)
        if not df.isStreaming:
            return packed
        packed = packed.withColumn("newest", F.timestamp_micros("newest"))
        return packed.withWatermark("newest", "0 seconds")

    def _spread(self, plan: Plan, buckets: int) -> int:
        """Tell over how many buckets rows are spread that any bucket can look through."""
        return max(buckets, partitions(self._dfs[plan.source.number]))

    def _ticks(self, buckets: int) -> DataFrame:
        """Tell all buckets the time, with each micro-batch.

        It is that of the micro-batch, which is kept in the checkpoint, the same in all stages.
        """
        # This source always has a row, and can also read what there is and stop.
        source = self._dfs[0].sparkSession.readStream.format("rate-micro-batch")
        ticks = source.option("rowsPerBatch", 1).option("numPartitions", 1).load()
        now = F.unix_micros(F.current_timestamp()).alias("now")
        parcels = ticks.select(now).mapInArrow(ticker(buckets), PARCEL)
        return parcels.drop("newest").withColumn("branch", F.lit(0))

    def _buckets_of(self, stage: Stage) -> int:
        return self._buckets if stage.key else 1


def partitions(df: DataFrame) -> int:
    """Tell over how many partitions the session of a DataFrame spreads rows."""
    return int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)


def expression(value: str | Column) -> Column:
    """Read a string as Spark SQL; a Column is one already."""
    if isinstance(value, str):
        return F.col("*") if value.strip() == "*" else F.expr(value)
    return value


def with_elements(df: DataFrame, name: str, value: str | Column) -> DataFrame:
    """Make a row of each element of a list; one without elements stays a row with a null."""
    kind = df.select(expression(value)).schema[0].dataType
    if not isinstance(kind, ArrayType):
        message = (
            f'select_many makes rows of lists; "{name}" is of type {kind.simpleString()}.\n'
            f'Hint: give an array, for example select_many({name}="map_entries(...)") or '
            f"select_many({name}=\"split(text, ',')\")."
        )
        raise ColumnTypeError(message)
    return df.withColumn(name, F.explode_outer(expression(value)))


def ready_schema(df: DataFrame, plan: Plan) -> StructType:
    """Say what the rows that are ready look like."""
    if all(
        isinstance(operator, Sort | InOrder | Distinct)
        for stage in plan.stages
        for operator in stage.operators
    ):
        told = from_arrow_schema(pa.schema(TARGET_FIELDS)) if len(plan.recalls) > 1 else ()
        return StructType([*df.schema, *told])
    return from_arrow_schema(plan.output_schema(arrow_schema(df)))


def arrow_schema(df: DataFrame) -> pa.Schema:
    """Say what rows look like in Arrow."""
    return to_arrow_schema(df.schema, timezone="UTC")


def at_wait(rows: DataFrame, wait: int) -> DataFrame:
    """Keep the rows of one of several waits, without the columns that tell waits apart."""
    of_wait = rows.where(F.col(WAIT) == F.make_dt_interval(secs=F.lit(wait / 1_000_000)))
    return of_wait.drop(WAIT, IS_FINAL, IS_CHANGED)


def at_recall(rows: DataFrame, recall: float) -> DataFrame:
    """Keep the rows of one of several recalls, without the columns that tell recalls apart."""
    return rows.where(F.col(RECALL) == recall).drop(*(field.name for field in TARGET_FIELDS))


def ready(packed: DataFrame, schema: StructType) -> DataFrame:
    """Unpack the rows that are ready."""
    return without_own(packed.where("output = 'ready'").mapInArrow(unpack, schema))


def late(packed: DataFrame, schema: StructType, output: str = "late") -> DataFrame:
    """Unpack the rows of a stream that are late, given the schema of the rows that came in."""
    rows = packed.where(F.col("output") == output).mapInArrow(unpack, late_struct(schema))
    return without_own(rows)


def recall(packed: DataFrame) -> DataFrame:
    """Unpack what was told of the recall."""
    reports = packed.where(F.col("output") == recall_report.RECALL)
    return reports.mapInArrow(unpack, recall_struct())


def recall_struct() -> StructType:
    """Say what a report of the recall looks like."""
    return from_arrow_schema(recall_report.SCHEMA)


def late_struct(schema: StructType) -> StructType:
    """Say what late rows look like, given the rows that came in."""
    span = DayTimeIntervalType()
    own = [
        StructField("_delay", span),
        StructField("_behind", span),
        StructField("_reason", StringType(), nullable=False),
    ]
    return StructType([*schema.fields, *own])


def without_own(rows: DataFrame) -> DataFrame:
    """Leave out columns that Latecomer has added for itself."""
    return rows.drop(*(name for name in rows.columns if name.startswith("_lc_")))


def _with_wall_clock(df: DataFrame, plan: Plan) -> DataFrame:
    """Add the wall clock, where the plan asks how far ahead a row is.

    In a micro-batch `current_timestamp` is the time of the batch, kept in the checkpoint: a batch
    that is run again sees the same clock.
    """
    if plan.source.ahead is None:
        return df
    return df.withColumn(NOW, F.unix_micros(F.current_timestamp()))


def _in_batch(plan: Plan, at: int, buckets: int) -> Callable[[pa.Table], pa.Table]:
    # Spark reads the type hints of a function to learn what to pass it, so it must be one.
    def run(parcels: pa.Table) -> pa.Table:
        return _bucket_in_batch(plan, at, buckets, parcels)

    return run


def _bucket_in_batch(plan: Plan, at: int, buckets: int, parcels: pa.Table) -> pa.Table:
    found = Held(parcels, buckets)
    delivery = Delivery.of(found.others.to_pylist(), plan.stages[at])
    rows = delivery.outputs
    if delivery.is_filled or found.saved is not None:
        stage = started(plan, at, delivery.schema, found.of, found.saved)
        begin, end = Clock(NEVER, NEVER), Clock(NEVER, FOREVER)
        nothing: list[list[pa.Table]] = [[] for _ in delivery.inputs]
        steps = chain(stage.step(begin, delivery.inputs, delivery.states), stage.step(end, nothing))
        bucket = int(parcels.column("bucket")[0].as_py())
        told = (
            told_apart(output, bucket, buckets)
            for output in steps
            if not is_repeated(output, plan, bucket, buckets)
        )
        rows += [row.asDict() for output in told for row in as_rows(output)]
    schema = pa.schema({"output": pa.string(), "rows": pa.int64(), "blob": pa.binary()})
    # One batch a row: an Arrow array of bytes ends at 2 GiB.
    return pa.Table.from_batches([pa.RecordBatch.from_pylist([r], schema) for r in rows], schema)
