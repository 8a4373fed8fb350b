"""Spark's way to run a query: offsets, the micro-batch, its state, its commit.

    offsets/7     what micro-batch 7 reads, and by which clock; an effect
    the batch     evaluated when the sink asks for it; each bucket commits its state, an effect each
    the sink      Latecomer's own code, with effects of its own
    commits/7     an effect

A query that starts again runs the last batch that has offsets and no commit, from the state of the
commit before. Logs are created only if absent: of two drivers that write one number, one fails.
"""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
from pyspark.errors import PySparkException, StreamingQueryException

from latecomer.hosts.spark.bucket import Bucket
from tests.chaos.disk import Stopped
from tests.chaos.frames import Frame, Parts, Session, arrow_of, bare, shuffled
from tests.support.memory_states import Handle

if TYPE_CHECKING:
    from latecomer.hosts.spark.parcels import ArrowFunction
    from latecomer.hosts.spark.processor import BucketProcessor

OUTPUT = pa.schema({"output": pa.string(), "rows": pa.int64(), "blob": pa.binary()})
AGAIN = 0.1
"""How often a bucket is run twice, to see whether it does the same."""
PACE = 2_000
"""Milliseconds of the wall clock from one micro-batch to the next."""


@dataclass
class Run:
    """One evaluation of a micro-batch."""

    number: int
    watermark: int
    """What Spark's clock shows, in milliseconds."""
    now: int
    """The wall clock of the micro-batch, in microseconds."""
    since: list[int]
    until: list[int]
    """Which part of each stream is read."""
    checkpoint: str
    seen: dict[int, int] = field(default_factory=dict)
    """The largest time that passed each watermark, in microseconds."""


def stream(spark: Session, number: int, arrow: pa.Schema, batches: list[pa.Table]) -> Frame:
    """Make the frame of a stream; micro-batches are read as they are, in partitions of any cut."""

    def compute(run: Run | None, _first: int) -> Parts:
        assert run is not None
        rows = pa.concat_tables(
            [arrow.empty_table(), *batches[run.since[number] : run.until[number]]]
        ).combine_chunks()
        cuts = spark.world.cuts(rows.num_rows)
        return [
            rows.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, rows.num_rows], strict=True)
        ]

    spark.lengths[number] = len(batches)
    return Frame(spark, arrow, compute, isStreaming=True, source=number)


def ticks(spark: Session) -> Frame:
    """Make the frame of a source that always has one row."""
    arrow = pa.schema({"value": pa.int64()})
    one = pa.table({"value": [0]}, schema=arrow)
    return Frame(spark, arrow, lambda *_: [one], isStreaming=True, is_tick=True)


@dataclass(eq=False)
class Grouped:
    """Rows of a bucket together."""

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
    """Run a stage: the buckets with rows, then those whose timers are due; commit each."""
    world = spark.world
    store = world.states.setdefault((run.checkpoint, operator), {})
    buckets = sorted({*groups, *(bucket for bucket, version in store if version <= run.number)})
    for bucket in shuffled(buckets, world.rng):
        rows = groups.get(bucket, [])
        handle = _copied(store.get((bucket, run.number)))
        found = _stepped(_worker(world, processor, handle), handle, bucket, rows, run)
        if world.rng.random() < AGAIN:
            again = _copied(store.get((bucket, run.number)))
            mixed = shuffled(rows, world.rng)
            same = _stepped(_worker(world, processor, again), again, bucket, mixed, run)
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
    rows: list[dict[str, Any]],
    run: Run,
) -> list[dict[str, Any]]:
    """Run a bucket: its rows if it has any, then its timer if that is due."""
    shown = SimpleNamespace(getCurrentWatermarkInMs=lambda: run.watermark)
    found = []
    if rows:
        found += running.handleInputRows((bucket,), iter([pd.DataFrame(rows)]), shown)
    for due in [at for at in handle.timers if at <= run.watermark]:
        found += running.handleExpiredTimer((bucket,), shown, None)
        handle.timers.discard(due)
    return [part for frame in found for part in frame.to_dict("records")]


def _written(handle: Handle) -> Any:  # noqa: ANN401
    """Return all that a bucket has written down."""
    return {name: each.value for name, each in handle.values.items()}, handle.chunks, handle.timers


def _worker(world: Any, processor: BucketProcessor, handle: Handle) -> Any:  # noqa: ANN401
    """Start a stage in a worker that has just started, or in one that has run before."""
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


@dataclass(eq=False)
class StreamWriter:
    """Starts a query that runs a function on each micro-batch."""

    frame: Frame
    function: Callable[[Frame, int], None] | None = None
    checkpoint: str = ""

    def foreachBatch(self, function: Callable[[Any, int], None]) -> StreamWriter:  # noqa: N802
        self.function = function
        return self

    def option(self, _name: str, value: str) -> StreamWriter:
        self.checkpoint = bare(value)
        return self

    def trigger(self, **_how: bool) -> StreamWriter:
        return self

    def queryName(self, _name: str) -> StreamWriter:  # noqa: N802
        return self

    def start(self) -> Query:
        query = Query(self.frame, self.checkpoint, self.function)
        query.run()
        return query


class Query:
    """A query that reads what there is, and ends."""

    isActive = False  # noqa: N815

    def __init__(
        self, frame: Frame, checkpoint: str, function: Callable[[Frame, int], None] | None
    ) -> None:
        self.frame, self.checkpoint, self.function = frame, checkpoint, function
        self.spark, self.world = frame.sparkSession, frame.sparkSession.world
        self.error: Exception | None = None
        self.world.disk.directories |= {f"{checkpoint}/{name}" for name in ("offsets", "commits")}
        self.runId = self.id = str(self.world.rng.getrandbits(64))
        self.recentProgress: list[Any] = []
        self.watermarks: dict[int, int] = {}
        self.sources, self.has_ticks, self.marks, self.is_stateful = _planned(frame)

    def awaitTermination(self) -> None:  # noqa: N802
        if self.error is not None:
            raise StreamingQueryException(
                f"{type(self.error).__name__}: {self.error}"
            ) from self.error

    def run(self) -> None:
        driver = self.world.current
        driver.runs += 1
        try:
            self._run()
        except Stopped:
            # It ends like one that has read all there is.
            pass
        except Exception as error:  # noqa: BLE001 - a query keeps whatever ended it
            self.error = error
        finally:
            driver.runs -= 1

    def _run(self) -> None:
        assert self.function is not None
        offsets, commits = self.log("offsets"), self.log("commits")
        number = max(commits, default=-1) + 1
        watermark = commits[number - 1]["watermark"] if commits else 0
        is_first = True
        while True:
            before = offsets.get(number - 1, {"watermark": 0, "until": [0] * len(self.sources)})
            entry = offsets.get(number) or self._next(number, watermark, before, is_first=is_first)
            if entry is None:
                return
            if number not in offsets:
                self._add("offsets", number, entry)
                offsets[number] = entry
            is_first = False
            run = Run(
                number,
                entry["watermark"],
                entry["now"] * 1_000,
                before["until"],
                entry["until"],
                self.checkpoint,
            )
            bound = Frame(self.spark, self.frame.arrow, lambda _, n, r=run: self.frame.parts(r, n))
            self.function(bound, number)
            self.recentProgress.append(
                SimpleNamespace(batchId=number, numInputRows=int(before["until"] != entry["until"]))
            )
            watermark = max(watermark, entry["watermark"], self._moved(run))
            self._add("commits", number, {"watermark": watermark})
            number += 1

    def _next(
        self, number: int, watermark: int, before: dict[str, Any], *, is_first: bool
    ) -> dict[str, Any] | None:
        """Say what the next micro-batch reads; None if there is nothing to do."""
        until = [min(at + 1, end) for at, end in zip(before["until"], self.sources, strict=True)]
        has_rows = until != before["until"]
        is_moved = self.is_stateful and watermark > before["watermark"]
        if not (has_rows or is_moved or (self.has_ticks and is_first)):
            return None
        return {
            "watermark": watermark,
            "now": self.world.now // 1_000 + number * PACE,
            "until": until,
        }

    def _moved(self, run: Run) -> int:
        """Return what the clock shows next: the slowest watermark of this run of the query."""
        for mark in self.marks:
            seen = run.seen.get(mark, 0) // 1_000
            self.watermarks[mark] = max(seen, self.watermarks.get(mark, 0))
        return min(self.watermarks.values(), default=0)

    def log(self, name: str) -> dict[int, dict[str, Any]]:
        return read_log(self.world, self.checkpoint, name)

    def _add(self, name: str, number: int, entry: dict[str, Any]) -> None:
        path = f"{self.checkpoint}/{name}/{number}"
        lines = ["v1", json.dumps(entry)]
        lines += [json.dumps(each) for each in entry.get("until", ())]
        if name == "offsets" and self.has_ticks:
            lines.append(json.dumps({"offset": number, "timestamp": entry["now"]}))
        disk = self.world.disk
        disk.effect("log", path)
        if path in disk.files:
            raise RuntimeError(f"multiple streaming jobs detected for batch {number}")
        disk.files[path] = "\n".join(lines).encode()


def read_log(world: Any, checkpoint: str, name: str) -> dict[int, dict[str, Any]]:  # noqa: ANN401
    """Read the offsets or the commits of a checkpoint."""
    found = {}
    for path in world.disk.below(f"{checkpoint}/{name}"):
        found[int(path.rpartition("/")[2])] = json.loads(world.disk.read(path).splitlines()[1])
    return found


def _planned(frame: Frame) -> tuple[list[int], bool, list[int], bool]:
    """Number the stateful operators, the last one first; find sources and watermarks."""
    seen: list[Frame] = []

    def walk(each: Frame) -> None:
        if any(each is other for other in seen):
            return
        seen.append(each)
        for parent in each.parents:
            walk(parent)

    walk(frame)
    stateful = [each for each in seen if each.is_stateful]
    for number, each in enumerate(stateful):
        each.operator = number
    sources = sorted({each.source for each in seen if each.source is not None})
    return (
        [frame.sparkSession.lengths[number] for number in sources],
        any(each.is_tick for each in seen),
        [id(each) for each in seen if each.is_mark],
        bool(stateful),
    )


class NoStates(PySparkException):
    """What Spark raises for a checkpoint without states."""

    def getCondition(self) -> str:  # noqa: N802
        return "STDS_FAILED_TO_READ_OPERATOR_METADATA"


def saved(spark: Session, kind: str, checkpoint: str, options: dict[str, Any]) -> Frame:
    """Read what a checkpoint holds, as of its last commit."""
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
