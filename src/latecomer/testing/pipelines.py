"""Check that your own pipeline does not care in which order its rows arrive."""

from __future__ import annotations

import tempfile
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from latecomer.generate.micro_batches import write_micro_batches
from latecomer.time import Duration, TimeColumn, Unit, parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession


def same_under_disorder(
    spark: SparkSession,
    pipeline: Callable[[DataFrame], DataFrame],
    table: pa.Table,
    *,
    time: str,
    max_delay: Duration,
    unit: Unit | None = None,
    batches: int = 8,
    seed: int = 0,
) -> None:
    """Assert that disorder leaves no trace in what a streaming pipeline puts out.

    The rows are streamed twice through `pipeline`, as so many micro-batches each time: in time
    order, and in an order of arrival in which each row is delayed by up to `max_delay`. Both must
    put out the same rows, in whatever order. A row ten years after the last one, its other columns
    null, ends both streams, so that what is still held comes out; pipelines must let it pass.

    Args:
        spark: The session to run in.
        pipeline: A function from the streaming DataFrame of the rows to what you make of it.
        table: The rows.
        time: Their time column.
        max_delay: The longest delay; a pipeline that waits this long must pass.
        unit: The unit of an integer time column.
        batches: The number of micro-batches.
        seed: Other seeds give other disorder; the same one gives the same.

    Raises:
        AssertionError: The two differ; the message shows rows on one side only.
    """
    column = TimeColumn(time, unit)
    times = column.micros(table)
    longest = parse_duration(max_delay, "max_delay")
    delays = np.random.default_rng(seed).integers(0, longest, len(times), endpoint=True)
    ordered = table.take(pa.array(np.argsort(times, kind="stable")))
    shuffled = table.take(pa.array(np.argsort(times + delays, kind="stable")))
    expected = _stream(spark, pipeline, ordered, column, batches)
    got = _stream(spark, pipeline, shuffled, column, batches)
    missing, extra = expected - got, got - expected
    if missing or extra:
        raise AssertionError(
            f"disorder of up to {max_delay} changed the result (seed {seed}).\n"
            f"only without disorder ({missing.total()}): {_some(missing)}\n"
            f"only with disorder ({extra.total()}): {_some(extra)}"
        )


def _some(rows: Counter[str]) -> str:
    return "; ".join(sorted(rows)[:5]) or "none"


def _stream(
    spark: SparkSession,
    pipeline: Callable[[DataFrame], DataFrame],
    table: pa.Table,
    time: TimeColumn,
    batches: int,
) -> Counter[str]:
    from latecomer.hosts.spark.checks import in_a_replay

    with tempfile.TemporaryDirectory(prefix="latecomer-testing-") as directory:
        closed = pa.concat_tables([table, _closing_row(table, time)])
        source = write_micro_batches(closed, f"{directory}/rows", batches)
        schema = spark.read.parquet(str(source)).schema
        df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))

        def write(rows: DataFrame, number: int) -> None:
            rows.write.mode("overwrite").parquet(f"{directory}/out/{number}")

        # The row that ends the stream is years ahead of the wall clock.
        with in_a_replay():
            made = pipeline(df)
        query = (
            made.writeStream.foreachBatch(write)
            .option("checkpointLocation", f"{directory}/checkpoint")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        out = spark.read.option("recursiveFileLookup", "true").parquet(f"{directory}/out")
        return Counter(map(repr, out.collect()))


def _closing_row(table: pa.Table, time: TimeColumn) -> pa.Table:
    last = int(time.micros(table).max(initial=0))
    row = pa.table([pa.nulls(1, field.type) for field in table.schema], schema=table.schema)
    return time.replaced(row, [last + _FAR])


_FAR = 10 * 365 * 86_400_000_000
