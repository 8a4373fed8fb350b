"""Stream batches through Spark, and read the output of each micro-batch."""

import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession

from latecomer import AggregatedStream, CorrectedStream, OrderedStream
from latecomer.generate.micro_batches import write_micro_batches

Rows = list[Row]
PerBatch = dict[int, Rows]
"""Rows by the number of their micro-batch."""


def source(spark: SparkSession, batches: Sequence[pa.Table], directory: str) -> DataFrame:
    """Return a streaming DataFrame that reads one batch in each micro-batch."""
    for number, batch in enumerate(batches):
        write_micro_batches(batch, directory, 1, first=number)
    schema = spark.read.parquet(directory).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(directory)


def stream(
    spark: SparkSession,
    batches: Sequence[pa.Table],
    build: Callable[[DataFrame], OrderedStream | AggregatedStream | CorrectedStream],
    **options: str,
) -> tuple[PerBatch, PerBatch]:
    """Run the stream that `build` makes; return the ready and the late rows by micro-batch.

    Args:
        spark: The session.
        batches: The rows of each micro-batch.
        build: Returns the stream to start, given the DataFrame.
        options: More arguments of `start`.
    """
    ready: PerBatch = defaultdict(list)
    late: PerBatch = defaultdict(list)

    def keep(into: PerBatch) -> Callable[[DataFrame, int], None]:
        def write(df: DataFrame, number: int) -> None:
            into[number] = df.collect()

        return write

    with tempfile.TemporaryDirectory() as directory:
        built = build(source(spark, batches, f"{directory}/rows"))
        if isinstance(built, AggregatedStream):
            # The driver closes windows one micro-batch earlier than the local host.
            options = {"states": "buckets"} | options
        query = built.start(
            {"ready": keep(ready), "late": keep(late)},
            checkpoint=f"{directory}/checkpoint",
            trigger={"availableNow": True},
            **options,
        )
        query.awaitTermination()
    return ready, late
