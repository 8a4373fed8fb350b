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
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
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
    without_own,
)
from latecomer.hosts.spark.counting import answers, late_by_key
from latecomer.hosts.spark.driver.choice import check_few
from latecomer.hosts.spark.driver.partials import (
    DELAY,
    NEWEST,
    TOO_FAR,
    computable,
    may_be_late,
    partials,
)
from latecomer.hosts.spark.driver.state_files import FileChunks, Kept, StateFiles
from latecomer.hosts.spark.durable import offset_log, owner, record
from latecomer.hosts.spark.durable.ledger import qualified
from latecomer.hosts.spark.local_rows import LocalRows
from latecomer.hosts.spark.parcels import without_wall_clock
from latecomer.hosts.spark.sinks import Rows, Sink
from latecomer.hosts.stage import RunningStage, check_held
from latecomer.hosts.tally import DELAYS, READ, WATERMARK, WINDOWS_OPEN
from latecomer.hosts.tally import NEWEST as NEWEST_SEEN
from latecomer.operators.aggregates.summary import PANE, ROWS
from latecomer.operators.windows.grid import check_reach
from latecomer.plan import Plan
from latecomer.time import FOREVER, NEVER


def start(
    df: DataFrame,
    plan: Plan,
    outputs: Mapping[str, Sink],
    options: sinks.Options,
    *,
    is_chosen: bool = False,
) -> StreamingQuery:
    """Start the query; see `AggregatedStream.start`.

    With `is_chosen` the user has not asked for states on the driver, and there is a limit to them.
    """
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
        run = _Run(df, plan, writer, where, is_chosen=is_chosen)
        query = sinks.started(df, run, options, writer)
        if options.end == "flush":
            why.explained(query.awaitTermination)
            flush.check_all_read(df, plan, checkpoint)
            _finish(query, df, plan, run, checkpoint)
    owner.release_with(query, checkpoint)
    return query


def _newest(spark: SparkSession, checkpoint: str) -> int:
    """Return the largest time of all committed micro-batches."""
    done = offset_log.last_done(spark, checkpoint)
    return NEVER if done < 0 else tick(StateFiles(checkpoint).read(done)[0].newest)


def _finish(query: StreamingQuery, df: DataFrame, plan: Plan, run: "_Run", checkpoint: str) -> None:
    """Write the results of what was still held when the stream ended, and mark it as ended.

    Raises:
        StateFormatError: The states of the last micro-batch are not beside the checkpoint.
        OwnerError: Another driver has taken over and goes on with the states.
    """
    writer = run.writer
    writer.owner.check(df.sparkSession, at_once=True)
    files = StateFiles(qualified(df.sparkSession, checkpoint))
    ran = [p.batchId for p in query.recentProgress if p.numInputRows]
    if ran and files.last() < ran[-1]:
        raise StateFormatError(
            f"the states of micro-batch {ran[-1]} are missing beside the checkpoint "
            f'"{checkpoint}", as this process sees it; nothing was emitted.\n'
            'Hint: end the stream where its driver runs, or use states="buckets".'
        )
    held = _Held.read(files, plan, arrow_schema(df), files.last())
    told = held.stage.step(Clock(held.newest, FOREVER), [[]])
    ready = [output.batch for output in told if output.name == "ready" and output.batch]
    flush.mark_ending(df.sparkSession, checkpoint)
    written = run.ready(df.sparkSession, ready, flush.NUMBER)
    if "late" in writer.from_first:
        written["late"] = LocalRows.none(df.sparkSession, reading.late_struct(df.schema))
    writer.write_all(written, flush.NUMBER)
    writer.end(df, flush.NUMBER, ({READY: sum(rows.num_rows for rows in ready)}, {}))
    flush.mark_ended(df.sparkSession, checkpoint)


class _Run:
    """The function that processes each micro-batch."""

    def __init__(
        self,
        df: DataFrame,
        plan: Plan,
        writer: sinks.Writer,
        checkpoint: str,
        *,
        is_chosen: bool,
    ) -> None:
        self._plan = plan
        # What Spark would have to be asked for with each micro-batch.
        self._spec = computable(df, plan)
        self._schema = arrow_schema(df)
        self._ready_schema = reading.ready_schema(df, plan)
        self._late_schema = reading.late_struct(df.schema)
        self._is_chosen = is_chosen
        self.writer = writer
        self._checkpoint = checkpoint
        self._held: _Held | None = None

    def __call__(self, rows: DataFrame, number: int) -> None:
        self.writer.owner.check(rows.sparkSession)
        files = StateFiles(self._checkpoint, self.writer.owner.attempt)
        # If anything fails on the way, the state in memory is invalid and is read again.
        held, self._held = self._held, None
        if held is None or held.number != number - 1:
            held = _Held.read(files, self._plan, self._schema, number - 1)
        # Spark marks some states as never null; the states of buckets have no such mark.
        # As a column of the stream, the wall clock would be in the code that Spark generates, which
        # would be compiled again in each micro-batch. One that is run again sees the same clock.
        now = NEVER if self._plan.source.ahead is None else offset_log.clock(files.offsets(number))
        states_of = partials(rows, self._schema, self._plan, self._spec, held.newest, now)
        made = with_nulls(states_of.toArrow()).combine_chunks()
        states = made.filter(pc.is_valid(made.column(PANE)))
        panes = states.column(PANE).to_numpy()
        check_reach(panes)
        before = self._plan.clock.read(held.newest)
        is_late = pa.array(self._spec.windows.last_ends(panes) <= before.watermark)
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
        tally.update(_delays(states))
        keys = self._late_keys(states.filter(is_late))
        states = states.drop_columns([NEWEST, TOO_FAR, DELAY])
        # States of a pane and key that differ in their delay.
        states = self._spec.first.merge(states, self._schema)
        told = [*held.stage.step(before, [[]], [states]), *held.stage.step(after, [[]])]
        check_held(self._plan, held.stage.held, "the driver", 'use states="buckets"')
        for output in told:
            if output.name == "ready" and output.batch is not None:
                ready.append(output.batch)
                tally.update(answers(output.batch, self._plan.clock))
            if output.name != DROPPED:
                tally[output.name] += output.rows
        if self._is_chosen:
            check_few(held.stage.held, self._plan, self.writer.owner.checkpoint)
        written = self.ready(rows.sparkSession, ready, number)
        if self._writes_late(tally["late"], number):
            written |= self._late(rows, before, now, tally["late"])
        self.writer.write_all(written, number)
        tally.update(_clock_of(before, held.newest))
        tally[WINDOWS_OPEN] = held.stage.held - held_before
        tally[READ] = pc.sum(made.column(ROWS)).as_py() or 0
        self.writer.end(rows, number, (dict(tally), keys))
        held.number = number
        kept = Kept(held.newest, held.stage.save(), held.stage.held)
        files.write(number, kept, held.chunks)
        self._held = held

    def _late_keys(self, states: Batch) -> dict[str, int]:
        """Return the late rows of the keys that have most of them, given their states."""
        if not self._plan.needs_late_rows or self._plan.is_redacted:
            return {}
        return dict(late_by_key(states, self._plan.stages[0].key, ROWS))

    def ready(self, spark: SparkSession, ready: list[Batch], number: int) -> dict[str, Rows]:
        """Return the ready rows of a micro-batch if they are to be written.

        The output is written if there are rows, and in the first and the last micro-batch.
        """
        is_told = number in (0, flush.NUMBER) and "ready" in self.writer.from_first
        if "ready" not in self.writer.outputs or not (ready or is_told):
            return {}
        table = concat(ready, self._plan.output_schema(self._schema))
        return {"ready": LocalRows.of(spark, table, self._ready_schema)}

    def _writes_late(self, count: int, number: int) -> bool:
        """Return True if the late rows of a micro-batch are looked for, or their output begins."""
        if "late" not in self.writer.outputs:
            return count > 0 and self._plan.late == "raise"
        return count > 0 or (number == 0 and "late" in self.writer.from_first)

    def _late(self, rows: DataFrame, clock: Clock, now: int, count: int) -> dict[str, Rows]:
        """Return the late rows of a micro-batch, if there is an output for them."""
        schema = self._late_schema
        if not count:
            return {"late": LocalRows.none(rows.sparkSession, schema)}
        behind = may_be_late(rows, self._plan, clock, now)
        found = map_in_arrow(behind, partial(_late, self._plan, clock), schema)
        if "late" not in self.writer.outputs:
            found.foreach(lambda _: None)
            return {}
        return {"late": without_own(found, schema.names)}


def _delays(states: Batch) -> dict[str, int]:
    """Return the number of rows by delay, given their states."""
    counts = np.zeros(len(DELAYS), np.int64)
    np.add.at(counts, states.column(DELAY).to_numpy(), states.column(ROWS).to_numpy())
    return {DELAYS[at]: int(counts[at]) for at in np.flatnonzero(counts).tolist()}


def _clock_of(before: Clock, newest: int) -> dict[str, int]:
    """Return the watermark of a micro-batch and the newest time after it, if they are known."""
    known = {WATERMARK: before.watermark} if before.newest != NEVER else {}
    return known if newest == NEVER else {**known, NEWEST_SEEN: newest}


@dataclass(slots=True)
class _Held:
    """The stage after a micro-batch."""

    number: int
    newest: int
    stage: RunningStage
    chunks: FileChunks

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
