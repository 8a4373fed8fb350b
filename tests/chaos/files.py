"""Files as Spark writes and reads them.

As Spark's committer does, a writer writes into `_temporary` and then moves the files one by one, so
a reader may see only some of them. A DataFrame lists its files when it is made and reads them when
it is evaluated; they may be gone by then.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import AnalysisException

from latecomer.batch import decode, encode, retyped
from latecomer.hosts.spark.arrow_schema import in_arrow
from tests.chaos.columns import col, condition, lit
from tests.chaos.frames import Frame, Parts, Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql.types import StructType

    from tests.chaos.streams import Run


class NotFound(AnalysisException):
    """The error that Spark raises for missing files."""

    def __init__(self, condition_: str, path: str) -> None:
        super().__init__(f"{condition_}: {path}")
        self._condition, self._path = condition_, path

    def getCondition(self) -> str:  # noqa: N802
        return self._condition

    def getMessageParameters(self) -> dict[str, str]:  # noqa: N802
        return {"path": self._path}


@dataclass(eq=False)
class Writer:
    """Writes a frame to a directory, replacing its content."""

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
    """Return a path as the disk names it."""
    return path.removeprefix("file:")


@dataclass(eq=False)
class Reader:
    """Reads files, or the state in a checkpoint."""

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

    def text(self, path: str, *, wholetext: bool = False) -> Frame:
        disk = self.spark.world.disk
        names = self._found(path)
        if wholetext:
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
            columns = _rows(disk.read(first)).schema
            for name in named:
                kind = pa.int32() if name == "batch" else pa.string()
                columns = columns.append(pa.field(name, kind))

        def compute(_run: Run | None, _first: int) -> Parts:
            parts = []
            for file, named in files:
                rows = _rows(disk.read(file))
                for name, value in named.items():
                    if name in columns.names:
                        kind = columns.field(name).type
                        value_ = int(value) if kind == pa.int32() else value
                        rows = rows.append_column(name, lit(value_).of(rows, 0).cast(kind))
                parts.append(retyped(rows, columns))
            return parts or [columns.empty_table()]

        return Frame(self.spark, columns, compute)

    def load(self, path: str | None = None) -> Frame:
        from tests.chaos import states, streams

        if self.kind == "rate-micro-batch":
            return streams.ticks(self.spark)
        assert path is not None
        return states.saved(self.spark, self.kind, bare(path), self.options)

    def _found(self, path: str) -> list[str]:
        """List the files that Spark would read, without hidden ones."""
        disk = self.spark.world.disk
        below = disk.below(bare(path))
        if not below and bare(path) not in disk.directories:
            raise NotFound("PATH_NOT_FOUND", qualified(path))
        start = len(bare(path))
        return [name for name in below if not re.search(r"/[._]", name[start:])]


def _rows(content: bytes) -> pa.Table:
    """Read a file: Parquet if Latecomer wrote it, otherwise the format of `Writer`."""
    if content.startswith(b"PAR1"):
        return pq.read_table(pa.BufferReader(content))
    return decode(content)


def _lines(content: bytes) -> Sequence[str]:
    return content.decode("utf-8", "replace").splitlines()


def qualified(path: str) -> str:
    """Return a path with its scheme."""
    return path if ":" in path else f"file:{path}"
