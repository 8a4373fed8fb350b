"""Write all outputs of a stream by one query, each event processed once.

Two DataFrames written by two queries would each sort the whole stream. Here a micro-batch is run
once, kept, and each output is unpacked from it.

**Exactly once.** Spark may run the last micro-batch again after a crash, and it then holds the
same rows. So what is written for batch 7 goes into a directory of its own, `batch=7`, and replaces
what stood there. Reading the parent directory gives all rows, once, with their `batch`.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.types import StructType

from latecomer.errors import ColumnNameError, OptionError
from latecomer.hosts.recall_report import RECALL
from latecomer.hosts.spark import flush
from latecomer.hosts.spark import outputs as reading

Sink = str | PurePath | Callable[[DataFrame, int], None]


def _unpacked(packed: DataFrame, output: str, schema: StructType) -> DataFrame:
    if output == "ready":
        return reading.ready(packed, schema)
    if output == RECALL:
        return reading.recall(packed)
    return reading.late(packed, schema, output)


def start(
    packed: DataFrame,
    schemas: Mapping[str, StructType],
    outputs: Mapping[str, Sink],
    *,
    checkpoint: str,
    trigger: Mapping[str, Any] | None,
    name: str | None,
) -> StreamingQuery:
    """Start the query; see `OrderedStream.start`."""
    check(packed, schemas, outputs)
    to_directory = [name for name, sink in outputs.items() if not callable(sink)]

    def write_all(batch: DataFrame, number: int) -> None:
        # A directory exists from the first batch on, so that it can be read, rows or none.
        _write_present(batch, schemas, outputs, number, to_directory if number == 0 else [])

    return started(packed, write_all, checkpoint=checkpoint, trigger=trigger, name=name)


def write_rest(
    packed: DataFrame,
    schemas: Mapping[str, StructType],
    outputs: Mapping[str, Sink],
    checkpoint: str,
) -> None:
    """Write what was still held when a stream ended, and that it has."""
    flush.mark_ending(packed.sparkSession, checkpoint)
    to_directory = [name for name, sink in outputs.items() if not callable(sink)]
    _write_present(packed, schemas, outputs, flush.NUMBER, to_directory)
    flush.mark_ended(packed.sparkSession, checkpoint)


def _write_present(
    packed: DataFrame,
    schemas: Mapping[str, StructType],
    outputs: Mapping[str, Sink],
    number: int,
    always: Sequence[str],
) -> None:
    """Write the outputs that have rows, and some others always."""
    packed = packed.persist()
    try:
        # Packed, there are few rows; this is also what runs the micro-batch.
        asked = {*always, *(row.output for row in packed.select("output").collect())}
        for output, sink in outputs.items():
            if output in asked:
                write(_unpacked(packed, output, schemas[output]), sink, number)
    finally:
        packed.unpersist()


def check(df: DataFrame, schemas: Mapping[str, StructType], outputs: Mapping[str, Sink]) -> None:
    """Refuse a DataFrame that is not streaming, unknown outputs, and a column "batch"."""
    if not df.isStreaming:
        raise OptionError(
            "start() runs a streaming query, and this DataFrame is not streaming.\n"
            "Hint: use to_df() and late_df()."
        )
    if not outputs or outputs.keys() - schemas.keys():
        raise OptionError(
            f"outputs are named {' and '.join(schemas)}; got {', '.join(outputs) or 'none'}.\n"
            'Hint: for example start({"ready": "out/ready", "late": "out/late"}, ...).'
        )
    to_directory = [name for name, sink in outputs.items() if not callable(sink)]
    names = {name.lower() for output in to_directory for name in schemas[output].names}
    if "batch" in names:
        raise ColumnNameError(
            'the stream has a column "batch", which is also what the directories of an output are '
            'named by.\nHint: rename it first, for example to "batch_id".'
        )


def started(
    df: DataFrame,
    run: Callable[[DataFrame, int], None],
    *,
    checkpoint: str,
    trigger: Mapping[str, Any] | None,
    name: str | None,
) -> StreamingQuery:
    """Start a query that runs a function on each micro-batch."""
    writer = df.writeStream.foreachBatch(run).option("checkpointLocation", str(checkpoint))
    writer = writer.trigger(**trigger) if trigger else writer
    return (writer.queryName(name) if name else writer).start()


def write(rows: DataFrame, sink: Sink, number: int) -> None:
    """Write the rows of one output of a micro-batch, in place of what it wrote before."""
    if callable(sink):
        sink(rows, number)
    else:
        rows.write.mode("overwrite").parquet(f"{sink}/batch={number}")
