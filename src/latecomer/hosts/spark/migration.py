"""Carry what a query holds to a new checkpoint, with other buckets or between buckets and driver.

Spark has no writer of states, and a query finds its states by the number of its last micro-batch.
So the new checkpoint is made by Spark itself, in a micro-batch that reads what was held:

    old checkpoint ─▶ held rows, or states ─parcels─▶ micro-batch 0 of the new one
    old offsets, sources and clock ─────────────────▶ written over those of micro-batch 0

The query then goes on with micro-batch 1, reads what the old one would have read next, and finds
the clock where it was. States on the driver are in files named by the number of a micro-batch.
There all numbers stay the same, and no micro-batch is needed.

Only plain rows, and states that can be merged, can be spread over other buckets
(`Operator.portable`). The old checkpoint stays as it is.

Holds: the new query holds the same rows or states, at the same watermark. If any row would be
emitted on the way, or be late, nothing is carried over.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import fs
from pyspark.sql import functions as F

from latecomer.batch import decode, encode
from latecomer.clock.watermark import Clock
from latecomer.errors import OptionError, StateFormatError
from latecomer.hosts.spark import flush, query
from latecomer.hosts.spark.columns import arrow_schema
from latecomer.hosts.spark.driver.state_files import FileChunks, Kept, StateFiles, file_uri
from latecomer.hosts.spark.durable import offset_log, record
from latecomer.hosts.spark.durable.ledger import qualified
from latecomer.hosts.spark.durable.owner import claim, release
from latecomer.hosts.spark.parcels import OUTPUT, PARCEL, ArrowFunction, repack, restate
from latecomer.hosts.spark.processor import BucketProcessor
from latecomer.hosts.spark.spark_clock import SparkClock
from latecomer.hosts.stage import RunningStage
from latecomer.hosts.tally import TALLY
from latecomer.plan import Plan
from latecomer.time import NEVER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def migrate(dfs: Sequence[DataFrame], plan: Plan, asked: record.Query, old: str, new: str) -> None:
    """Carry what is held in one checkpoint to another; see `Readable.migrate`.

    Args:
        dfs: The rows of each stream.
        plan: The plan of the query.
        asked: The record of the new query: its number of buckets, or states on the driver.
        old: The checkpoint of a query that has stopped.
        new: Directory of the new checkpoint.

    Raises:
        OptionError: The state of such a query cannot be spread over other buckets, or the new
            checkpoint exists already.
        StateFormatError: The old checkpoint is of another query, its last micro-batch was not
            committed, or held rows would be emitted on the way.
        OwnerError: The old query is running.
    """
    spark = dfs[0].sparkSession
    _check_portable(plan)
    _check_absent(spark, new)
    flush.check_ends(spark, old, None, "keep")
    before = _recorded(spark, old, plan, asked)
    plan = before.resumed(plan, lambda: arrow_schema(dfs[0]))
    claim(spark, old)
    try:
        stopped = _Stopped.read(spark, old, plan, before.records[-1])
        if asked["states"] == "driver":
            _to_driver(dfs[0], plan, stopped, new)
        else:
            _to_buckets(dfs, plan, stopped, asked["buckets"], new)
    finally:
        release(old)
    # The record comes last: without it, start() refuses the new checkpoint.
    kept = {name: value for name, value in before.records[-1].items() if name == "floors"}
    record.write_first(spark, new, asked | kept)


@dataclass(frozen=True, slots=True)
class _Stopped:
    """The checkpoint of a query that has stopped, with its last micro-batch committed."""

    checkpoint: str
    number: int
    """Number of the last micro-batch."""
    states: str
    buckets: int
    offsets: list[str]
    """Offset of each source."""
    clock: Clock
    """Clock of the last micro-batch."""
    shown: int
    """Spark's watermark in the next micro-batch, in milliseconds."""

    @classmethod
    def read(cls, spark: SparkSession, checkpoint: str, plan: Plan, told: record.Query) -> _Stopped:
        offsets, commits = (
            offset_log.entries(spark, checkpoint, log) for log in ("offsets", "commits")
        )
        if not commits or max(offsets) != max(commits):
            raise StateFormatError(
                f'the last micro-batch of the checkpoint "{checkpoint}" was started and not '
                "finished.\n"
                "Hint: run the unchanged query once more, stop it, and migrate then."
            )
        number = max(commits)
        version, told_of_batch, *sources = offsets[number]
        if version != "v1":
            raise StateFormatError(
                f'the checkpoint "{checkpoint}" has offsets in format {version}, and only v1 can '
                "be carried over.\nHint: start with a new checkpoint instead."
            )
        spark_clock = SparkClock.of(plan)
        if told["states"] == "driver":
            kept, _ = StateFiles(qualified(spark, checkpoint)).read(number)
            newest = kept.newest
            shown = 0 if newest == NEVER else (newest + spark_clock.shift) // 1_000
        else:
            at = int(json.loads(told_of_batch)["batchWatermarkMs"])
            newest = spark_clock.newest(at)
            shown = max(at, int(json.loads(commits[number][1])["nextBatchWatermarkMs"]))
        return cls(
            checkpoint,
            number,
            told["states"],
            told.get("buckets", 1),
            sources,
            plan.clock.read(newest),
            shown,
        )

    def states_of(self, spark: SparkSession, plan: Plan) -> DataFrame:
        """Return the open states of the query, as blobs."""
        if self.states == "buckets":
            held = flush.held(spark, self.checkpoint, 0).groupBy("bucket")
            return held.applyInArrow(_states_of_bucket(plan, self.buckets), "blob binary")
        kept, chunks = StateFiles(qualified(spark, self.checkpoint)).read(self.number)
        stage = RunningStage(plan, 0, None, lambda _number: chunks, kept.saved)
        return spark.createDataFrame([(encode(each),) for each in stage.states()], "blob binary")


_BLOB = pa.schema({"blob": pa.binary()})


def _states_of_bucket(plan: Plan, buckets: int) -> ArrowFunction:
    """Make the function that takes the open states out of a bucket, for applyInArrow."""

    # Spark reads the type hints of a function to learn what to pass it, so it must be one.
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = flush.Held([row for batch in batches for row in batch.to_pylist()], buckets)
        stage = RunningStage(plan, 0, None, found.of, found.saved)
        for states in stage.states():
            yield pa.RecordBatch.from_pylist([{"blob": encode(states)}], _BLOB)

    return run


def _check_portable(plan: Plan) -> None:
    """Refuse a query whose state cannot be spread over other buckets."""
    is_plain = len(plan.inputs) == 1 and plan.clock.is_shared and plan.idle is None
    is_plain &= not plan.clock.keeps_marks
    operators = [operator for stage in plan.stages for operator in stage.operators]
    if is_plain and len(operators) == 1 and operators[0].portable:
        return
    raise OptionError(
        "the state of this query cannot be spread over other buckets. That is possible for sorted "
        "rows, and for windows with one wait; both with one clock and without idle=.\n"
        'Hint: end the old query with end="flush" and start a new one; or run the new query '
        "beside the old one, from input that is earlier by the wait; docs/checkpoints.md says "
        "how."
    )


def _check_absent(spark: SparkSession, new: str) -> None:
    """Refuse a new checkpoint that exists already."""
    where, path = fs.FileSystem.from_uri(file_uri(qualified(spark, new)))
    if where.get_file_info(fs.FileSelector(path, allow_not_found=True)):
        raise OptionError(
            f'the new checkpoint "{new}" already exists, complete or in parts.\n'
            "Hint: name a directory that does not exist, or delete this one."
        )


def _recorded(spark: SparkSession, old: str, plan: Plan, asked: record.Query) -> record.History:
    """Return the records of the old checkpoint; only `states` and `buckets` may have changed."""
    history = record.read(spark, old)
    last = history.records[-1]
    place = {name: last[name] for name in ("states", "buckets") if name in last}
    query = {name: value for name, value in asked.items() if name not in ("states", "buckets")}
    found = record.check_query(spark, old, plan, query | place, lambda: NEVER)
    if found.is_changed:
        raise StateFormatError(
            f'the query is not the one that last ran on the checkpoint "{old}".\n'
            "Hint: migrate the unchanged query, and change its wait, late policy or columns "
            "afterwards."
        )
    return found


def _to_driver(df: DataFrame, plan: Plan, stopped: _Stopped, new: str) -> None:
    """Write the states as the driver keeps them, and copy Spark's logs."""
    spark, schema, chunks = df.sparkSession, arrow_schema(df), FileChunks()
    stage = RunningStage(plan, 0, schema, lambda _number: chunks)
    shown = SparkClock.of(plan).newest(stopped.shown)
    states = [decode(row.blob) for row in stopped.states_of(spark, plan).collect()]
    for output in stage.step(stopped.clock, [[]], states):
        _refuse_output(output.name, output.rows)
    where = qualified(spark, new)
    for part in ("offsets", "commits", "sources", "metadata"):
        _copy(qualified(spark, stopped.checkpoint), where, part)
    StateFiles(where).write(
        stopped.number, Kept(max(shown, stopped.clock.newest), stage.save()), chunks
    )


def _to_buckets(
    dfs: Sequence[DataFrame], plan: Plan, stopped: _Stopped, buckets: int, new: str
) -> None:
    """Let Spark write the states in a micro-batch, and then overwrite its offsets with the old."""
    spark, schema = dfs[0].sparkSession, arrow_schema(dfs[0])
    if plan.first is not None and plan.first.portable == "rows":
        held = query.flushed(dfs, plan, stopped.buckets, stopped.checkpoint)
        parcels = held.mapInArrow(partial(repack, plan, 0, buckets), PARCEL)
    else:
        states = stopped.states_of(spark, plan)
        parcels = states.mapInArrow(partial(restate, plan, schema, buckets), PARCEL)
    carried = f"{new}/latecomer/carried"
    parcels.withColumn("branch", F.lit(0)).write.parquet(carried)
    floored = replace(
        plan, late="drop", clock=plan.clock.after(plan.clock.former, stopped.clock.watermark)
    )
    arriving = spark.readStream.schema(f"{PARCEL}, branch int").parquet(carried)
    still = arriving.withColumn("clock", F.timestamp_micros(F.col("newest") * 0))
    groups = still.withWatermark("clock", "0 seconds").drop("clock").groupBy("bucket")
    number = buckets if plan.stages[0].key else 1
    processor = BucketProcessor(floored, 0, number, SparkClock.of(plan))
    held_again = groups.transformWithStateInPandas(
        processor, OUTPUT, outputMode="append", timeMode="EventTime"
    )
    writer = held_again.writeStream.foreachBatch(_refuse_outputs)
    writer.option("checkpointLocation", new).trigger(availableNow=True).start().awaitTermination()
    _graft(spark, stopped, new)


def _graft(spark: SparkSession, stopped: _Stopped, new: str) -> None:
    """Give the new checkpoint the offsets, the sources and the clock of the old one."""
    where = qualified(spark, new)
    _, told, *_ = offset_log.entries(spark, new, "offsets")[0]
    _, committed, *_ = offset_log.entries(spark, new, "commits")[0]
    clock = {"batchWatermarkMs": stopped.shown}
    _write(where, "offsets/0", ["v1", json.dumps(json.loads(told) | clock), *stopped.offsets])
    clock = {"nextBatchWatermarkMs": stopped.shown}
    _write(where, "commits/0", ["v1", json.dumps(json.loads(committed) | clock)])
    _copy(qualified(spark, stopped.checkpoint), where, "sources")


def _write(checkpoint: str, name: str, lines: list[str]) -> None:
    """Overwrite a file of a checkpoint, and remove the checksum that Hadoop keeps beside it."""
    files, path = fs.FileSystem.from_uri(file_uri(checkpoint))
    path = posixpath.join(path, name)
    with files.open_output_stream(path) as file:
        file.write("\n".join(lines).encode())
    beside = posixpath.join(posixpath.dirname(path), f".{posixpath.basename(path)}.crc")
    if files.get_file_info(beside).type == fs.FileType.File:
        files.delete_file(beside)


def _copy(old: str, new: str, part: str) -> None:
    """Replace a file or directory of the new checkpoint with that of the old one."""
    source, old_path = fs.FileSystem.from_uri(file_uri(old))
    target, new_path = fs.FileSystem.from_uri(file_uri(new))
    old_path, new_path = (posixpath.join(path, part) for path in (old_path, new_path))
    kind = source.get_file_info(old_path).type
    if target.get_file_info(new_path).type == fs.FileType.Directory:
        target.delete_dir(new_path)
    target.create_dir(posixpath.dirname(new_path) if kind == fs.FileType.File else new_path)
    if kind != fs.FileType.NotFound:
        fs.copy_files(old_path, new_path, source, target)


def _refuse_outputs(rows: DataFrame, _number: int) -> None:
    for row in rows.where(F.col("output") != TALLY).select("output", "rows").collect():
        _refuse_output(row.output, row.rows)


def _refuse_output(name: str, rows: int) -> None:
    raise StateFormatError(
        f"the migration would emit {rows} held rows, as {name}: their bucket has received no rows "
        "since the wait was shortened.\n"
        "Hint: run the unchanged query until new rows have arrived, stop it, and migrate then; or "
        'end it with end="flush". Delete the new checkpoint first.'
    )
