"""How Spark runs a query: offsets, the micro-batch, its state, its commit.

    offsets/7     the input and the clock of micro-batch 7; an effect
    the batch     computed when the sink reads it; each bucket commits its state, an effect each
    the sink      Latecomer's own code, with effects of its own
    commits/7     an effect

A restarted query repeats the last batch that has offsets and no commit, from the state of the
commit before. A log file is never replaced: if two drivers write one number, one of them fails.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from pyspark.errors import StreamingQueryException

from tests.chaos.disk import Stopped
from tests.chaos.files import bare
from tests.chaos.frames import Frame, Parts, Session

PACE = 2_000
"""Milliseconds of the wall clock between two micro-batches."""


@dataclass
class Run:
    """One evaluation of a micro-batch."""

    number: int
    watermark: int
    """Spark's watermark, in milliseconds."""
    now: int
    """The wall clock of the micro-batch, in microseconds."""
    since: list[int]
    until: list[int]
    """The range of micro-batches to read from each stream."""
    checkpoint: str
    seen: dict[int, int] = field(default_factory=dict)
    """The largest time seen by each watermark operator, in microseconds."""


def stream(spark: Session, number: int, arrow: pa.Schema, batches: list[pa.Table]) -> Frame:
    """Return the frame of a stream. Its micro-batches are cut into partitions at random."""

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
    """Return the frame of a source that always has one row."""
    arrow = pa.schema({"value": pa.int64()})
    one = pa.table({"value": [0]}, schema=arrow)
    return Frame(spark, arrow, lambda *_: [one], isStreaming=True, is_tick=True)


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
    """A query that reads all available rows, and ends."""

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
            # A stopped query ends like one that has read everything.
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
        """Return the next micro-batch; None if there is nothing to do."""
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
        """Return the next clock: the slowest watermark of this run of the query."""
        for mark in self.marks:
            seen = run.seen.get(mark, 0) // 1_000
            self.watermarks[mark] = max(seen, self.watermarks.get(mark, 0))
        return min(self.watermarks.values(), default=0)

    def log(self, name: str) -> dict[int, dict[str, Any]]:
        return read_log(self.world, self.checkpoint, name)

    def _add(self, name: str, number: int, entry: dict[str, Any]) -> None:
        path = f"{self.checkpoint}/{name}/{number}"
        clock = {"batchTimestampMs": entry["now"]} if "now" in entry else {}
        lines = ["v1", json.dumps(entry | clock)]
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
    """Number the stateful operators from the last to the first; find sources and watermarks."""
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
