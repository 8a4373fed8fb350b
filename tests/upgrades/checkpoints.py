"""Whole checkpoints with their inputs and outputs, and the queries that continue from them.

The states of single stages are in `queries`. Here are the files around them: Spark's logs and state
store, the records of the query, its owners and its outputs, state files of the driver, and the
manifests of a table of current rows.

A checkpoint contains the path of its source, and Spark's local file system keeps checksums of its
files. So packing and unpacking a checkpoint replaces paths, and leaves out checksums.
"""

from __future__ import annotations

import zipfile
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import latecomer as lc
from latecomer import agg
from tests.upgrades.queries import events, rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

CHECKPOINTS = Path(__file__).with_name("checkpoints")
_ROOT = b"/path/of/the/checkpoint"
SCHEMA = "time timestamp, until timestamp, key string, value long, text string"
WAIT = "20 s"
"""A time after all rows."""


@dataclass(frozen=True)
class Kept:
    """A query that runs in a directory."""

    stream: Callable[[DataFrame], Any]
    ready: Callable[[str], Any]
    """Returns the output for ready rows under a path."""
    read: Callable[[SparkSession, str], DataFrame]
    expected: Callable[[pa.Table], pa.Table]
    """Returns the expected output for all rows."""
    options: dict[str, Any]

    def run(self, spark: SparkSession, directory: Path, end: str) -> None:
        """Run the query over all available rows."""
        df = spark.readStream.schema(SCHEMA).parquet(str(directory / "rows"))
        outputs = {"ready": self.ready(f"{directory}/ready"), "late": f"{directory}/late"}
        options = {"checkpoint": f"{directory}/checkpoint", "trigger": {"availableNow": True}}
        self.stream(df).start(outputs, end=end, **options, **self.options).awaitTermination()

    def found(self, spark: SparkSession, directory: Path) -> list[tuple[Any, ...]]:
        """Return the output in any order, without the numbers of micro-batches."""
        return comparable(self.read(spark, f"{directory}/ready").drop("batch").toArrow())


def _counts(df: DataFrame) -> Any:  # noqa: ANN401
    windows = events(df).tumbling("10 s").wait(WAIT)
    return windows.group_by("key").aggregate(n=agg.count(), total=agg.sum("value"))


def _sums(table: pa.Table) -> pa.Table:
    groups = defaultdict(list)
    for row in table.to_pylist():
        start = row["time"] - timedelta(seconds=row["time"].second % 10)
        groups[start, row["key"]].append(row["value"])
    return pa.Table.from_pylist(
        [
            {"window_start": start, "window_end": start + timedelta(seconds=10), "key": key}
            | {"n": len(values), "total": sum(values)}
            for (start, key), values in groups.items()
        ]
    )


def comparable(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return sorted rows with times as numbers, because Spark and Arrow name UTC differently."""
    return sorted(
        (
            tuple(v.timestamp() if isinstance(v, datetime) else v for v in row.values())
            for row in table.to_pylist()
        ),
        key=repr,
    )


KEPT = {
    "buckets": Kept(
        lambda df: events(df, sources="key").sort(wait=WAIT, buckets=1),
        str,
        lc.read,
        lambda table: table,
        {},
    ),
    "driver": Kept(
        lambda df: _counts(df).formatted(windows="columns"),
        lambda path: lc.upsert(path, key=["window_start", "window_end", "key"]),
        lc.current,
        _sums,
        {"states": "driver"},
    ),
}


def add_rows(directory: Path, half: int) -> None:
    """Add one half of the rows to the source, as a file."""
    table = rows()
    middle = table.num_rows // 2
    (directory / "rows").mkdir(parents=True, exist_ok=True)
    part = table.slice(0, middle) if half == 0 else table.slice(middle)
    pq.write_table(part, directory / "rows" / f"{half}.parquet")


def pack(directory: Path, file: Path) -> None:
    """Write a directory to a file, without its own path."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(directory.rglob("*")):
            if path.is_file() and not path.name.endswith((".crc", ".lock")):
                name = str(path.relative_to(directory))
                content = path.read_bytes().replace(str(directory).encode(), _ROOT)
                packed.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


def unpack(file: Path, directory: Path) -> None:
    """Write the content of a file made by `pack` to a directory."""
    with zipfile.ZipFile(file) as packed:
        packed.extractall(directory)
    for path in directory.rglob("*"):
        if path.is_file() and _ROOT in (content := path.read_bytes()):
            path.write_bytes(content.replace(_ROOT, str(directory).encode()))
