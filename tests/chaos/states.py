"""Stateful stages: the state of each bucket, in versions, one for each micro-batch.

A stage runs its buckets one after the other, each in a new worker or in one that has run before.
Each bucket commits its state by itself. From time to time a bucket is run twice, with its parcels
in another order: its output and its state must be the same, byte for byte. The second run uses
pandas frames, as Spark does. The first run does not, because they take a fifth of the time.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pandas as pd
import pyarrow as pa
from pyspark.errors import PySparkException

from latecomer.hosts.spark import bucket as buckets_of
from latecomer.hosts.spark.bucket import Bucket
from tests.chaos.frames import Frame, Parts, Session, arrow_of, shuffled
from tests.chaos.streams import Run, read_log
from tests.support.memory_states import Handle

if TYPE_CHECKING:
    from latecomer.hosts.spark.parcels import ArrowFunction
    from latecomer.hosts.spark.processor import BucketProcessor

OUTPUT = pa.schema({"output": pa.string(), "rows": pa.int64(), "blob": pa.binary()})
AGAIN = 0.1
"""The probability that a bucket is run twice, to compare both runs."""


class Records(list[dict[str, Any]]):
    """Parcels, in place of a pandas frame."""

    def to_dict(self, _how: str) -> list[dict[str, Any]]:
        return [*self]


@dataclass(eq=False)
class Grouped:
    """A frame grouped by bucket."""

    frame: Frame
    column: str

    def applyInArrow(self, function: ArrowFunction, schema: str) -> Frame:  # noqa: N802
        arrow = arrow_of(schema)

        def compute(run: Run | None, _first: int) -> Parts:
            found = []
            for rows in self._groups(run).values():
                made = function(iter(pa.Table.from_pylist(rows, self.frame.arrow).to_batches()))
                found += [pa.table(batch).select(arrow.names) for batch in made]
            return found or [arrow.empty_table()]

        return Frame(self.frame.sparkSession, arrow, compute, (self.frame,))

    def transformWithStateInPandas(  # noqa: N802
        self, processor: BucketProcessor, _schema: str, **_options: str
    ) -> Frame:
        frame: Frame

        def compute(run: Run | None, _first: int) -> Parts:
            assert run is not None
            assert frame.operator is not None
            return list(
                _stateful(
                    self.frame.sparkSession, processor, frame.operator, run, self._groups(run)
                )
            )

        frame = Frame(self.frame.sparkSession, OUTPUT, compute, (self.frame,), is_stateful=True)
        return frame

    def _groups(self, run: Run | None) -> dict[int, list[dict[str, Any]]]:
        groups: dict[int, list[dict[str, Any]]] = {}
        rows = pa.concat_tables(self.frame.parts(run, 0)).to_pylist()
        for row in shuffled(rows, self.frame.sparkSession.world.rng):
            groups.setdefault(row[self.column], []).append(row)
        return groups


def _stateful(
    spark: Session,
    processor: BucketProcessor,
    operator: int,
    run: Run,
    groups: dict[int, list[dict[str, Any]]],
) -> Iterator[pa.Table]:
    """Run the buckets that have rows, then those whose timers are due; commit each."""
    world = spark.world
    store = world.states.setdefault((run.checkpoint, operator), {})
    buckets = sorted({*groups, *(bucket for bucket, version in store if version <= run.number)})
    for bucket in shuffled(buckets, world.rng):
        rows = groups.get(bucket, [])
        handle = _copied(store.get((bucket, run.number)))
        worker = _worker(world, processor, handle)
        with patch.object(buckets_of, "frames", lambda parts: [Records(parts)]):
            found = _stepped(worker, handle, bucket, Records(rows), run)
        if world.rng.random() < AGAIN:
            again = _copied(store.get((bucket, run.number)))
            mixed = shuffled(rows, world.rng)
            worker = _worker(world, processor, again)
            same = _stepped(worker, again, bucket, pd.DataFrame(mixed), run)
            if same != found or _written(again) != _written(handle):
                raise AssertionError(f"bucket {bucket} gives other bytes when it runs again")
        world.disk.effect(
            "commit", f"state of stage {operator}, bucket {bucket}, batch {run.number}"
        )
        store[bucket, run.number + 1] = handle
        yield pa.Table.from_pylist(found, OUTPUT)
    if not buckets:
        yield OUTPUT.empty_table()


def _stepped(
    running: Any,  # noqa: ANN401
    handle: Handle,
    bucket: int,
    rows: Records | pd.DataFrame,
    run: Run,
) -> list[dict[str, Any]]:
    """Run a bucket: its rows if there are any, then its timers that are due."""
    shown = SimpleNamespace(getCurrentWatermarkInMs=lambda: run.watermark)
    found = []
    if len(rows):
        found += running.handleInputRows((bucket,), iter([rows]), shown)
    for due in [at for at in handle.timers if at <= run.watermark]:
        found += running.handleExpiredTimer((bucket,), shown, None)
        handle.timers.discard(due)
    return [part for frame in found for part in frame.to_dict("records")]


def _written(handle: Handle) -> Any:  # noqa: ANN401
    """Return the state that a bucket has written."""
    return {name: each.value for name, each in handle.values.items()}, handle.chunks, handle.timers


def _worker(world: Any, processor: BucketProcessor, handle: Handle) -> Any:  # noqa: ANN401
    """Start a stage in a new worker, or in one that has run before."""
    running = copy.copy(processor)
    running.init(handle)
    if world.rng.random() < 0.8:
        known = world.workers.setdefault(processor._arguments, None)
        if known is None:
            known = world.workers[processor._arguments] = pickle.loads(processor._arguments)  # noqa: S301
        running.__dict__["_bucket"] = Bucket(*known, running._states)
    return running


def _copied(handle: Handle | None) -> Handle:
    made = Handle()
    if handle is not None:
        made.values = {name: copy.copy(value) for name, value in handle.values.items()}
        made.chunks, made.timers = dict(handle.chunks), set(handle.timers)
    return made


class NoStates(PySparkException):
    """The error that Spark raises for a checkpoint without states."""

    def getCondition(self) -> str:  # noqa: N802
        return "STDS_FAILED_TO_READ_OPERATOR_METADATA"


def saved(spark: Session, kind: str, checkpoint: str, options: dict[str, Any]) -> Frame:
    """Read the state of a checkpoint, as of its last commit."""
    world = spark.world
    last = max(read_log(world, checkpoint, "commits"), default=-1)
    if kind == "state-metadata":
        if not any(at == checkpoint and store for (at, _), store in world.states.items()):
            raise NoStates("no states")
        return spark.createDataFrame([(0,)], "operatorId long")
    store = world.states.get((checkpoint, options["operatorId"]), {})
    rows: list[dict[str, Any]] = []
    for bucket, version in sorted(store):
        if version != _version(store, bucket, last + 1):
            continue
        handle, key = store[bucket, version], {"bucket": bucket}
        if options["stateVarName"] == "meta" and handle.values["meta"].exists():
            buckets, *_, stage = handle.values["meta"].get()
            rows.append({"key": key, "value": {"buckets": buckets, "stage": stage}})
        elif options["stateVarName"] == "chunks":
            rows += [
                {
                    "key": key,
                    "user_map_key": {"operator": operator, "number": number},
                    "user_map_value": {"rows": value[0]},
                }
                for (operator, number), value in handle.chunks.items()
            ]
    arrow = _SAVED[options["stateVarName"]]
    return Frame(spark, arrow, lambda *_: [pa.Table.from_pylist(rows, arrow)])


def _version(store: dict[tuple[int, int], Handle], bucket: int, upto: int) -> int:
    return max((v for b, v in store if b == bucket and v <= upto), default=-1)


_KEY = ("key", pa.struct([("bucket", pa.int32())]))
_SAVED = {
    "meta": pa.schema(
        [
            _KEY,
            (
                "value",
                pa.struct([("buckets", pa.int32()), ("stage", pa.binary())]),
            ),
        ]
    ),
    "chunks": pa.schema(
        [
            _KEY,
            ("user_map_key", pa.struct([("operator", pa.int32()), ("number", pa.int64())])),
            ("user_map_value", pa.struct([("rows", pa.binary())])),
        ]
    ),
}
