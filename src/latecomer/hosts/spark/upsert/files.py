"""A table of current rows in Parquet files, replaced a part at a time.

    PATH/manifest/0-r3-5f0c                     the manifests of one run, in turn
    PATH/manifest/1-r3-5f0c
    PATH/rows/place=7-r3-5f0c/_lc_part=1357/    the rows of one part, as one micro-batch left them

`upsert.manifest` explains parts, places and manifests. A micro-batch is written in four steps:

1. read the manifest, and take the state before this batch;
2. find the parts that its rows belong to;
3. join its rows with the present rows of these parts, and write them to a free place;
4. write a manifest with the new state. It is one file, which appears whole or not at all.

**A crash before the last step** leaves the table as it was; after it, the new state is complete. If
the batch is run again, it starts from the same state and does the same.

Rows go through Spark's readers and writers, so any file system works, on Spark Connect too. Few
rows that are on the driver already are merged there (`upsert.local`).
Manifests are records (`durable.ledger`). Only whole directories are overwritten. Spark can also
overwrite single partitions (`partitionOverwriteMode`), but with some committers for object stores
it then keeps the old files beside the new ones (SPARK-56588).
"""

import shutil
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from latecomer.errors import ColumnTypeError, OptionError, OwnerError
from latecomer.hosts.spark.durable.ledger import Ledger, Places, local_path
from latecomer.hosts.spark.durable.parquet import ParquetWriter
from latecomer.hosts.spark.kept import kept
from latecomer.hosts.spark.local_rows import LocalRows, framed, session_of
from latecomer.hosts.spark.upsert.local import LocalMerge
from latecomer.hosts.spark.upsert.manifest import KEPT, Manifest, State
from latecomer.hosts.spark.upsert.rows import PART, has_changes, one_per_key, part_of
from latecomer.operators.optimistic.changelog import CHANGE_NUMBER, CHANGE_TYPE, INSERT

_IS_NEW = "_lc_is_new"


@dataclass(slots=True)
class Run:
    """One run of a query that writes to a table; it takes an epoch with its first micro-batch."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    epoch: int = 0
    manifests: int = 0
    """Number of manifests that it has written."""
    places: Places = field(default_factory=dict)
    """The directories of the table that it has found."""

    @property
    def name(self) -> str:
        """Name of this run in all that it writes."""
        return f"r{self.epoch}-{self.id}"

    def begin(self, newest: Manifest | None) -> None:
        """Take an epoch at first, then check that no later run has taken one.

        Raises:
            OwnerError: A later run has written to the table.
        """
        last = 0 if newest is None else newest.epoch
        self.epoch = self.epoch or last + 1
        if last > self.epoch:
            raise OwnerError(
                "another query has written to this table of current rows since this one began.\n"
                "Hint: a table belongs to one query on one driver; this one can be ended."
            )


@dataclass(frozen=True, slots=True)
class SparkMerge:
    """The rows of a micro-batch, and the present rows of the parts that they belong to."""

    new: DataFrame
    present: DataFrame
    touched: list[str]
    """The parts that the rows belong to."""
    path: str
    key: Sequence[str]

    def write(self, place: str) -> list[str]:
        """Write the merged parts to a place; return those that still have rows."""
        joined = _joined(self.new, self.present, self.key)
        filled = _filled(joined) if has_changes(self.new.schema) else self.touched
        write_rows(joined, self.path, place)
        return filled


def write(
    rows: DataFrame | LocalRows,
    number: int,
    path: str,
    key: Sequence[str],
    run: Run,
    writer: ParquetWriter | None = None,
) -> None:
    """Bring the table up to date with the rows of one micro-batch."""
    spark = session_of(rows)
    old = read_manifest(spark, path, run.places)
    run.begin(old)
    manifest = old or Manifest(tuple(key), _columns(rows.schema).jsonValue())
    _check_same(manifest, rows.schema, key)
    before = manifest.before(number)

    with _merge(rows, path, manifest, before, run, writer) as new:
        touched = new.touched
        if old and not touched and number > old.states[-1].batch:
            return
        state = State(number, before.place_of, before.written)
        free = manifest.free(run.name)
        if touched:
            place = next(free)
            filled = new.write(place)
            state = state.moved(filled, place).without({*touched} - {*filled})
        if resting := state.resting():
            place = next(free)
            write_rows(_parts(spark, path, manifest, state, resting), path, place)
            state = state.moved(resting, place)
        now = replace(manifest.with_state(state), epoch=run.epoch)
        write_manifest(spark, path, now, run)
        _clean(spark, path, now, run)


@contextmanager
def _merge(
    rows: DataFrame | LocalRows,
    path: str,
    manifest: Manifest,
    before: State,
    run: Run,
    writer: ParquetWriter | None,
) -> Iterator[LocalMerge | SparkMerge]:
    """Prepare to merge rows with the table, here if they are here and few, else by Spark."""
    spark = session_of(rows)
    if isinstance(rows, LocalRows):
        root = Ledger(spark, f"{path}/rows", run.places).local
        columns = StructType.fromJson(dict(manifest.columns))
        here = LocalMerge.of(rows, manifest.key, columns, before.place_of, root, writer)
        if here is not None:
            yield here
            return
    df = framed(rows)
    # Without this, every step below would run the micro-batch again.
    placed = df.withColumn(PART, part_of(df.schema, manifest.key))
    with kept(placed, f"{path}/micro-batch-{run.epoch % 2}") as new:
        touched = sorted(row[0] for row in new.select(PART).distinct().collect())
        known = [part for part in touched if part in before.place_of]
        present = _parts(spark, path, manifest, before, known)
        yield SparkMerge(new, present, touched, path, manifest.key)


def _clean(spark: SparkSession, path: str, manifest: Manifest, run: Run) -> None:
    """Delete places of earlier runs that no state refers to, if this process can delete files.

    A driver that was replaced may call this too; it must not delete what a later run has written.
    """
    if run.manifests < KEPT:
        # A query may still read the rows that an earlier run wrote of a repeated micro-batch.
        return
    local = local_path(spark, f"{path}/rows")
    for place in [] if local is None else local.glob("place=*-r*-*"):
        name = place.name.removeprefix("place=")
        if name not in manifest.used and int(name.split("-")[1][1:]) < run.epoch:
            shutil.rmtree(place, ignore_errors=True)


def read(spark: SparkSession, path: str) -> DataFrame:
    """Read the current rows; see `latecomer.current`."""
    manifest = read_manifest(spark, path)
    if manifest is None:
        raise OptionError(
            f"there is no table of current rows under {path!r}.\n"
            "Hint: upsert() creates it with its first micro-batch; read other Parquet files with "
            "spark.read.parquet()."
        )
    state = manifest.states[-1]
    return _parts(spark, path, manifest, state, state.place_of).drop(PART)


def read_manifest(spark: SparkSession, path: str, places: Places | None = None) -> Manifest | None:
    """Return the current manifest; None if there is none."""
    found = [Manifest.from_record(record) for record in _manifests(spark, path, places).read()]
    return max(found, key=lambda manifest: (manifest.epoch, manifest.turn), default=None)


def write_manifest(spark: SparkSession, path: str, manifest: Manifest, run: Run) -> None:
    """Write a manifest; it replaces the one before the last of this run."""
    _manifests(spark, path, run.places).add(f"{manifest.turn % 2}-{run.name}", manifest.to_record())
    run.manifests += 1


def _manifests(spark: SparkSession, path: str, places: Places | None) -> Ledger:
    return Ledger(spark, f"{path}/manifest", places)


def write_rows(rows: DataFrame, path: str, place: str) -> None:
    """Write parts to a place, and replace what was there."""
    # Files of a good size: small parts in one each, large ones in several.
    rows = rows.hint("rebalance", PART)
    rows.write.mode("overwrite").partitionBy(PART).parquet(f"{path}/rows/place={place}")


def _parts(
    spark: SparkSession, path: str, manifest: Manifest, state: State, parts: Iterable[str]
) -> DataFrame:
    """Read some parts of a state, with the part of each row."""
    schema = StructType.fromJson(dict(manifest.columns))
    directories = [f"{path}/rows/place={state.place_of[part]}/{PART}={part}" for part in parts]
    if directories:
        rows = spark.read.schema(schema).parquet(*directories)
    else:
        rows = spark.createDataFrame([], schema)
    return rows.withColumn(PART, part_of(schema, manifest.key))


def _joined(new: DataFrame, present: DataFrame, key: Sequence[str]) -> DataFrame:
    if has_changes(new.schema):
        changes = {CHANGE_TYPE: F.lit(INSERT), CHANGE_NUMBER: F.lit(-1).cast("long")}
        present = present.withColumns({n: v for n, v in changes.items() if n in new.columns})
    both = new.withColumn(_IS_NEW, F.lit(1)).unionByName(present.withColumn(_IS_NEW, F.lit(0)))
    rows = one_per_key(both, key, F.col(_IS_NEW).desc()).drop(_IS_NEW)
    if has_changes(new.schema):
        rows = rows.where(F.col(CHANGE_TYPE) == INSERT).drop(CHANGE_TYPE, CHANGE_NUMBER)
    return rows


def _filled(joined: DataFrame) -> list[str]:
    """Return the parts that still have rows; a changelog may delete all rows of a part."""
    return sorted(row[0] for row in joined.select(PART).distinct().collect())


def _columns(schema: StructType) -> StructType:
    """Return the columns of the table, without Spark's metadata."""
    changes = (CHANGE_TYPE, CHANGE_NUMBER) if has_changes(schema) else ()
    fields = (field for field in schema.fields if field.name not in changes)
    return StructType([StructField(field.name, field.dataType) for field in fields])


def _check_same(manifest: Manifest, schema: StructType, key: Sequence[str]) -> None:
    """Refuse rows with another key or other columns than the table."""
    if manifest.key != tuple(key):
        raise OptionError(
            f"the key of the table is {', '.join(manifest.key)}; got key={list(key)}.\n"
            "Hint: keep the key, or write to a new path with a new checkpoint."
        )
    columns = StructType.fromJson(dict(manifest.columns)).simpleString()
    if columns != _columns(schema).simpleString():
        raise ColumnTypeError(
            f"the table has the columns {columns}; the micro-batch has "
            f"{_columns(schema).simpleString()}.\n"
            "Hint: keep the columns, or write to a new path with a new checkpoint."
        )
