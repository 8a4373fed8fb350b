"""What does it cost to replay from Parquet, compared with a source whose rows are ready?

Printed are rows per second, on the same rows, micro-batches and tasks, of

    replay   format("latecomer.replay") by rows: cut, open, decode, return rows
    ready    a Python source that only returns Arrow batches from a memory-mapped file: the least
             that Spark needs to get rows from Python

Both write nothing. They take turns, after a warm-up each. The best run of each counts, without its
first micro-batch.

    python -m benchmarks.replay [--rows 4000000] [--json]
"""

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

import latecomer as lc

SCHEMA = "arrival timestamp, key int, value double, name string"
ARROW_ROWS = 62_500
TASK_ROWS = 250_000


def make_rows(rows: int, seed: int = 1) -> pa.Table:
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "arrival": pa.array(np.arange(rows) * 1_000, pa.timestamp("us", "UTC")),
            "key": random.integers(0, 1_000, rows).astype(np.int32),
            "value": random.random(rows),
            "name": pa.array(np.char.add("item-", random.integers(0, 10_000, rows).astype(str))),
        }
    )


class ReadySource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "ready"

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return ReadyReader(self.options)


class ReadyReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: Mapping[str, str]) -> None:
        self.path = options["path"]
        self.step = int(options["rowsPerBatch"])
        self.rows = int(options["rows"])

    def initialOffset(self) -> dict[str, int]:
        return {"rows": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self.step)

    def prepareForTriggerAvailableNow(self) -> None:
        pass

    def latestOffset(self, start: Mapping[str, int], limit: ReadLimit) -> dict[str, int]:
        return {"rows": min(self.rows, start["rows"] + self.step)}

    def partitions(self, start: Mapping[str, int], end: Mapping[str, int]) -> list[InputPartition]:
        first, last = start["rows"], end["rows"]
        starts = range(first, last, TASK_ROWS)
        return [InputPartition((row, min(row + TASK_ROWS, last))) for row in starts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        start, stop = partition.value
        with pa.memory_map(self.path) as file:
            batches = pa.ipc.open_file(file)
            while start < stop:
                number, skipped = divmod(start, ARROW_ROWS)
                batch = batches.get_batch(number).slice(skipped, stop - start)
                start += batch.num_rows
                yield batch


def read(spark: SparkSession, name: str, work: Path, rows: int, step: int) -> DataFrame:
    stream = spark.readStream.option("rowsPerBatch", step)
    if name == "replay":
        return stream.format("latecomer.replay").load(str(work / "rows.parquet"))
    return stream.format("ready").option("rows", rows).load(str(work / "rows.arrow"))


def run(df: DataFrame, rows: int) -> float:
    """Run a query over all rows; return its rows per second after the first micro-batch."""
    query = df.writeStream.format("noop").trigger(availableNow=True).start()
    query.awaitTermination()
    progress = [p for p in query.recentProgress if p["numInputRows"]]
    counted = sum(p["numInputRows"] for p in progress)
    assert counted == rows, [(p["numInputRows"], p["sources"][0]["endOffset"]) for p in progress]
    seconds = sum(p["durationMs"]["triggerExecution"] for p in progress[1:]) / 1e3
    return sum(p["numInputRows"] for p in progress[1:]) / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--step", type=int, default=500_000, help="rows in a micro-batch")
    parser.add_argument("--group", type=int, default=131_072, help="rows in a Parquet row group")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print a JSON line")
    arguments = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="latecomer-bench-"))
    try:
        table = make_rows(arguments.rows).combine_chunks()
        pq.write_table(table, work / "rows.parquet", row_group_size=arguments.group)
        with pa.ipc.new_file(work / "rows.arrow", table.schema) as file:
            file.write_table(table, ARROW_ROWS)
        del table
        spark = lc.session()
        spark.dataSource.register(ReadySource)
        speeds: dict[str, list[float]] = {"ready": [], "replay": []}
        for turn in range(arguments.rounds + 1):
            for name, seen in speeds.items():
                df = read(spark, name, work, arguments.rows, arguments.step)
                speed = run(df, arguments.rows)
                if turn:
                    seen.append(speed)
        spark.stop()
    finally:
        shutil.rmtree(work)
    best = {name: max(seen) for name, seen in speeds.items()}
    result = {
        "benchmark": "replay",
        "rows": arguments.rows,
        "rows_per_batch": arguments.step,
        "row_group": arguments.group,
        "replay_rows_per_second": round(best["replay"]),
        "ready_rows_per_second": round(best["ready"]),
        "ratio": round(best["replay"] / best["ready"], 3),
        "all": {name: [round(speed) for speed in seen] for name, seen in speeds.items()},
    }
    print(
        json.dumps(result) if arguments.json else "\n".join(f"{k}  {v}" for k, v in result.items())
    )


if __name__ == "__main__":
    main()
