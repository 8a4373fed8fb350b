"""The part of Spark's DataFrames that Latecomer uses: lazy, in partitions, over Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from latecomer.batch import retyped
from latecomer.hosts.spark.arrow_schema import in_arrow
from tests.chaos.columns import TYPES, Column, col, condition

if TYPE_CHECKING:
    import random

    from pyspark.sql import Row

    from tests.chaos.files import Reader, Writer
    from tests.chaos.streams import Run
    from tests.chaos.world import World

Parts = list[pa.Table]
"""The rows of each partition."""
Compute = Callable[["Run | None", int], Parts]
"""Computes the partitions of a frame in a micro-batch, given the number of its first task."""


class Collected(tuple[Any, ...]):
    """A collected row."""

    __slots__ = ()
    names: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return self[self.names.index(name)]


@dataclass(eq=False)
class Session:
    """A Spark session, through which a driver reaches the simulated world."""

    world: World
    conf: dict[str, str] = field(default_factory=dict)
    lengths: dict[int, int] = field(default_factory=dict)
    """The number of micro-batches of each stream."""
    version: str = "4.3.0"
    catalog = SimpleNamespace(refreshByPath=lambda _path: None)

    @property
    def read(self) -> Reader:
        from tests.chaos.files import Reader

        return Reader(self)

    @property
    def readStream(self) -> Reader:  # noqa: N802
        return self.read

    def createDataFrame(  # noqa: N802
        self, rows: pa.Table | list[tuple[Any, ...]], schema: str | StructType
    ) -> Frame:
        arrow = arrow_of(schema)
        if not isinstance(rows, pa.Table):
            columns = [
                pa.array([row[i] for row in rows], kind) for i, kind in enumerate(arrow.types)
            ]
            rows = pa.table(columns, schema=arrow)
        return Frame(self, arrow, lambda _run, _first: [retyped(rows, arrow)])

    def range(self, *_numbers: int) -> Frame:
        return self.createDataFrame([(0,)], "id long")


@dataclass(eq=False)
class Frame:
    """A DataFrame."""

    sparkSession: Session  # noqa: N815
    arrow: pa.Schema
    compute: Compute
    parents: tuple[Frame, ...] = ()
    isStreaming: bool = False  # noqa: N815
    operator: int | None = None
    """The number of a stateful operator, once its query has been planned."""
    source: int | None = None
    """The number of the stream, if the frame is one."""
    is_stateful: bool = False
    is_mark: bool = False
    is_tick: bool = False
    kept: Parts | None = None
    is_kept: bool = False

    def __post_init__(self) -> None:
        self.isStreaming |= any(parent.isStreaming for parent in self.parents)

    @property
    def schema(self) -> StructType:
        return from_arrow_schema(self.arrow)

    @property
    def columns(self) -> list[str]:
        return self.arrow.names

    def parts(self, run: Run | None, first: int = 0) -> Parts:
        """Compute the partitions. Persisted ones are computed again only if they were lost."""
        if self.kept is not None and not self.sparkSession.world.loses_cache():
            return self.kept
        found = self.compute(run, first)
        if self.is_kept:
            self.kept = found
        return found

    def table(self) -> pa.Table:
        return pa.concat_tables(self.parts(None))

    def toArrow(self) -> pa.Table:  # noqa: N802
        return self.table()

    def collect(self) -> list[Row]:
        table = self.table()
        kind = type("Row", (Collected,), {"names": tuple(table.column_names)})
        return [kind(row.values()) for row in table.to_pylist()]

    def take(self, many: int) -> list[Row]:
        return self.collect()[:many]

    def foreach(self, _function: object) -> None:
        self.table()

    def persist(self) -> Frame:
        self.is_kept = True
        return self

    def unpersist(self) -> None:
        self.kept, self.is_kept = None, False

    def coalesce(self, _parts: int) -> Frame:
        return self

    def hint(self, *_hints: str) -> Frame:
        return self

    def observe(self, *_metrics: object) -> Frame:
        return self

    def mapped(self, arrow: pa.Schema, change: Callable[[pa.Table, int], pa.Table]) -> Frame:
        """Apply a function to each partition and the wall clock of the micro-batch."""
        spark = self.sparkSession

        def compute(run: Run | None, first: int) -> Parts:
            now = run.now if run is not None else spark.world.now
            return [change(part, now) for part in self.parts(run, first)]

        return Frame(spark, arrow, compute, (self,))

    def withColumn(self, name: str, column: Column) -> Frame:  # noqa: N802
        kind = column.of(self.arrow.empty_table(), 0).type
        others = [each for each in self.arrow if each.name != name]
        arrow = pa.schema([*others, pa.field(name, kind)])
        names = [each.name for each in others]

        def change(rows: pa.Table, now: int) -> pa.Table:
            return pa.table([*rows.select(names).columns, column.of(rows, now)], schema=arrow)

        return self.mapped(arrow, change)

    def withColumns(self, columns: dict[str, Column]) -> Frame:  # noqa: N802
        frame = self
        for name, column in columns.items():
            frame = frame.withColumn(name, column)
        return frame

    def select(self, *asked: str | Column) -> Frame:
        columns = [col(each) if isinstance(each, str) else each for each in asked]
        empty = self.arrow.empty_table()
        arrow = pa.schema([(each.name, each.of(empty, 0).type) for each in columns])
        return self.mapped(
            arrow, lambda rows, now: pa.table([c.of(rows, now) for c in columns], schema=arrow)
        )

    def drop(self, *names: str) -> Frame:
        arrow = pa.schema([each for each in self.arrow if each.name not in names])
        return self.mapped(arrow, lambda rows, _now: rows.select(arrow.names))

    def where(self, asked: str | Column) -> Frame:
        column = condition(asked)
        return self.mapped(self.arrow, lambda rows, now: rows.filter(column.of(rows, now)))

    def distinct(self) -> Frame:
        def compute(run: Run | None, first: int) -> Parts:
            table = pa.concat_tables(self.parts(run, first))
            return [table.group_by(table.column_names).aggregate([])]

        return Frame(self.sparkSession, self.arrow, compute, (self,))

    def unionByName(self, other: Frame) -> Frame:  # noqa: N802
        def compute(run: Run | None, first: int) -> Parts:
            ours = self.parts(run, first)
            theirs = other.parts(run, first + len(ours))
            return [*ours, *(retyped(part, self.arrow) for part in theirs)]

        return Frame(self.sparkSession, self.arrow, compute, (self, other))

    def mapInArrow(  # noqa: N802
        self, function: Callable[..., Iterable[pa.RecordBatch]], schema: str | StructType
    ) -> Frame:
        arrow, world = arrow_of(schema), self.sparkSession.world

        def compute(run: Run | None, first: int) -> Parts:
            found = []
            for task, part in enumerate(self.parts(run, first), first):
                world.task = task
                batches = list(function(iter(part.to_batches(max_chunksize=7))))
                found.append(
                    retyped(pa.Table.from_batches(batches), arrow)
                    if batches
                    else arrow.empty_table()
                )
            return found

        return Frame(self.sparkSession, arrow, compute, (self,))

    def withWatermark(self, column: str, _delay: str) -> Frame:  # noqa: N802
        frame: Frame

        def compute(run: Run | None, first: int) -> Parts:
            parts = self.parts(run, first)
            shown = [each for part in parts for each in part.column(column).to_pylist()]
            if run is not None and shown:
                run.seen[id(frame)] = max(shown)
            return parts

        frame = Frame(self.sparkSession, self.arrow, compute, (self,), is_mark=True)
        return frame

    def groupBy(self, column: str) -> Any:  # noqa: ANN401, N802 - it is never seen
        from tests.chaos.states import Grouped

        return Grouped(self, column)

    @property
    def write(self) -> Writer:
        from tests.chaos.files import Writer

        return Writer(self)

    @property
    def writeStream(self) -> Any:  # noqa: ANN401, N802 - it is never seen
        from tests.chaos.streams import StreamWriter

        return StreamWriter(self)


def arrow_of(schema: str | StructType) -> pa.Schema:
    """Parse a schema in either form that Spark writes."""
    if isinstance(schema, StructType):
        return in_arrow(schema)
    pairs = (each.split() for each in schema.split(","))
    return pa.schema([(name, TYPES[kind]) for name, kind in pairs])


def shuffled(rows: list[Any], rng: random.Random) -> list[Any]:
    """Return rows in another order, as a shuffle may."""
    return rng.sample(rows, len(rows))
