"""A stream of files that several queries read, one after the other."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

SECOND = 1_000_000


class Files:
    """A stream of files, one for each micro-batch, and the output of its queries."""

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self._spark = spark
        self._directory = directory
        (directory / "rows").mkdir()
        self._number = 0
        self.out: dict[str, list[dict[str, Any]]] = {"ready": [], "late": []}

    def put(self, *rows: tuple[int, str], **more: Any) -> pa.Table:  # noqa: ANN401
        """Write a file of rows with a time in seconds and a key; return the rows."""
        times = pa.array([time * SECOND for time, _ in rows], pa.timestamp("us", "UTC"))
        columns = {"time": times, "key": [key for _, key in rows]}
        columns |= {
            name: value if isinstance(value, list) else [value] * len(rows)
            for name, value in more.items()
        }
        path = self._directory / "rows" / f"{self._number}.parquet"
        table = pa.table(columns)
        pq.write_table(table, path)
        # Spark reads files in order of modification time, which may be equal.
        os.utime(path, (self._number + 1, self._number + 1))
        self._number += 1
        return table

    def stream(self, columns: str) -> DataFrame:
        """Read the files as a stream."""
        reader = self._spark.readStream.schema(columns).option("maxFilesPerTrigger", 1)
        return reader.parquet(f"{self._directory}/rows")

    def run(self, stream: Any, checkpoint: str = "checkpoint", **options: Any) -> None:  # noqa: ANN401
        """Run a query over all existing files."""

        def keep(output: str) -> Callable[[DataFrame, int], None]:
            def sink(rows: DataFrame, _number: int) -> None:
                self.out[output] += [row.asDict(recursive=True) for row in rows.collect()]

            return sink

        query = stream.start(
            {"ready": keep("ready"), "late": keep("late")},
            checkpoint=self.at(checkpoint),
            trigger={"availableNow": True},
            **options,
        )
        query.awaitTermination()

    def at(self, name: str) -> str:
        """Return the path of a checkpoint."""
        return f"{self._directory}/{name}"

    def times(self, output: str) -> list[int]:
        """Return the sorted times of all output rows, in seconds."""
        return sorted(int(row["time"].timestamp()) for row in self.out[output])
