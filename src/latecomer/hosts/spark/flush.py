"""Release what a query still holds when its stream has ended.

A query that has stopped leaves what it holds in its checkpoint, where Spark's own reader of states
finds it. To end the stream, its stages are run once more, as on a batch: without rows, from these
states, up to the end of time.

    the checkpoint ─format("statestore")─▶ parcels of kind HELD and CHUNK ─groupBy(bucket)─▶ outputs

The checkpoint itself stays as it is, except for two marks: one before any row is emitted, and one
when all rows are. A query that went on with it would emit the same rows again, so it is refused.
The rows go to the sinks as the micro-batch with the largest possible number. If the machine stops
on the way, the end is run once more and replaces that micro-batch.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from pyspark.errors import AnalysisException, PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from latecomer.batch import Batch, decode
from latecomer.errors import OptionError, StateFormatError, UnreadRowsError
from latecomer.hosts.local import MemoryChunks
from latecomer.hosts.spark.durable import offset_log
from latecomer.hosts.spark.durable.ledger import is_missing
from latecomer.hosts.spark.state_map import PIECE, STAGE, together
from latecomer.plan import Plan

End = Literal["keep", "flush"]

HELD, CHUNK = "held", "chunk"
"""Kinds of parcels: the saved state of a bucket, and a chunk of an operator."""
NUMBER = 2_147_483_647
"""Number of the micro-batch in which a stream ends."""


def held(spark: SparkSession, checkpoint: str, operator: int) -> DataFrame:
    """Return what a stage holds, as parcels.

    The query of the checkpoint must have stopped. `operator` is the number that Spark has given to
    the stage: Spark numbers stages from the last one on.
    """
    if not has_states(spark, checkpoint):
        return spark.createDataFrame(
            [], "bucket int, part long, kind string, rows long, blob binary"
        )
    saved = states(spark, checkpoint, operator, "meta").select(
        F.col("key.bucket").alias("bucket"),
        F.lit(0).cast("long").alias("part"),
        F.lit(HELD).alias("kind"),
        F.col("value.buckets").cast("long").alias("rows"),
        F.col("value.stage").alias("blob"),
    )
    chunks = states(spark, checkpoint, operator, "chunks").select(
        F.col("key.bucket").alias("bucket"),
        F.col("user_map_key.number").alias("part"),
        F.lit(CHUNK).alias("kind"),
        F.col("user_map_key.operator").cast("long").alias("rows"),
        F.col("user_map_value.rows").alias("blob"),
    )
    return saved.unionByName(chunks)


def states(spark: SparkSession, checkpoint: str, operator: int, variable: str) -> DataFrame:
    """Read a state variable of a stage, given the number that Spark has given to the stage."""
    reader = spark.read.format("statestore").option("operatorId", operator)
    return reader.option("stateVarName", variable).load(checkpoint)


def has_states(spark: SparkSession, checkpoint: str) -> bool:
    """Return True if the checkpoint has states: its query has run a micro-batch."""
    try:
        found = spark.read.format("state-metadata").load(checkpoint)
        return bool(found.take(1))
    except PySparkException as error:
        if "STDS" not in (error.getCondition() or ""):
            raise
        return False


class HeldChunks(MemoryChunks):
    """The chunks of an operator. Each stays encoded, as it was stored, until it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: dict[int, list[bytes]] = {}
        """The pieces of each chunk that has not changed."""

    def get(self, number: int) -> Batch:
        if number in self.stored:
            return together([decode(blob) for blob in self.stored[number]])
        return super().get(number)

    def put(self, number: int, rows: Batch) -> None:
        self.stored.pop(number, None)
        super().put(number, rows)

    def drop(self, number: int) -> None:
        if self.stored.pop(number, None) is None:
            super().drop(number)


class Held:
    """The state that one bucket holds, taken out of its parcels."""

    def __init__(self, parcels: Iterable[dict[str, Any]], buckets: int) -> None:
        """Open the parcels; refuse rows that were spread over another number of buckets."""
        self.saved: bytes | None = None
        self._chunks: dict[int, HeldChunks] = {}
        self.others: list[dict[str, Any]] = []
        # In order of parts: the pieces of a chunk follow each other.
        for row in sorted(parcels, key=lambda parcel: int(parcel["part"])):
            if row["kind"] == CHUNK:
                stored = self.of(row["rows"]).stored
                stored.setdefault(row["part"] % PIECE, []).append(row["blob"])
            elif row["kind"] != HELD:
                self.others.append(row)
            elif row["rows"] != buckets:
                raise StateFormatError(
                    f"the checkpoint spreads its rows over {row['rows']} buckets; the query now "
                    f"asks for {buckets}.\n"
                    f"Hint: use buckets={row['rows']} as before."
                )
            else:
                self.saved = row["blob"]
        if too_large := self.of(STAGE).stored.get(0):
            self.saved = b"".join(too_large)

    def of(self, operator: int) -> HeldChunks:
        """Return the chunks of an operator."""
        return self._chunks.setdefault(operator, HeldChunks())


def check_all_read(df: DataFrame, plan: Plan, checkpoint: str) -> None:
    """Refuse to end a stream whose query was stopped before it had read everything.

    A query that was stopped looks like one that has read everything. So it is started once more,
    with a function that refuses to write: if that is called, a micro-batch was left.

    Args:
        df: The DataFrame that the query runs on, or one with the same sources.
        plan: The plan of the query.
        checkpoint: The checkpoint of the query, which has ended.

    Raises:
        UnreadRowsError: Not all rows were read and committed. The checkpoint is as if the machine
            had stopped there: the query can go on.
    """
    writer = df.writeStream.foreachBatch(_refuse).option("checkpointLocation", checkpoint)
    try:
        writer.trigger(availableNow=True).start().awaitTermination()
    except StreamingQueryException as error:
        if _UNREAD not in str(error):
            raise
        if plan.idle is not None and not _has_unread(df.sparkSession, checkpoint):
            return
        raise UnreadRowsError(
            f'the stream of the checkpoint "{checkpoint}" was not ended: its query was stopped '
            "before it had read all rows, or more rows have arrived since.\n"
            "Hint: nothing is lost. Start it again the same way; it continues where it was."
        ) from None


def _has_unread(spark: SparkSession, checkpoint: str) -> bool:
    """Return True if planned offsets are not committed; ticks, which never end, are ignored."""
    offsets, commits = (
        offset_log.entries(spark, checkpoint, name) for name in ("offsets", "commits")
    )
    if not commits:
        return True
    last, read = (
        # Ticks are offsets of the source "rate-micro-batch".
        [line for line in offsets[number][2:] if not re.match(r'{"offset".*"timestamp"', line)]
        for number in (max(offsets), max(commits))
    )
    return last != read


_UNREAD = "latecomer: there are rows that were not read"


def _refuse(_rows: DataFrame, _number: int) -> None:
    raise RuntimeError(_UNREAD)


def check_reader(spark: SparkSession, checkpoint: str, end: End) -> None:
    """Refuse the end of a stream if this Spark refuses its reader of states.

    The reader is needed only after all rows have been read. It is tried at the start, so that the
    error comes early.

    Raises:
        OptionError: Spark refuses the reader.
    """
    if end != "flush":
        return
    try:
        has_states(spark, checkpoint)
    except PySparkException as error:
        reason = str(error).partition("\n")[0]
        raise OptionError(
            'end="flush" reads held rows with Spark\'s reader of states, format("statestore"), '
            f"which this Spark refuses: {reason}\n"
            'Hint: use end="keep"; or, for few windows, states="driver", which does not need it.'
        ) from error


def check_ends(
    spark: SparkSession, checkpoint: str, trigger: Mapping[str, Any] | None, end: End
) -> None:
    """Refuse a stream that has ended, and end="flush" for a stream that never ends.

    Raises:
        OptionError: The stream has ended, is about to end, or never ends; or `end` is unknown.
    """
    if end not in get_args(End):
        message = f'end must be "keep" or "flush"; got {end!r}.'
        raise OptionError(message)
    if end == "flush" and "availableNow" not in (trigger or ()):
        raise OptionError(
            'end="flush" emits held rows once everything has been read, which never happens with '
            f"trigger {trigger!r}.\n"
            'Hint: start(..., trigger={"availableNow": True}, end="flush").'
        )
    if set(checkpoint) & set("*?[]{}\\"):
        # Spark reads these as patterns, but writes them literally: no mark would be found again.
        if end == "flush":
            raise OptionError(
                f'end="flush" does not support the checkpoint path {checkpoint!r}.\n'
                "Hint: name a directory without any of * ? [ ] { } and backslash in it."
            )
        return
    if _has_mark(spark, checkpoint, _ENDED):
        raise OptionError(
            f'the stream of the checkpoint "{checkpoint}" has ended: all rows that it held were '
            "emitted.\n"
            "Hint: start with a new checkpoint; to continue a stream later, run it with "
            'end="keep".'
        )
    if end == "keep" and _has_mark(spark, checkpoint, _ENDING):
        raise OptionError(
            f'the stream of the checkpoint "{checkpoint}" was about to end, and some of the rows '
            "that it held were emitted.\n"
            'Hint: run it once more with end="flush".'
        )


_ENDING, _ENDED = "latecomer-ending", "latecomer-ended"


def mark_ending(spark: SparkSession, checkpoint: str) -> None:
    """Write the mark that held rows are about to be emitted, unless it is there.

    Writing it again would remove it for a moment, in which a crash would let the query go on with
    rows that were emitted already.
    """
    if not _has_mark(spark, checkpoint, _ENDING):
        _mark(spark, checkpoint, _ENDING)


def mark_ended(spark: SparkSession, checkpoint: str) -> None:
    """Write the mark that a stream has ended."""
    _mark(spark, checkpoint, _ENDED)


def _mark(spark: SparkSession, checkpoint: str, mark: str) -> None:
    told = spark.createDataFrame([(mark,)], "mark string")
    told.coalesce(1).write.mode("overwrite").text(f"{checkpoint}/{mark}")


def _has_mark(spark: SparkSession, checkpoint: str, mark: str) -> bool:
    if is_missing(spark, f"{checkpoint}/{mark}"):
        return False
    try:
        # On Spark Connect nothing is looked up before the columns are requested.
        return bool(spark.read.text(f"{checkpoint}/{mark}").columns)
    except AnalysisException:
        return False
