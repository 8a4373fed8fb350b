"""The part of Spark's DataFrames that Latecomer uses: lazy, in partitions, over Arrow.

Files are written as Spark's committer does it: into `_temporary`, then moved one by one. So a
directory that is being written shows some of its files. A DataFrame of files lists them when it is
made and reads them when it is evaluated, which may be too late.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from latecomer.batch import decode, encode, retyped
from latecomer.hosts.spark.arrow_schema import in_arrow
from tests.chaos.columns import TYPES, Column, col, condition, lit

if TYPE_CHECKING:
    import random

    from pyspark.sql import Row

    from tests.chaos.streams import Run
    from tests.chaos.world import World

Parts = list[pa.Table]
"""The rows of each partition."""
Compute = Callable[["Run | None", int], Parts]
"""What a frame holds in a micro-batch, given the number of the first of its tasks."""


class NotFound(AnalysisException):
    """What Spark raises for files that are not there."""

    def __init__(self, condition_: str, path: str) -> None:
        super().__init__(f"{condition_}: {path}")
        self._condition, self._path = condition_, path

    def getCondition(self) -> str:  # noqa: N802
        return self._condition

    def getMessageParameters(self) -> dict[str, str]:  # noqa: N802
        return {"path": self._path}


class Collected(tuple[Any, ...]):
    """A row that was collected."""

    __slots__ = ()
    names: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return self[self.names.index(name)]


@dataclass(eq=False)
class Session:
    """A Spark session: the driver's way to the world."""

    world: World
    conf: dict[str, str] = field(default_factory=dict)
    lengths: dict[int, int] = field(default_factory=dict)
    """Of how many pieces each stream is."""

    @property
    def read(self) -> Reader:
        return Reader(self)

    @property
    def readStream(self) -> Reader:  # noqa: N802
        return Reader(self)

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
    """The number of a stateful frame, once its query has been planned."""
    source: int | None = None
    """The number of a stream."""
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
        """Evaluate; what was persisted is not evaluated again, unless it was lost."""
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
        """Change each partition, given the wall clock of the micro-batch."""
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
        from tests.chaos.streams import Grouped

        return Grouped(self, column)

    @property
    def write(self) -> Writer:
        return Writer(self)

    @property
    def writeStream(self) -> Any:  # noqa: ANN401, N802 - it is never seen
        from tests.chaos.streams import StreamWriter

        return StreamWriter(self)


def arrow_of(schema: str | StructType) -> pa.Schema:
    """Read a schema as Spark writes it, in either of its forms."""
    if isinstance(schema, StructType):
        return in_arrow(schema)
    pairs = (each.split() for each in schema.split(","))
    return pa.schema([(name, TYPES[kind]) for name, kind in pairs])


@dataclass(eq=False)
class Writer:
    """Writes a frame to a directory, in the place of what is there."""

    frame: Frame
    by: str | None = None

    def mode(self, asked: str) -> Writer:
        assert asked == "overwrite", asked
        return self

    def partitionBy(self, column: str) -> Writer:  # noqa: N802
        return Writer(self.frame, column)

    def parquet(self, path: str) -> None:
        rows = self.frame.table()
        if self.by is None:
            half = rows.num_rows // 2
            cuts = [rows.slice(0, half), rows.slice(half)] if half else [rows]
            self._commit(path, {f"part-{i}.parquet": encode(cut) for i, cut in enumerate(cuts)})
            return
        files = {}
        for value in sorted(set(rows.column(self.by).to_pylist())):
            own = rows.filter(condition(col(self.by) == value).of(rows, 0)).drop_columns([self.by])
            files[f"{self.by}={value}/part-0.parquet"] = encode(own)
        self._commit(path, files)

    def text(self, path: str) -> None:
        lines = self.frame.table().column(0).to_pylist()
        self._commit(path, {"part-0.txt": "".join(f"{line}\n" for line in lines).encode()})

    def _commit(self, path: str, files: dict[str, bytes]) -> None:
        disk = self.frame.sparkSession.world.disk
        path = bare(path)
        for name in disk.below(path):
            disk.delete(name)
        for name, content in files.items():
            disk.write(f"{path}/_temporary/{name}", content)
        for name in files:
            disk.move(f"{path}/_temporary/{name}", f"{path}/{name}")
        disk.write(f"{path}/_SUCCESS", b"")


def bare(path: str) -> str:
    """Return a path as the disk has it."""
    return path.removeprefix("file:")


@dataclass(eq=False)
class Reader:
    """Reads files, or what a checkpoint holds."""

    spark: Session
    options: dict[str, Any] = field(default_factory=dict)
    kind: str = ""
    columns: pa.Schema | None = None

    def option(self, name: str, value: Any) -> Reader:  # noqa: ANN401
        self.options[name] = value
        return self

    def format(self, kind: str) -> Reader:
        self.kind = kind
        return self

    def schema(self, schema: StructType) -> Reader:
        self.columns = in_arrow(schema)
        return self

    def text(self, path: str) -> Frame:
        disk = self.spark.world.disk
        names = self._found(path)
        if self.options.get("wholetext"):
            rows = [
                {
                    "_metadata": {"file_name": name.rpartition("/")[2]},
                    "value": disk.read(name).decode(),
                }
                for name in names
            ]
            arrow = pa.schema(
                [("_metadata", pa.struct([("file_name", pa.string())])), ("value", pa.string())]
            )
            return Frame(self.spark, arrow, lambda *_: [pa.Table.from_pylist(rows, arrow)])
        if not self.options.get("recursiveFileLookup"):
            depth = bare(path).count("/") + 1
            names = [name for name in names if name.count("/") == depth]
        arrow = pa.schema([("value", pa.string())])

        def compute(_run: Run | None, _first: int) -> Parts:
            lines = [line for n in names for line in _lines(disk.read(n))]
            return [pa.table([pa.array(lines, pa.string())], schema=arrow)]

        return Frame(self.spark, arrow, compute)

    def parquet(self, *paths: str) -> Frame:
        disk, files = self.spark.world.disk, []
        for path in paths:
            base = bare(self.options.get("basePath", path))
            for name in self._found(path):
                inside = name.removeprefix(base).split("/")[:-1]
                files.append((name, dict(each.split("=") for each in inside if "=" in each)))
        if not files and self.columns is None:
            raise NotFound("UNABLE_TO_INFER_SCHEMA", paths[0])
        columns = self.columns
        if columns is None:
            first, named = files[0]
            columns = decode(disk.read(first)).schema
            for name in named:
                kind = pa.int32() if name == "batch" else pa.string()
                columns = columns.append(pa.field(name, kind))

        def compute(_run: Run | None, _first: int) -> Parts:
            parts = []
            for file, named in files:
                rows = decode(disk.read(file))
                for name, value in named.items():
                    if name in columns.names:
                        kind = columns.field(name).type
                        value_ = int(value) if kind == pa.int32() else value
                        rows = rows.append_column(name, lit(value_).of(rows, 0).cast(kind))
                parts.append(retyped(rows, columns))
            return parts or [columns.empty_table()]

        return Frame(self.spark, columns, compute)

    def load(self, path: str | None = None) -> Frame:
        from tests.chaos import streams

        if self.kind == "rate-micro-batch":
            return streams.ticks(self.spark)
        assert path is not None
        return streams.saved(self.spark, self.kind, bare(path), self.options)

    def _found(self, path: str) -> list[str]:
        """List the files that Spark would read: not those that it hides."""
        disk = self.spark.world.disk
        below = disk.below(bare(path))
        if not below and bare(path) not in disk.directories:
            raise NotFound("PATH_NOT_FOUND", qualified(path))
        start = len(bare(path))
        return [name for name in below if not re.search(r"/[._]", name[start:])]


def _lines(content: bytes) -> Sequence[str]:
    return content.decode("utf-8", "replace").splitlines()


def qualified(path: str) -> str:
    """Return a path with its scheme."""
    return path if ":" in path else f"file:{path}"


def shuffled(rows: list[Any], rng: random.Random) -> list[Any]:
    """Return rows in another order, as a shuffle hands them over."""
    return rng.sample(rows, len(rows))
