"""Keep one current row per window and key, from early and refined rows.

A windowed aggregation with several waits gives several answers, each better than the one before:

    wait       0 s    1 min    1 h
    count      40     57       58        one window, one key: the last one is right

Most readers want one row per window and key. `upsert` returns a function of a DataFrame and the
number of its micro-batch, as `OrderedStream.start` and Spark's `foreachBatch` take it. It replaces
earlier rows of a key with later ones:

    stream.start({"ready": lc.upsert("out/counts", key=["window", "origin"])}, checkpoint="...")
    lc.current(spark, "out/counts").show()

**What always holds.** Of two rows with the same key, the one with the longer wait is kept; with the
same wait, or without a wait, the later one. So a correction (`late="fold"`) replaces the answer. If
Spark runs the last micro-batch again after a crash, the table does not change.

With a changelog (`OptimisticStream.changelog`), an insert replaces the row of its key, and a delete
removes it. So the key must distinguish rows that are valid at the same time.

With a path, the table is Parquet files that need no other software (`upsert.files`). With the name
of a table in a catalog that supports MERGE, such as Delta or Iceberg, the catalog keeps it
(`upsert.merge`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from latecomer.errors import OptionError

if TYPE_CHECKING:
    from pathlib import PurePath

    from pyspark.sql import DataFrame, SparkSession

    from latecomer.hosts.spark.durable.parquet import ParquetWriter
    from latecomer.hosts.spark.local_rows import LocalRows


@dataclass(frozen=True, slots=True)
class Upsert:
    """A sink that keeps one row per key. Made by `upsert`; exactly one of path and table is set."""

    key: tuple[str, ...]
    path: str | None
    table: str | None
    run: list[Any] = field(default_factory=list, compare=False)
    """The run of this sink; empty before its first micro-batch."""

    def __call__(self, rows: DataFrame, number: int) -> None:
        """Bring the table up to date with the rows of one micro-batch."""
        self.write(rows, number)

    def write(
        self, rows: DataFrame | LocalRows, number: int, writer: ParquetWriter | None = None
    ) -> None:
        """Do the same; `writer` writes small parts of the table without Spark."""
        from latecomer.hosts.spark.local_rows import framed
        from latecomer.hosts.spark.upsert import files as upsert_files
        from latecomer.hosts.spark.upsert import merge as upsert_merge
        from latecomer.hosts.spark.upsert.rows import check_key

        check_key(rows.schema, self.key)
        if self.path is not None:
            if not self.run:
                self.run.append(upsert_files.Run())
            upsert_files.write(rows, number, self.path, self.key, self.run[0], writer)
        elif self.table is not None:
            upsert_merge.merge(framed(rows), self.table, self.key)


def upsert(
    path: str | PurePath | None = None, *, key: str | Sequence[str], table: str | None = None
) -> Upsert:
    """Make a sink that keeps one current row per key.

    Args:
        path: A directory for the table, on any file system that Spark can write to. It belongs to
            one checkpoint. Read it with `current`.
        key: The columns that identify a row: the window, and the columns of `group_by`.
        table: Instead of a path, an existing table of a catalog that supports MERGE, as tables of
            Delta and Iceberg do.

    Returns:
        A function of a DataFrame and the number of its micro-batch.

    Raises:
        OptionError: Not exactly one of path and table is given, the key is empty, or the path is
            one that Spark cannot read back.
    """
    if (path is None) == (table is None):
        given = "neither" if path is None else "both"
        raise OptionError(
            f"upsert() takes either a path or a table; got {given}.\n"
            'Hint: for example upsert("out/counts", key=["window", "origin"]).'
        )
    names = (key,) if isinstance(key, str) else tuple(key)
    if not names:
        raise OptionError(
            f"upsert() needs the columns that identify a row; got key={key!r}.\n"
            'Hint: the window and the columns it was grouped by, for example key=["window", '
            '"origin"].'
        )
    return Upsert(names, None if path is None else _directory(path), table)


def current(spark: SparkSession, path: str | PurePath) -> DataFrame:
    """Read the table that `upsert` keeps under a path: exactly one row per key.

    The DataFrame is the table as it is now. Its files stay while five more micro-batches are
    written; a query on it that takes longer than that fails, and has to be run again.

    Raises:
        OptionError: There is no such table.
    """
    from latecomer.hosts.spark.upsert import files as upsert_files

    return upsert_files.read(spark, _directory(path))


def _directory(path: str | PurePath) -> str:
    directory = str(path).rstrip("/")
    # Spark reads these as patterns, but writes them literally: no table would be found again.
    if not directory or set(directory) & set("*?[]{}\\"):
        raise OptionError(
            f"a table of current rows cannot be kept under {str(path)!r}.\n"
            "Hint: name a directory, without any of * ? [ ] { } and backslash in it."
        )
    return directory
