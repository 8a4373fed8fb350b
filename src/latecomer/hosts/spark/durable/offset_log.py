"""Spark's logs of the micro-batches of a checkpoint.

    CHECKPOINT/offsets/7    v1 │ {"batchWatermarkMs": …, …} │ offset of each source after batch 7
    CHECKPOINT/commits/7    v1 │ {"nextBatchWatermarkMs": …}

A micro-batch has begun when it has offsets, and is done when it has a commit. Spark's watermark of
a micro-batch is our clock in it.
"""

import json
from collections.abc import Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from latecomer.hosts.spark.durable.ledger import is_missing


def entries(spark: SparkSession, checkpoint: str, log: str) -> dict[int, list[str]]:
    """Return the lines of each entry of a log, by the number of its micro-batch."""
    if is_missing(spark, f"{checkpoint}/{log}"):
        return {}
    try:
        # As an option, `wholetext` would be overwritten by the default of the argument.
        files = spark.read.text(f"{checkpoint}/{log}", wholetext=True)
        lines = files.select("_metadata.file_name", "value").collect()
    except AnalysisException as error:
        if error.getCondition() not in ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"):
            raise
        return {}
    return {int(name): str(value).splitlines() for name, value in lines if name.isdigit()}


def last_clock(spark: SparkSession, checkpoint: str) -> int:
    """Return Spark's watermark in the last micro-batch that has begun, in milliseconds."""
    offsets = entries(spark, checkpoint, "offsets")
    return int(json.loads(offsets[max(offsets)][1])["batchWatermarkMs"]) if offsets else 0


def clock(lines: Sequence[str]) -> int:
    """Return the wall clock of a micro-batch in microseconds, from its entry in the offset log.

    It is Spark's `current_timestamp` in this micro-batch, also when that is run again.
    """
    return int(json.loads(lines[1])["batchTimestampMs"]) * 1_000


def last_done(spark: SparkSession, checkpoint: str) -> int:
    """Return the number of the last micro-batch that was done; -1 if none was."""
    return max(entries(spark, checkpoint, "commits"), default=-1)
