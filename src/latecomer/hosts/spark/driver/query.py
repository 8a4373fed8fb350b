"""Windows with few states: Spark aggregates each micro-batch, and the driver keeps the states.

    micro-batch ─groupBy(pane, keys).agg(...)─▶ states ─toArrow─▶ the stage, on the driver ─▶ sinks
                ─where(late)─▶ late rows, looked for only where there are some

A stateful stage in Python costs half a second per micro-batch, whatever it does, and rows have to
be passed to it. If a micro-batch is aggregated to some ten thousand states, one process can hold
them all, without a stateful stage in Spark, a shuffle of rows or a state store. The running stage
is the same as elsewhere; its state is in files beside the checkpoint (`state_files`).

**Exactly once.** A micro-batch that is run again starts from the states before it, and its output
replaces what it wrote before.

The clock is read as elsewhere: rows are late by the newest time of the micro-batches before. But
windows that a micro-batch closes are answered in that micro-batch, not in the next one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from latecomer.batch import Batch, concat, with_nulls
from latecomer.clock.watermark import Clock, tick
from latecomer.errors import StateFormatError, withheld
from latecomer.hosts.entry import admit
from latecomer.hosts.late import AHEAD, found_late
from latecomer.hosts.output import DROPPED, READY
from latecomer.hosts.spark import flush, sinks, why
from latecomer.hosts.spark import outputs as reading
from latecomer.hosts.spark.columns import (
    arrow_schema,
    map_in_arrow,
    with_wall_clock,
    without_own,
)
from latecomer.hosts.spark.counting import answers
from latecomer.hosts.spark.driver.partials import NEWEST, TOO_FAR, computable, partials
from latecomer.hosts.spark.driver.state_files import FileChunks, Kept, StateFiles
from latecomer.hosts.spark.durable import offset_log, owner, record
from latecomer.hosts.spark.durable.ledger import qualified
from latecomer.hosts.spark.parcels import NOW, without_wall_clock
from latecomer.hosts.spark.sinks import Sink
from latecomer.hosts.stage import RunningStage, check_held
from latecomer.hosts.tally import NEWEST as NEWEST_SEEN
from latecomer.hosts.tally import READ, WATERMARK, WINDOWS_OPEN
from latecomer.operators.aggregates.summary import PANE, ROWS
from latecomer.operators.windows.grid import check_reach
from latecomer.plan import Plan
from latecomer.time import FOREVER, NEVER


def start(
    df: DataFrame, plan: Plan, outputs: Mapping[str, Sink], options: sinks.Options
) -> StreamingQuery:
    """Start the query; see `AggregatedStream.start`."""
    spark, checkpoint = df.sparkSession, options.checkpoint
    computable(df, plan)
    schemas = {"ready": reading.ready_schema(df, plan), "late": df.schema}
    sinks.check(df, schemas, outputs, plan)
    flush.check_ends(spark, checkpoint, options.trigger, options.end)
    where = qualified(spark, checkpoint)
    StateFiles(where)
    # Checked before claiming the checkpoint: a refused query must not stop the running one.
    asked = record.described([df], plan, None, "driver")
    history = record.check_query(spark, checkpoint, plan, asked, lambda: _newest(spark, where))
    plan = history.resumed(plan, lambda: arrow_schema(df))
    writer = sinks.own(spark, outputs, plan, options)
    with owner.released_on_error(checkpoint):
        history.write(spark, checkpoint)
        # Added to the stream, it is the same wall clock when a micro-batch is run again.
        given = with_wall_clock(df, plan.source)
        query = sinks.started(given, _Run(plan, writer, where), options, writer)
        if options.end == "flush":
            why.explained(query.awaitTermination)
            flush.check_all_read(given, plan, checkpoint)
            _finish(query, df, plan, writer, checkpoint)
    owner.release_with(query, checkpoint)
    return query


def _newest(spark: SparkSession, checkpoint: str) -> int:
    """Return the largest time of all committed micro-batches."""
    done = offset_log.last_done(spark, checkpoint)
    return NEVER if done < 0 else tick(StateFiles(checkpoint).read(done)[0].newest)


def _finish(
    query: StreamingQuery, df: DataFrame, plan: Plan, writer: sinks.Writer, checkpoint: str
) -> None:
    """Write the results of what was still held when the stream ended, and mark it as ended.

    Raises:
        StateFormatError: The states of the last micro-batch are not beside the checkpoint.
        OwnerError: Another driver has taken over and goes on with the states.
    """
    writer.owner.check(df.sparkSession, at_once=True)
    files = StateFiles(qualified(df.sparkSession, checkpoint))
    ran = [p.batchId for p in query.recentProgress if p.numInputRows]
    if ran and files.last() < ran[-1]:
        raise StateFormatError(
            f"micro-batch {ran[-1]} was run, and its states are not beside the checkpoint "
            f'"{checkpoint}" as this process sees it; nothing was handed out.\n'
            'Hint: end the stream where its driver runs, or use states="buckets".'
        )
    held = _Held.read(files, plan, arrow_schema(df), files.last())
    told = held.stage.step(Clock(held.newest, FOREVER), [[]])
    ready = [output.batch for output in told if output.name == "ready" and output.batch]
    flush.mark_ending(df.sparkSession, checkpoint)
    _write_ready(df, plan, writer, ready, flush.NUMBER)
    if "late" in writer.from_first:
        nothing = df.sparkSession.createDataFrame([], reading.late_struct(df.schema))
        writer.write(without_own(nothing, df.columns), "late", flush.NUMBER)
    writer.end(df, flush.NUMBER, ({READY: sum(rows.num_rows for rows in ready)}, {}))
    flush.mark_ended(df.sparkSession, checkpoint)


class _Run:
    """The function that processes each micro-batch."""

    def __init__(self, plan: Plan, writer: sinks.Writer, checkpoint: str) -> None:
        self._plan = plan
        self._writer = writer
        self._checkpoint = checkpoint
        self._held: _Held | None = None

    def __call__(self, given: DataFrame, number: int) -> None:
        rows = given.drop(NOW)
        self._writer.begin(rows)
        files = StateFiles(self._checkpoint, self._writer.owner.attempt)
        # If anything fails on the way, the state in memory is invalid and is read again.
        held, self._held = self._held, None
        if held is None or held.number != number - 1:
            held = _Held.read(files, self._plan, arrow_schema(rows), number - 1)
        spec = computable(rows, self._plan)
        # Spark marks some states as never null; the states of buckets have no such mark.
        made = with_nulls(partials(given, self._plan, spec).toArrow()).combine_chunks()
        states = made.filter(pc.is_valid(made.column(PANE)))
        panes = states.column(PANE).to_numpy()
        check_reach(panes)
        before = self._plan.clock.read(held.newest)
        is_late = pa.array(spec.windows.last_ends(panes) <= before.watermark)
        late = pc.sum(states.column(ROWS).filter(is_late)).as_py() or 0
        lacking = pc.sum(made.column(ROWS)).as_py() or 0
        lacking -= pc.sum(states.column(ROWS)).as_py() or 0
        newest = pc.max(states.column(NEWEST)).as_py()
        held.newest = held.newest if newest is None else max(held.newest, newest)
        after = self._plan.clock.read(held.newest)

        ready, tally = [], Counter({"late": lacking})
        tally[AHEAD] = pc.sum(made.column(TOO_FAR)).as_py() or 0
        tally["late" if self._plan.needs_late_rows else DROPPED] += late
        tally["no_time"] = lacking - tally[AHEAD]
        held_before = held.stage.held
        states = states.drop_columns([NEWEST, TOO_FAR])
        told = [*held.stage.step(before, [[]], [states]), *held.stage.step(after, [[]])]
        check_held(self._plan, held.stage.held, "the driver", 'use states="buckets"')
        for output in told:
            if output.name == "ready" and output.batch is not None:
                ready.append(output.batch)
                tally.update(answers(output.batch, self._plan.clock))
            if output.name != DROPPED:
                tally[output.name] += output.rows
        _write_ready(rows, self._plan, self._writer, ready, number)
        self._write_late(given, before, tally["late"], number)
        tally.update(_clock_of(before, held.newest))
        tally[WINDOWS_OPEN] = held.stage.held - held_before
        tally[READ] = pc.sum(made.column(ROWS)).as_py() or 0
        self._writer.end(rows, number, (dict(tally), {}))
        held.number = number
        kept = Kept(held.newest, held.stage.save(), held.stage.held)
        files.write(number, kept, held.chunks)
        self._held = held

    def _write_late(self, given: DataFrame, clock: Clock, count: int, number: int) -> None:
        is_there = "late" in self._writer.outputs
        is_asked = is_there and (count or (number == 0 and "late" in self._writer.from_first))
        if not is_asked and not (count and self._plan.late == "raise"):
            return
        find = partial(_late, self._plan, clock)
        found = map_in_arrow(given, find, reading.late_struct(given.drop(NOW).schema))
        if is_there:
            self._writer.write(without_own(found, found.columns), "late", number)
        else:
            found.foreach(lambda _: None)


def _clock_of(before: Clock, newest: int) -> dict[str, int]:
    """Return the watermark of a micro-batch and the newest time after it, if they are known."""
    known = {WATERMARK: before.watermark} if before.newest != NEVER else {}
    return known if newest == NEVER else {**known, NEWEST_SEEN: newest}


def _write_ready(
    rows: DataFrame, plan: Plan, writer: sinks.Writer, ready: list[Batch], number: int
) -> None:
    is_told = number in (0, flush.NUMBER) and "ready" in writer.from_first
    if "ready" not in writer.outputs or not (ready or is_told):
        return
    table = concat(ready, plan.output_schema(arrow_schema(rows)))
    schema = reading.ready_schema(rows, plan)
    writer.write(rows.sparkSession.createDataFrame(table, schema), "ready", number)


class _Held:
    """The stage after a micro-batch."""

    def __init__(self, number: int, newest: int, stage: RunningStage, chunks: FileChunks) -> None:
        self.number = number
        self.newest = newest
        self.stage = stage
        self.chunks = chunks

    @classmethod
    def read(cls, files: StateFiles, plan: Plan, schema: pa.Schema, number: int) -> "_Held":
        kept, chunks = files.read(number) if number >= 0 else (None, FileChunks())
        # A micro-batch has two steps here, so its limit is compared after both.
        plan = replace(plan, source=replace(plan.source, held_limit=None))
        saved = None if kept is None else kept.saved
        stage = RunningStage(plan, 0, schema, lambda _number: chunks, saved)
        return cls(number, NEVER if kept is None else kept.newest, stage, chunks)


def _late(plan: Plan, clock: Clock, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield rows without a usable time and, unless they are dropped, late rows; in the workers."""
    for batch in batches:
        rows = pa.Table.from_batches([batch]).replace_schema_metadata(None)
        with withheld(if_redacted=plan.is_redacted):
            kept, aside = admit(plan, *without_wall_clock(plan.source, rows))
            late = [*found_late(plan, clock, kept)] if plan.needs_late_rows else []
        for found in [aside, *(output.batch for output in late)]:
            if found is not None:
                yield from found.to_batches()
