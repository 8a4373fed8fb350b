"""Write all outputs of a stream by one query, each event processed once.

Two DataFrames written by two queries would each sort the whole stream. Here a micro-batch is run
once, kept, and each output is unpacked from it.

**Exactly once.** Spark may run the last micro-batch again after a crash, with the same rows. For a
directory, records decide which of them are visible (`durable.outputs`); for a table, its own
commits do (`tables`). A function gets the number of the micro-batch, and has to replace what it
wrote for that number before.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.types import StructType
from pyspark.sql.utils import is_remote

from latecomer.errors import ColumnNameError, OptionError
from latecomer.hosts.recall_report import RECALL
from latecomer.hosts.spark import flush
from latecomer.hosts.spark import outputs as reading
from latecomer.hosts.spark.collected import Collected
from latecomer.hosts.spark.durable import outputs as directories
from latecomer.hosts.spark.durable import totals
from latecomer.hosts.spark.durable.owner import Owner, claim, known_ids, released_on_error
from latecomer.hosts.spark.durable.parquet import ParquetWriter
from latecomer.hosts.spark.kept import kept
from latecomer.hosts.spark.local_rows import LocalRows
from latecomer.hosts.spark.tables.place import Place
from latecomer.hosts.spark.together import together
from latecomer.hosts.spark.upsert.sink import Upsert
from latecomer.plan import Plan

Sink = str | PurePath | Place | Callable[[DataFrame, int], None]
Rows = DataFrame | LocalRows
"""The rows of an output."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a query; see `OrderedStream.start`."""

    checkpoint: str
    trigger: Mapping[str, Any] | None
    name: str | None
    end: flush.End
    format: reading.Format


def _unpacked(packed: DataFrame, found: Collected, output: str, schema: StructType) -> Rows:
    """Return the rows of an output, from the driver if they are there."""
    is_late = output not in ("ready", RECALL)
    columns = reading.late_struct(schema) if is_late else schema
    rows = found.rows(packed.sparkSession, output, columns)
    if rows is not None:
        return rows
    if output not in found.blobs:
        return LocalRows.none(packed.sparkSession, columns)
    if is_late:
        return reading.late(packed, schema, output)
    return reading.recall(packed) if output == RECALL else reading.ready(packed, schema)


class Writer:
    """Writes the outputs of micro-batches as the owner of a checkpoint."""

    def __init__(
        self,
        outputs: Mapping[str, Sink],
        owner: Owner,
        plan: Plan,
        as_asked: reading.Format,
        name: str | None = None,
        parquet: ParquetWriter | None = None,
    ) -> None:
        self.outputs = outputs
        self.owner = owner
        self._plan = plan
        self._format = as_asked
        # Only the first micro-batch of a run can repeat one that an earlier run has begun.
        self._may_be_again = owner.epoch > 1
        self.totals = totals.Recorder(owner, name or owner.checkpoint, plan.clock)
        self._parquet = parquet

    @property
    def from_first(self) -> list[str]:
        """The outputs that can be read from the first micro-batch on, even without rows."""
        return [name for name, sink in self.outputs.items() if not callable(sink)]

    @property
    def spare(self) -> str:
        """Directory for the rows of a micro-batch, if Spark has no cache.

        This driver and the one before it have different directories.
        """
        return f"{self.owner.checkpoint}/latecomer/micro-batch-{self.owner.epoch % 2}"

    def write(self, rows: Rows, output: str, number: int) -> None:
        """Write the rows of one output of a micro-batch."""
        sink = self.outputs[output]
        if isinstance(rows, LocalRows):
            if self._format.changes_nothing and isinstance(sink, Upsert):
                sink.write(rows, number, self._parquet)
                return
            if self._format.changes_nothing and _is_directory(sink):
                directories.write(rows, str(sink), number, self.owner, self._parquet)
                return
            rows = rows.frame()
        if output == "ready":
            rows = self._format.ready(rows, self._plan)
        else:
            rows = self._format.recall(rows) if output == RECALL else self._format.late(rows)
        if isinstance(sink, Place):
            sink.write(rows, number, f"latecomer-{self.owner.id}-{output}")
        elif callable(sink):
            sink(rows, number)
        else:
            directories.write(rows, str(sink), number, self.owner)

    def write_all(self, rows: Mapping[str, Rows], number: int) -> None:
        """Write the outputs of a micro-batch, given their rows; directories at the same time."""
        actions = [partial(self.write, each, output, number) for output, each in rows.items()]
        # Functions of the user may not expect company.
        if all(_is_directory(self.outputs[output]) for output in rows) and not is_remote():
            together(actions)
            return
        for action in actions:
            action()

    def end(self, batch: DataFrame, number: int, counts: totals.Counted) -> None:
        """End a micro-batch: remove what an earlier run had written of it, and count it."""
        if self._may_be_again:
            for path in _directories(self.outputs):
                directories.clean(batch.sparkSession, path, number, self.owner)
        self._may_be_again = False
        self.totals.write(batch.sparkSession, number, counts)


def own(spark: SparkSession, outputs: Mapping[str, Sink], plan: Plan, options: Options) -> Writer:
    """Become the owner of a checkpoint and of its outputs.

    Raises:
        OwnerError: Another driver on this machine owns the checkpoint.
        OptionError: An output belongs to another checkpoint, or cannot be written to.
    """
    paths = _directories(outputs)
    # Checked first: a driver that is refused must not take the checkpoint from the running one.
    for sink in outputs.values():
        if isinstance(sink, Place):
            sink.check(spark)
    known = known_ids(spark, options.checkpoint)
    for path in paths:
        directories.check(spark, path, known)
    owner = claim(spark, options.checkpoint)
    with released_on_error(options.checkpoint):
        totals.check(spark, options.checkpoint)
        for path in paths:
            directories.adopt(spark, path, owner)
    parquet = None if is_remote() else ParquetWriter.of(spark)
    return Writer(outputs, owner, plan, options.format, options.name, parquet)


def start(
    packed: DataFrame,
    schemas: Mapping[str, StructType],
    writer: Writer,
    options: Options,
) -> StreamingQuery:
    """Start the query; see `OrderedStream.start`."""

    def write_all(batch: DataFrame, number: int) -> None:
        writer.owner.check(batch.sparkSession)
        _write_present(batch, schemas, writer, number, writer.from_first if number == 0 else [])

    return started(packed, write_all, options, writer)


def write_rest(
    packed: DataFrame, schemas: Mapping[str, StructType], writer: Writer, checkpoint: str
) -> None:
    """Write the rows that were still held when a stream ended, and mark it as ended.

    Raises:
        OwnerError: Another driver has taken over and goes on with the held rows.
    """
    writer.owner.check(packed.sparkSession, at_once=True)
    flush.mark_ending(packed.sparkSession, checkpoint)
    _write_present(packed, schemas, writer, flush.NUMBER, writer.from_first)
    flush.mark_ended(packed.sparkSession, checkpoint)


def _write_present(
    packed: DataFrame,
    schemas: Mapping[str, StructType],
    writer: Writer,
    number: int,
    always: Sequence[str],
) -> None:
    """Write the outputs that have rows, and those that are always written."""
    with kept(packed, writer.spare) as once:
        # This is the action that runs the micro-batch.
        found = Collected.of(once)
        written = [name for name in writer.outputs if name in {*found.blobs, *always}]
        rows = {name: _unpacked(once, found, name, schemas[name]) for name in written}
        writer.write_all(rows, number)
        writer.end(once, number, found.counts)


def check(
    df: DataFrame, schemas: Mapping[str, StructType], outputs: Mapping[str, Sink], plan: Plan
) -> None:
    """Refuse a query that cannot be started.

    Raises:
        OptionError: The DataFrame is not streaming, there is no such output, or no output takes the
            late rows.
        ColumnNameError: A column has the name by which directories are numbered.
    """
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
    # With the policy "adjust", only rows without a usable time are emitted as late.
    late = [each.source.late for each in plan.inputs if each.late in ("divert", "adjust")]
    if missing := [name for name in late if name not in outputs]:
        folds = plan.clock.horizon is not None
        what = "late rows that come after the horizon" if folds else "late rows"
        other = "" if folds else ', or use late="drop" where the wait is given'
        raise OptionError(
            f"{what} have no output: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} "
            "missing.\n"
            f'Hint: name a place for them, for example start({{..., "{missing[0]}": "out/late"}}, '
            f"...){other}."
        )
    to_directory = [name for name, sink in outputs.items() if _is_directory(sink)]
    names = {name.lower() for output in to_directory for name in schemas[output].names}
    for name in (directories.BATCH, directories.ATTEMPT):
        if name in names:
            raise ColumnNameError(
                f'the stream has a column "{name}", a name that the directories of an output '
                "need.\n"
                f'Hint: rename it first, for example to "{name}_id".'
            )


def _directories(outputs: Mapping[str, Sink]) -> list[str]:
    return [str(sink) for sink in outputs.values() if _is_directory(sink)]


def _is_directory(sink: Sink) -> bool:
    return not callable(sink) and not isinstance(sink, Place)


def started(
    df: DataFrame, run: Callable[[DataFrame, int], None], options: Options, writer: Writer
) -> StreamingQuery:
    """Start a query that runs a function on each micro-batch, and ends it with a writer."""
    stream = df.writeStream.foreachBatch(run).option("checkpointLocation", options.checkpoint)
    stream = stream.trigger(**options.trigger) if options.trigger else stream
    query = (stream.queryName(options.name) if options.name else stream).start()
    if not is_remote():
        # On Spark Connect the function runs in another process.
        totals.publish(str(query.runId), writer.totals)
    return query
