"""Sources and promises set the same clock in all buckets on Spark as on the local host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import latecomer as lc
from tests.support.stream_of_files import Files

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

# Partition "a" is far ahead, "b" sends promises, "c" starts late and is behind all others.
BATCHES = [
    [(1_100, "a"), (1_010, "b")],
    [(1_200, "a"), (1_005, "b"), (1_020, "b")],
    [(1_012, "b"), (1_060, "b!"), (1_150, "a")],
    [(1_055, "b"), (1_030, "a"), (1_062, "b")],
    [(1_040, "c"), (1_059, "b"), (1_063, "a")],
    [(1_300, "c"), (1_250, "b"), (1_310, "a")],
    [(1_301, "c"), (1_239, "b"), (1_241, "a")],
]


def put(files: Files, batches: list[list[tuple[int, str]]]) -> list[pa.Table]:
    """Write micro-batches of times and partitions; "b!" is a promise of "b"."""
    tables = []
    for batch in batches:
        rows = [(time, name[0]) for time, name in batch]
        promises = [name.endswith("!") for _, name in batch]
        tables.append(files.put(*rows, is_last=promises))
    return tables


def stream(rows: Any, kind: str) -> Any:  # noqa: ANN401
    given = lc.disordered(rows, time="time", sources="key", promise="is_last")
    if kind == "windows":
        return (
            given.tumbling("10 seconds")
            .wait("10 seconds")
            .group_by("key")
            .aggregate(n=lc.agg.count())
        )
    return given.sort(wait="10 seconds")


@pytest.mark.parametrize("kind", ["rows", "windows"])
def test_the_slowest_partition_and_promises_set_the_clock(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    files = Files(spark, tmp_path)
    df = files.stream("time timestamp, key string, is_last boolean")
    tables = put(files, BATCHES[:4])
    files.run(stream(df, kind))
    # The clocks of sources are in the checkpoint.
    tables += put(files, BATCHES[4:])
    files.run(stream(df, kind), end="flush")

    found = stream(tables[0], kind).run(tables)
    assert found.late.num_rows > 3
    for output, rows in (("ready", found.ready), ("late", found.late)):
        ours = sorted(str(sorted(shown(row).items())) for row in rows.to_pylist())
        assert sorted(str(sorted(shown(row).items())) for row in files.out[output]) == ours


def shown(row: dict[str, Any]) -> dict[str, Any]:
    """Return times in a common form."""
    row = row | (row.pop("window", None) or {})
    return {n: v.timestamp() if hasattr(v, "timestamp") else v for n, v in row.items()}
