"""Outputs in directories, where readers see only whole micro-batches.

    PATH/batch=7/attempt=r1-5f0c/part-….parquet     written by the first run, which was killed
    PATH/batch=7/attempt=r2-9ab3/part-….parquet     written again by the second
    PATH/_latecomer/7-r2-9ab3                       the record: batch 7 is complete, in r2-9ab3

A micro-batch is written to a directory with the name of its run, and existing files are not
touched. When all files of the batch are written, a record says so. A reader (`read`) takes, for
each batch, the directory that the highest epoch has recorded. So it sees a batch as a whole or not
at all, even while the batch is written again. A driver that has been replaced cannot change it.

**Exactly once.** A batch that is run again has the same rows and is recorded again. The new record
replaces that of an earlier run, and the files of the earlier run are removed.

A plain `spark.read.parquet(PATH)` has all rows once as well, with the columns `batch` and
`attempt`, as long as no batch is being written: it also sees files whose batch is not complete.
"""

from collections.abc import Collection
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from latecomer.errors import OptionError
from latecomer.hosts.spark.durable.ledger import Ledger, is_missing
from latecomer.hosts.spark.durable.owner import Owner, known_ids, rank
from latecomer.hosts.spark.durable.parquet import ParquetWriter
from latecomer.hosts.spark.local_rows import LocalRows, framed, session_of

BATCH, ATTEMPT = "batch", "attempt"
"""The columns in the names of directories."""


def check(spark: SparkSession, path: str, checkpoint: Collection[str]) -> bool:
    """Return True if a directory is an output of this checkpoint already, False if of none.

    `checkpoint` has all ids of the checkpoint; see `owner.known_ids`.

    Raises:
        OptionError: It is an output of another checkpoint, or has files of other software.
    """
    owners = {record["checkpoint"] for record in Ledger(spark, _records(path)).read()}
    if owners - set(checkpoint):
        raise OptionError(
            f'the directory "{path}" has the output of another checkpoint.\n'
            "Hint: with a new checkpoint write to a new directory; continue with the old "
            "checkpoint to add to the old directory."
        )
    if not owners and _has_files(spark, path):
        raise OptionError(
            f'the directory "{path}" has files that no checkpoint of this version wrote.\n'
            "Hint: write to a new directory."
        )
    return bool(owners)


def adopt(spark: SparkSession, path: str, owner: Owner) -> None:
    """Make a directory the output of a checkpoint; see `check`."""
    if not check(spark, path, {*known_ids(spark, owner.checkpoint), owner.id}):
        Ledger(spark, _records(path)).add("checkpoint", {"checkpoint": owner.id})


def write(
    rows: DataFrame | LocalRows,
    path: str,
    number: int,
    owner: Owner,
    writer: ParquetWriter | None = None,
) -> None:
    """Write the rows of one micro-batch, and then the record that it is complete.

    `writer` writes few rows of this process if the directory is local; Spark writes all others.
    """
    part = f"{BATCH}={number}/{ATTEMPT}={owner.attempt}"
    ledger = Ledger(session_of(rows), _records(path), owner.places)
    if not (
        isinstance(rows, LocalRows)
        and writer is not None
        and ledger.local is not None
        and writer.write(rows, ledger.local.parent / part)
    ):
        framed(rows).write.mode("overwrite").parquet(f"{path}/{part}")
    record = {
        "checkpoint": owner.id,
        BATCH: number,
        "epoch": owner.epoch,
        ATTEMPT: owner.attempt,
    }
    ledger.add(f"{number}-{owner.attempt}", record)


def clean(spark: SparkSession, path: str, number: int, owner: Owner) -> None:
    """Remove the files that earlier runs wrote of a micro-batch that this run has written again.

    Files of later runs stay: a driver that was replaced, and does not know it yet, may call this.
    """
    directory = f"{path}/{BATCH}={number}"
    try:
        found = spark.read.parquet(directory)
    except AnalysisException:
        return
    if ATTEMPT not in found.columns:
        return
    attempts = [row[0] for row in found.select(ATTEMPT).distinct().collect()]
    nothing = spark.createDataFrame([], found.drop(ATTEMPT).schema)
    for attempt in attempts:
        if rank(attempt) < owner.rank:
            # Spark has no public way to delete files, but it replaces them on every file system.
            nothing.write.mode("overwrite").parquet(f"{directory}/{ATTEMPT}={attempt}")


def read(spark: SparkSession, path: str) -> DataFrame:
    """Read the complete micro-batches of an output; see `latecomer.read`."""
    records = [record for record in Ledger(spark, _records(path)).read() if BATCH in record]
    if not records:
        raise OptionError(
            f'no micro-batch is complete under "{path}".\n'
            "Hint: an output of start() can be read once its first micro-batch is written; read "
            "other files with spark.read.parquet()."
        )
    complete: dict[int, dict[str, Any]] = {}
    for record in sorted(records, key=lambda record: rank(record[ATTEMPT])):
        complete[record[BATCH]] = record
    directories = [
        f"{path}/{BATCH}={number}/{ATTEMPT}={record[ATTEMPT]}"
        for number, record in sorted(complete.items())
    ]
    try:
        return spark.read.option("basePath", path).parquet(*directories).drop(ATTEMPT)
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        raise OptionError(
            f'"{path}" has a record of a micro-batch whose files are gone: '
            f"{(error.getMessageParameters() or {}).get('path')}.\n"
            f"Hint: bring them back; or move its record too, from {_records(path)}: the name of a "
            "record begins with the number of its micro-batch."
        ) from None


def _has_files(spark: SparkSession, path: str) -> bool:
    if is_missing(spark, path):
        return False
    try:
        return bool(spark.read.parquet(path).columns)
    except AnalysisException as error:
        # There is nothing, or nothing that is Parquet.
        return error.getCondition() not in {"PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"}


def _records(path: str) -> str:
    return f"{path}/_latecomer"
