"""Run one stage of a plan in Spark's transformWithState: one group is one bucket.

State is log-structured: a small value (`meta`) and a map of chunks. A micro-batch reads and writes
the value, appends chunks, and reads only those chunks that are due.

A bucket without rows sleeps. Its timer wakes it when the clock reaches what it holds, also in
micro-batches without data.
"""

from collections.abc import Callable, Iterator
from dataclasses import astuple, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from latecomer.batch import Batch, decode, encode
from latecomer.clock.silence import Silence
from latecomer.clock.watermark import TICK, Clock
from latecomer.errors import ReleaseTooLargeError, StateFormatError
from latecomer.hosts import starting
from latecomer.hosts.recall_report import RECALL, of_bucket
from latecomer.hosts.spark.bucket_labels import labels
from latecomer.hosts.spark.parcels import (
    CHECK,
    CLOCK_OFFSET,
    PARCEL_BYTES,
    PARCEL_ROWS,
    ROWS_OF,
    STATES,
    TICK_OF,
)
from latecomer.hosts.stage import Output, late_rows
from latecomer.operators.base import Chunks
from latecomer.operators.temporal.edges import FINAL, ID
from latecomer.plan.plan import Plan, Stage
from latecomer.time import NEVER

_NO_TIMER = -1

_MOST_BYTES = (1 << 31) - (1 << 26)
"""PySpark puts all that a call hands back into one Arrow batch, which ends at 2 GiB."""


class _Saved(NamedTuple):
    buckets: int
    timer: int
    stage: bytes


class StateChunks:
    """The chunks of one operator, in Spark's state store."""

    def __init__(self, state: Any, operator: int) -> None:
        """Use the map state that all operators of a stage share."""
        self._state = state
        self._operator = operator

    def get(self, number: int) -> Batch:
        """Read a chunk."""
        return decode(self._state.getValue((self._operator, number))[0])

    def put(self, number: int, rows: Batch) -> None:
        """Write a chunk."""
        self._state.updateValue((self._operator, number), (encode(rows, "lz4"),))

    def drop(self, number: int) -> None:
        """Forget a chunk."""
        self._state.removeKey((self._operator, number))


class BucketProcessor(StatefulProcessor):
    """A stage of a plan, as Spark runs it."""

    def __init__(self, plan: Plan, at: int, buckets: int) -> None:
        """Run stage `at` of the plan, its rows spread over so many buckets."""
        self._plan = plan
        self._at = at
        self._buckets = buckets

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._handle = handle
        self._meta = handle.getValueState("meta", "buckets int, timer long, stage binary")
        self._chunks = handle.getMapState("chunks", "operator int, number long", "rows binary")
        if self._plan.idle is not None:
            fields = "newest long, lasted long, last long, reached long"
            self._silence = handle.getValueState("silence", fields)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        """Run a micro-batch that has rows for this bucket."""
        delivery = Delivery.of([row.asDict() for row in rows], self._plan.stages[self._at])
        yield from (Row(**output) for output in delivery.outputs)
        clock = self._clock(timerValues, delivery.now)
        try:
            yield from delivery.late(self._plan, clock)
        except Exception as error:
            self._note(error, key)
            raise
        if delivery.is_filled or delivery.now is not None:
            yield from self._step(key, delivery, clock, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        """Run a micro-batch in which only the clock has moved."""
        nothing = Delivery.of([], self._plan.stages[self._at])
        yield from self._step(key, nothing, self._clock(timerValues), timerValues)

    def close(self) -> None:
        """Nothing to give back."""

    def _note(self, error: Exception, key: Any) -> None:
        error.add_note(f"while running {self._plan.stages[self._at]} in bucket {key[0]}")

    def _step(
        self, key: Any, delivery: "Delivery", clock: Clock, timer_values: Any
    ) -> Iterator[Row]:
        saved = self._load()
        if saved is None and not delivery.is_filled:
            return
        try:
            stage = started(
                self._plan,
                self._at,
                delivery.schema,
                partial(StateChunks, self._chunks),
                saved.stage if saved else None,
            )
            for output in _bounded(stage.step(clock, delivery.inputs, delivery.states)):
                if not is_repeated(output, self._plan, int(key[0]), self._buckets):
                    yield from as_rows(told_apart(output, int(key[0]), self._buckets))
        except Exception as error:
            self._note(error, key)
            raise
        self._save(stage, saved.timer if saved else _NO_TIMER, timer_values)

    def _clock(self, timer_values: Any, now: int | None = None) -> Clock:
        shown = timer_values.getCurrentWatermarkInMs()
        newest = shown * TICK - CLOCK_OFFSET if shown > 0 else NEVER
        if self._plan.idle is not None:
            newest = max(newest, self._reached(newest, now, self._plan.idle))
        return Clock.at(newest, self._plan.wait)

    def _reached(self, newest: int, now: int | None, idle: int) -> int:
        """Tell how far time has come by itself."""
        silence = Silence(*(self._silence.get() or ())) if self._silence.exists() else Silence()
        if now is not None:
            silence = silence.ticked(newest, now, idle)
            self._silence.update(astuple(silence))
        return silence.reached

    def _load(self) -> "_Saved | None":
        if not self._meta.exists():
            return None
        saved = _Saved(*(self._meta.get() or ()))
        if saved.buckets != self._buckets:
            message = (
                f"the checkpoint spreads its rows over {saved.buckets} buckets; the query now asks "
                f"for {self._buckets}.\n"
                f"Hint: say buckets={saved.buckets} as before, or start with a new checkpoint."
            )
            raise StateFormatError(message)
        return saved

    def _save(self, stage: starting.AnyStage, timer: int, timer_values: Any) -> None:
        due = stage.due()
        # Rounded up to a tick of the clock; a timer that the clock has passed would never fire.
        wake = (
            _NO_TIMER
            if due is None
            else max(-(-(due + CLOCK_OFFSET) // TICK), timer_values.getCurrentWatermarkInMs() + 1)
        )
        if wake != timer:
            if timer != _NO_TIMER:
                self._handle.deleteTimer(timer)
            if wake != _NO_TIMER:
                self._handle.registerTimer(wake)
        self._meta.update((self._buckets, wake, stage.save()))


def started(
    plan: Plan,
    at: int,
    schema: pa.Schema | None,
    chunks: Callable[[int], Chunks],
    saved: bytes | None,
) -> starting.AnyStage:
    """Start a stage in a bucket, from nothing or where it left off.

    Args:
        plan: What the stream asks for.
        at: Which of its stages this is.
        schema: The columns of the rows, if any have come.
        chunks: Finds the chunks of an operator, given its number.
        saved: What the stage saved.
    """
    operators = sum(len(branch.operators) for branch in plan.stages[at].branches)

    def of_key(slot: int) -> list[Chunks]:
        return [chunks(slot * operators + i) for i in range(operators)]

    return starting.started(plan, at, schema, of_key, saved)


class Delivery(NamedTuple):
    """What a bucket is given in one micro-batch, in order of arrival."""

    outputs: list[dict[str, Any]]
    """What goes on as it is."""
    inputs: list[list[Batch]]
    """The rows: those of the stream itself, then those of streams that come in."""
    states: list[Batch]
    checks: list[Batch]
    """Rows to look through for late ones; they may belong to any bucket."""
    now: int | None
    """What the wall clock shows, if that was told."""

    @classmethod
    def of(cls, parcels: list[dict[str, Any]], stage: Stage) -> "Delivery":
        """Open parcels."""
        ticks = [int(parcel["rows"]) for parcel in parcels if parcel["kind"] == TICK_OF]
        parcels = [parcel for parcel in parcels if parcel["kind"] != TICK_OF]
        delivery = cls([], [[] for _ in stage.branches], [], [], max(ticks, default=None))
        for parcel in sorted(parcels, key=lambda parcel: int(parcel["part"])):
            into = {
                "rows": delivery.inputs[parcel["branch"]],
                STATES: delivery.states,
                CHECK: delivery.checks,
            }
            if parcel["kind"] in into:
                into[parcel["kind"]].append(decode(parcel["blob"]))
            else:
                blob, rows = parcel["blob"], parcel["rows"]
                delivery.outputs.append({"output": parcel["kind"], "rows": rows, "blob": blob})
        return delivery

    @property
    def is_filled(self) -> bool:
        """Tell whether there is anything for an operator."""
        return bool(any(self.inputs) or self.states)

    @property
    def schema(self) -> pa.Schema | None:
        """The columns of the rows that came, or that states were made of; None if none came."""
        if self.inputs[0]:
            return self.inputs[0][0].schema
        if self.states:
            written = self.states[0].schema.metadata[ROWS_OF]
            return pa.ipc.read_schema(pa.py_buffer(written))
        return None

    def late(self, plan: Plan, clock: Clock) -> Iterator[Row]:
        """Look rows through for late ones."""
        for rows in self.checks:
            for output in late_rows(plan, clock, rows):
                yield from as_rows(output)


def told_apart(output: Output, bucket: int, buckets: int) -> Output:
    """Tell the reports of buckets apart, and the ids of rows that have not ended."""
    is_report = output.name == RECALL
    if output.batch is None or not (is_report or ID in output.batch.column_names):
        return output
    number = int(np.flatnonzero(labels(buckets) == bucket)[0])
    if is_report:
        return replace(output, batch=of_bucket(output.batch, number))
    at = output.batch.schema.get_field_index(ID)
    ids = output.batch.column(at).to_numpy()
    apart = np.where(ids == FINAL, FINAL, ids * buckets + number)
    return replace(output, batch=output.batch.set_column(at, ID, pa.array(apart)))


def is_repeated(output: Output, plan: Plan, bucket: int, buckets: int) -> bool:
    """Tell whether an output is of rows that are in all buckets, and the first one speaks of."""
    everywhere = {each.source.late for each in plan.inputs if each.stages[0].everywhere}
    return output.name in everywhere and bucket != int(labels(buckets)[0])


def _bounded(outputs: Iterator[Output]) -> Iterator[Output]:
    size = 0
    for output in outputs:
        size += output.batch.nbytes if output.batch is not None else 0
        if size > _MOST_BYTES:
            message = (
                "more than 2 GiB came out of one bucket in one micro-batch.\n"
                "Hint: read less per micro-batch (for files, maxFilesPerTrigger), or start with "
                "more buckets."
            )
            raise ReleaseTooLargeError(message)
        yield output


def as_rows(output: Output) -> Iterator[Row]:
    """Write an output as rows for Spark, none of them too large."""
    if output.batch is None:
        yield Row(output=output.name, rows=output.rows, blob=b"")
        return
    step = min(PARCEL_ROWS, max(1, PARCEL_BYTES * output.rows // max(1, output.batch.nbytes)))
    for start in range(0, output.rows, step):
        part = output.batch.slice(start, step)
        yield Row(output=output.name, rows=part.num_rows, blob=encode(part))
