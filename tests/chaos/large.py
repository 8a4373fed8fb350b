"""Release more than 2 GiB from one bucket, on real Spark.

    python -m tests.chaos.large               three queries, 2.2 GiB each
    python -m tests.chaos.large flush         one of them
    python -m tests.chaos.large flush --directory DIR    in a directory that is kept; a run that was
                                              killed continues there

An Arrow array of bytes, a message to Spark's state store and a Java array are all limited to 2 GiB.
Rows of a megabyte fill one bucket over many micro-batches; then all of them are due at once:

    release       one row far ahead moves the watermark past all rows, in one micro-batch
    stages        as `release`, and a second stage gets all rows in the same micro-batch
    flush         the stream ends, and all held rows come out

Every row must come out once, with its bytes. The queries need about 10 GiB of memory and 20 GiB of
disk, so `make test` does not run them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

import latecomer as lc
from latecomer.generate.micro_batches import write_micro_batches
from tests.chaos.processes import descendants, resident

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MIB = 1 << 20
BEGIN, SECOND = 1_700_000_000_000_000, 1_000_000
KEYS = 10
WAIT = 1_000_000
"""Seconds; no row is due before one comes that is far ahead."""
CONFIG = {
    "spark.ui.enabled": "false",
    # Spark's reader would put 4,096 of these rows, 4 GiB, into one array of its own.
    "spark.sql.parquet.columnarReaderBatchSize": "64",
}


def written(directory: Path, rows: int, width: int, batches: int) -> str:
    """Write rows with random bytes, and one far ahead; each file is a micro-batch.

    If the last file exists, all of them do.
    """
    if (directory / f"{batches:06}.parquet").exists():
        return str(directory)
    drawn = np.random.default_rng(7)
    step = -(-rows // batches)
    for number, first in enumerate(range(0, rows, step)):
        ids = np.arange(first, min(first + step, rows))
        _write(directory, number, drawn.permutation(ids), [drawn.bytes(width) for _ in ids])
    _write(directory, batches, np.array([rows + 2 * WAIT]), [b""])
    return str(directory)


def _write(directory: Path, number: int, ids: Any, payloads: list[bytes]) -> None:  # noqa: ANN401
    """Write one file; row `i` has a time of `i` seconds."""
    columns = {
        "id": pa.array(ids, pa.int64()),
        "time": pa.array(BEGIN + ids * SECOND, pa.timestamp("us", "UTC")),
        "all": pa.array(np.zeros(len(ids)), pa.int32()),
        "key": pa.array(ids % KEYS, pa.int32()),
        "payload": pa.array(payloads, pa.binary()),
    }
    write_micro_batches(pa.table(columns), directory, 1, first=number)


class Peak(threading.Thread):
    """The peak memory of the JVM and of the Python workers, in MiB."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most, self.is_over = {"JVM": 0, "workers": 0, "all": 0}, False

    def run(self) -> None:
        while not self.is_over:
            now = {"JVM": 0, "workers": 0}
            for pid, line in descendants().items():
                now["workers" if "pyspark" in line and "java" not in line else "JVM"] += resident(
                    pid
                )
            now["all"] = sum(now.values())
            self.most = {name: max(most, now[name]) for name, most in self.most.items()}
            time.sleep(0.5)


def run(spark: SparkSession, kind: str, source: str, directory: Path, rows: int) -> dict[str, Any]:
    """Run one of the queries, and return its figures.

    Raises:
        AssertionError: Rows were lost, came out twice, or have other bytes.
    """
    files = "*.parquet"
    if kind == "flush":
        # Leave out the row far ahead.
        files = f"{{{','.join(sorted(each.name for each in Path(source).glob(files))[:-1])}}}"
    schema = "id long, time timestamp, all int, key int, payload binary"
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    df = reader.option("pathGlobFilter", files).parquet(source)
    stream: Any = lc.disordered(df, time="time", key="all").sort(wait=f"{WAIT} seconds", buckets=1)
    if kind == "stages":
        stream = stream.temporal().until_next("all").until_next("key")
    began, peak = time.monotonic(), Peak()
    peak.start()
    query = stream.start(
        {"ready": str(directory / "ready"), "late": str(directory / "late")},
        checkpoint=str(directory / "checkpoint"),
        trigger={"availableNow": True},
        end="flush" if kind == "flush" else "keep",
    )
    query.awaitTermination()
    peak.is_over = True
    took = time.monotonic() - began
    out = lc.read(spark, str(directory / "ready"))
    # The last row of each key has no end, and does not come out.
    wanted = rows - KEYS if kind == "stages" else rows
    counts = out.groupBy("batch").count().collect()
    told = {
        "query": kind,
        "rows out": sum(each["count"] for each in counts),
        "GiB out": round(out.select(F.sum(F.length("payload"))).first()[0] / 1024**3, 2),  # type: ignore[index]
        "rows of the largest micro-batch": max(each["count"] for each in counts),
        "micro-batches": len(query.recentProgress),
        "seconds": round(took),
        "peak MiB": peak.most,
    }
    assert told["rows out"] == wanted, told
    assert told["rows of the largest micro-batch"] == wanted, told
    read = spark.read.parquet(source).where(f"id < {wanted}")
    assert _sum(out) == _sum(read), f"{told}: other bytes came out"
    if kind == "stages":
        _check_ends(out)
    return told


def _sum(rows: DataFrame) -> Any:  # noqa: ANN401
    """Return a checksum of rows in any order, with their bytes."""
    return rows.select(F.sum(F.xxhash64("id", "payload").cast("decimal(38, 0)"))).first()


def _check_ends(out: DataFrame) -> None:
    """Check that each row lasts until the next one of its key."""
    wrong = out.where(f"unix_micros(end) - unix_micros(start) != {KEYS * SECOND}").count()
    assert not wrong, f"{wrong} rows end elsewhere"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = ("release", "stages", "flush")
    parser.add_argument("kinds", nargs="*", choices=[*kinds, []], help="which; all by default")
    parser.add_argument("--rows", type=int, default=2_250)
    parser.add_argument("--bytes", type=int, default=MIB, help="of a row")
    parser.add_argument("--batches", type=int, default=18)
    parser.add_argument("--directory", type=Path, help="for all files; it is kept until the end")
    given = parser.parse_args()
    where = given.directory or Path(tempfile.mkdtemp(prefix="latecomer-large-"))
    try:
        spark = lc.session("latecomer-large", master="local[2]", config=CONFIG)
        source = written(where / "rows", given.rows, given.bytes, given.batches)
        for kind in given.kinds or kinds:
            told = run(spark, kind, source, where / kind, given.rows)
            print(json.dumps(told), flush=True)
            shutil.rmtree(where / kind)
        spark.stop()
    finally:
        if given.directory is None:
            shutil.rmtree(where, ignore_errors=True)


if __name__ == "__main__":
    main()
