"""Check that the output of your own pipeline does not depend on the order of arrival.

Disorder only matters from one micro-batch to the next: a row is late because of rows in earlier
micro-batches. So rows are delayed, some of them as long as allowed, and cut into micro-batches just
before the rows that are furthest behind:

    time      1  2  3  4  5  6          delays up to 3
    arriving  2  3 │ 1  5 │ 4  6        1 comes after 3, and 4 after 5, each in a later micro-batch
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from latecomer.batch import Positions
from latecomer.errors import OptionError
from latecomer.generate.micro_batches import write_micro_batches
from latecomer.time import Duration, TimeColumn, Times, Unit, parse_duration

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from latecomer.api.readable import Readable

ON_SPARK, LOCALLY = 8, 128
"""Default number of micro-batches; on Spark it is small, because each takes about a second."""


def same_under_disorder(
    spark: SparkSession | None,
    pipeline: Callable[[Any], Readable | DataFrame],
    table: pa.Table,
    *,
    time: str,
    max_delay: Duration,
    unit: Unit | None = None,
    batches: int | None = None,
    seed: int = 0,
) -> None:
    """Assert that a streaming pipeline gives the same output when rows arrive out of order.

    The rows are streamed twice through `pipeline`, each time as `batches` micro-batches: in time
    order, and in an order of arrival in which each row is delayed by up to `max_delay`. Both must
    emit the same rows, in any order.

    Without Spark the pipeline runs in this process, in much less time and with more micro-batches.
    It is then passed an Arrow table in place of a DataFrame, and must return a Latecomer stream
    that can be run. With Spark it may return any streaming DataFrame. There both streams end with
    a row ten years after the last one, whose other columns are null, so that all rows still held
    are emitted. Pipelines must not filter out that row.

    Args:
        spark: The session to run in; None to run in this process.
        pipeline: A function that takes the rows, a streaming DataFrame or a table, and returns a
            Latecomer stream or a DataFrame.
        table: The rows.
        time: Name of the time column.
        max_delay: The longest delay; a pipeline that waits this long must pass.
        unit: The unit of an integer time column.
        batches: Number of micro-batches; by default 8 on Spark and 128 in this process.
        seed: Other seeds give other disorder; the same one gives the same.

    Raises:
        AssertionError: The outputs differ; the message shows rows that only one of them has.
        OptionError: No row can come after a later one: rows are further apart than `max_delay`.
    """
    column = TimeColumn(time, unit)
    times = column.micros(table)
    longest = parse_duration(max_delay, "max_delay")
    count = batches or (LOCALLY if spark is None else ON_SPARK)
    order, cuts = _arrivals(times, longest, count, seed)
    in_order = np.argsort(times, kind="stable")
    even = np.linspace(0, len(times), count + 1, dtype=np.int64)[1:-1].tolist()

    def put_out(order: Positions, cuts: Sequence[int]) -> Counter[str]:
        pieces = [table.take(pa.array(part)) for part in np.split(order, cuts) if len(part)]
        if spark is None:
            return _locally(pipeline, pieces)
        return _on_spark(spark, pipeline, pieces, column)

    expected, got = put_out(in_order, even), put_out(order, cuts)
    missing, extra = expected - got, got - expected
    if missing or extra:
        raise AssertionError(
            f"disorder of up to {max_delay} changed the result (seed {seed}).\n"
            f"only without disorder ({missing.total()}): {_some(missing)}\n"
            f"only with disorder ({extra.total()}): {_some(extra)}"
        )


def _arrivals(times: Times, longest: int, batches: int, seed: int) -> tuple[Positions, list[int]]:
    """Draw an order of arrival, and cut it before the rows that are furthest behind.

    Returns:
        The positions of the rows in order of arrival, and the start of each micro-batch but the
        first.
    """
    random = np.random.default_rng(seed)
    delays = random.integers(0, longest, len(times), endpoint=True)
    # About a third of the rows have no delay, and about a third the longest.
    fate = random.integers(0, 3, len(times))
    delays[fate == 0], delays[fate == 1] = 0, longest
    order = np.lexsort((delays, times + delays))
    arriving = times[order]
    behind = np.maximum.accumulate(arriving) - arriving if len(arriving) else arriving
    overtaken = np.flatnonzero(behind)
    if not len(overtaken):
        raise OptionError(
            "these delays put no row out of order, so nothing would be tested.\n"
            "Hint: rows are further apart than max_delay, or there are too few of them; use a "
            "longer delay, or more rows."
        )
    groups = np.array_split(overtaken, min(max(batches - 1, 1), len(overtaken)))
    return order, [int(group[np.argmax(behind[group])]) for group in groups]


def _some(rows: Counter[str]) -> str:
    return "; ".join(sorted(rows)[:5]) or "none"


def _locally(
    pipeline: Callable[[Any], Readable | DataFrame], pieces: Sequence[pa.Table]
) -> Counter[str]:
    from latecomer.api.readable import Readable

    stream = pipeline(pieces[0])
    if not isinstance(stream, Readable):
        raise OptionError(
            "without Spark the pipeline must return a stream that can be run; got "
            f"{type(stream)}.\n"
            "Hint: leave out to_df(), or pass a Spark session."
        )
    return Counter(map(repr, stream.run(pieces).ready.to_pylist()))


def _on_spark(
    spark: SparkSession,
    pipeline: Callable[[Any], Readable | DataFrame],
    pieces: Sequence[pa.Table],
    time: TimeColumn,
) -> Counter[str]:
    from latecomer.api.readable import Readable
    from latecomer.hosts.spark.checks import in_a_replay

    with tempfile.TemporaryDirectory(prefix="latecomer-testing-") as directory:
        last = max(int(time.micros(piece).max()) for piece in pieces)
        closing = _closing_row(pieces[0].schema, time, last)
        for number, piece in enumerate([*pieces, closing]):
            source = write_micro_batches(piece, f"{directory}/rows", 1, first=number)
        schema = spark.read.parquet(str(source)).schema
        df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))

        def write(rows: DataFrame, number: int) -> None:
            rows.write.mode("overwrite").parquet(f"{directory}/out/{number}")

        # The row that ends the stream is years ahead of the wall clock.
        with in_a_replay():
            made = pipeline(df)
        query = (
            (made.to_df() if isinstance(made, Readable) else made)
            .writeStream.foreachBatch(write)
            .option("checkpointLocation", f"{directory}/checkpoint")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        out = spark.read.option("recursiveFileLookup", "true").parquet(f"{directory}/out")
        return Counter(map(repr, out.collect()))


def _closing_row(schema: pa.Schema, time: TimeColumn, last: int) -> pa.Table:
    row = pa.table([pa.nulls(1, field.type) for field in schema], schema=schema)
    return time.replaced(row, [last + _FAR])


_FAR = 10 * 365 * 86_400_000_000
