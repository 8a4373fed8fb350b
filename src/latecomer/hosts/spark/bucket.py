"""Run one stage of a plan in Spark's transformWithState: one group is one bucket.

State is log-structured: a small value (`meta`) and a map of chunks (`state_map`). A micro-batch
reads and writes the value, appends chunks, and reads only those chunks that are due.

A bucket without rows sleeps. Its timer wakes it when something that it holds is due, also in
micro-batches without data.
"""

import json
from collections.abc import Iterator
from dataclasses import astuple
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from latecomer.clock.silence import Silence
from latecomer.clock.source_clocks import SourceClocks
from latecomer.clock.watermark import Clock
from latecomer.errors import StateFormatError
from latecomer.hosts.spark import batch_clock
from latecomer.hosts.spark.bucket_labels import labels
from latecomer.hosts.spark.counting import Counting
from latecomer.hosts.spark.delivery import Delivery, Part, frames, parts_of
from latecomer.hosts.spark.parcels import ASSUMED
from latecomer.hosts.spark.processor import States
from latecomer.hosts.spark.spark_clock import SparkClock
from latecomer.hosts.spark.state_map import StateChunks, StateMap
from latecomer.hosts.stage import RunningStage
from latecomer.plan import Plan
from latecomer.time import NEVER

if TYPE_CHECKING:
    import pandas as pd

_NO_TIMER = -1


class _Saved(NamedTuple):
    buckets: int
    timer: int
    rows: int
    windows: int
    several: str
    """The chunks that are in several pieces, as JSON."""
    stage: bytes


class Bucket:
    """A running stage of a plan: Spark calls it for one bucket after the other."""

    def __init__(
        self, plan: Plan, at: int, buckets: int, clock: SparkClock, states: States
    ) -> None:
        """Run stage `at` of the plan by this clock, with its rows spread over `buckets`."""
        self._plan = plan
        self._at = at
        self._buckets = buckets
        self._spark_clock = clock
        self._handle, self._meta, self._chunks, self._silence, self._brought, self._sources = states

    def run(
        self, key: Any, rows: Iterator["pd.DataFrame"], timer_values: Any
    ) -> Iterator["pd.DataFrame"]:
        """Run a micro-batch that has rows for this bucket."""
        return frames(self._run(key, rows, timer_values))

    def wake(self, key: Any, timer_values: Any) -> Iterator["pd.DataFrame"]:
        """Run a micro-batch in which only the clock has moved."""
        return frames(self._wake(key, timer_values))

    def _wake(self, key: Any, timer_values: Any) -> Iterator[Part]:
        nothing = Delivery.of([], self._plan.stages[self._at])
        counting = self._counting(key)
        yield from self._step(key, nothing, self._clock(timer_values), timer_values, counting)
        yield from counting.part()

    def _counting(self, key: Any) -> Counting:
        return Counting(self._plan, self._at, int(key[0]), self._buckets)

    def _run(self, key: Any, rows: Iterator["pd.DataFrame"], timer_values: Any) -> Iterator[Part]:
        parcels: list[Any] = [parcel for frame in rows for parcel in frame.to_dict("records")]
        self._check_clock(parcels, timer_values)
        for parcel in parcels:
            if parcel["kind"] == ASSUMED:
                batch_clock.check(parcel["rows"], timer_values.getCurrentWatermarkInMs())
        delivery = Delivery.of(parcels, self._plan.stages[self._at])
        yield from delivery.outputs
        clock = self._clock(timer_values, delivery.now)
        counting = self._counting(key)
        newest = self._spark_clock.newest(timer_values.getCurrentWatermarkInMs())
        counting.arrived(parcels, delivery, newest)
        try:
            yield from delivery.late(self._plan, clock, counting.watched)
        except Exception as error:
            self._note(error, key)
            raise
        if delivery.is_filled or delivery.told or delivery.now is not None:
            yield from self._step(key, delivery, clock, timer_values, counting)
        self._hear(delivery, clock, timer_values)
        yield from counting.part()

    def _note(self, error: Exception, key: Any) -> None:
        stage = self._plan.stages[self._at]
        running = [type(each).__name__ for each in stage.operators] or ["a window join"]
        number = np.flatnonzero(labels(self._buckets) == int(key[0]))
        # Rows that are only checked for lateness may go to any partition.
        where = f"bucket {number[0] + 1} of {self._buckets}" if len(number) else "some bucket"
        error.add_note(f"while running {', then '.join(running)} in {where}")

    def _step(
        self, key: Any, delivery: Delivery, clock: Clock, timer_values: Any, counting: Counting
    ) -> Iterator[Part]:
        saved = self._load(timer_values)
        if saved is None and not delivery.is_filled:
            return
        chunks = StateMap(self._chunks, json.loads(saved.several) if saved else ())
        try:
            stage = RunningStage(
                self._plan,
                self._at,
                delivery.schema,
                partial(StateChunks, chunks),
                chunks.read_stage(saved.stage) if saved else None,
            )
            counting.ran(clock)
            outputs = counting.watched(stage.step(clock, delivery.inputs, delivery.states))
            yield from parts_of(outputs, self._plan, int(key[0]), self._buckets)
        except Exception as error:
            self._note(error, key)
            raise
        counting.held((saved.rows, saved.windows) if saved else (0, 0), stage.counted)
        self._save(stage, chunks, saved.timer if saved else _NO_TIMER, timer_values)

    def _clock(self, timer_values: Any, now: int | None = None) -> Clock:
        newest = self._spark_clock.newest(timer_values.getCurrentWatermarkInMs())
        elapsed = 0
        if self._plan.idle is not None:
            known = _value(self._silence, timer_values)
            silence = Silence(*known) if known else Silence()
            if now is not None:
                silence = silence.ticked(newest, now, self._plan.idle)
                self._silence.update(astuple(silence))
            newest, elapsed = max(newest, silence.reached), silence.elapsed
        if self._plan.clock.columns:
            newest = NEVER
        if self._plan.clock.is_by_source:
            return self._source_clocks(timer_values).clock(self._plan.clock, elapsed)
        return self._plan.clock.read(newest, elapsed)

    def _source_clocks(self, timer_values: Any) -> SourceClocks:
        return SourceClocks.read((_value(self._sources, timer_values) or (None,))[0])

    def _hear(self, delivery: Delivery, clock: Clock, timer_values: Any) -> None:
        """Update the clocks of the sources from rows, to be used from the next micro-batch on."""
        if delivery.told:
            clocks = self._source_clocks(timer_values)
            # The watermark of this micro-batch is a floor: a watermark never falls.
            clocks.mark = clock.watermark
            for rows in delivery.told:
                clocks.hear(rows, clock.elapsed)
            # A timer may need this clock before there are rows again.
            clocks.clock(self._plan.clock, clock.elapsed)
            self._sources.update((clocks.save(),))

    def _check_clock(self, parcels: list[dict[str, Any]], timer_values: Any) -> None:
        """Refuse a clock that is still at its beginning although all streams have brought rows."""
        if self._spark_clock.streams and timer_values.getCurrentWatermarkInMs() <= 0:
            before = (_value(self._brought, timer_values) or (0,))[0]
            self._spark_clock.check(before)
            self._brought.update((before | self._spark_clock.brought(parcels),))

    def _load(self, timer_values: Any) -> "_Saved | None":
        if (found := _value(self._meta, timer_values)) is None:
            return None
        saved = _Saved(*found)
        if saved.buckets != self._buckets:
            message = (
                f"the checkpoint spreads its rows over {saved.buckets} buckets; the query now asks "
                f"for {self._buckets}.\n"
                f"Hint: use buckets={saved.buckets} as before, or start with a new checkpoint."
            )
            raise StateFormatError(message)
        return saved

    def _save(self, stage: RunningStage, chunks: StateMap, timer: int, timer_values: Any) -> None:
        due = stage.due()
        if due is not None and self._plan.clock.is_by_source and self._plan.clock.promise:
            # A promise can make rows due before their wait is over: wake whenever the clock moves.
            due = NEVER
        shown = timer_values.getCurrentWatermarkInMs()
        wake = _NO_TIMER if due is None else self._spark_clock.timer(due, shown)
        if wake != timer:
            if timer != _NO_TIMER:
                self._handle.deleteTimer(timer)
            if wake != _NO_TIMER:
                self._handle.registerTimer(wake)
        written = chunks.write_stage(stage.save())
        several = json.dumps(chunks.several)
        self._meta.update((self._buckets, wake, *stage.counted, several, written))


def _value(state: Any, timer_values: Any) -> tuple[Any, ...] | None:
    """Return the value of a state; None if it has none yet.

    Each call on a state is a round trip to Spark. `get` alone would do, but Spark logs a warning if
    there is no value. So `exists` is called first, but only while the clock is at its beginning,
    when most buckets have no value.
    """
    if timer_values.getCurrentWatermarkInMs() <= 0 and not state.exists():
        return None
    found: tuple[Any, ...] | None = state.get()
    return found
