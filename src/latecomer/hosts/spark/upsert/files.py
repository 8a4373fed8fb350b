"""A table of current rows in Parquet files, replaced a part at a time.

    PATH/manifest/turn=0/            the manifests, in turn: the one with the larger turn counts
    PATH/manifest/turn=1/
    PATH/rows/place=7/_lc_part=1357/ the rows of one part, as one micro-batch left them

What parts, places and manifests are is told in `upsert_manifest`. A micro-batch goes in steps:

1. read the manifest, and the state before this batch;
2. see which parts its rows fall into;
3. join these rows with the present ones of these parts, and write them to a free place;
4. write a manifest that says so. It is one file, which appears whole or not at all.

**A crash at any step** leaves the table as it was, or, after the last step, as it is to be. Run
again, the batch starts from the same state and does the same.

All of it goes through Spark's readers and writers, so that any file system will do, on Spark
Connect too. Only whole directories are overwritten. Spark can overwrite single partitions as well
(`partitionOverwriteMode`), but with some committers for object stores it then keeps the old files
beside the new ones (SPARK-56588).
"""

from collections.abc import Iterable, Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from latecomer.errors import ColumnTypeError, OptionError
from latecomer.hosts.spark.upsert.manifest import Manifest, State
from latecomer.hosts.spark.upsert.rows import has_changes, one_per_key, part_of
from latecomer.operators.optimistic.changelog import CHANGE_TYPE, INSERT

_PART = "_lc_part"
_IS_NEW = "_lc_is_new"


def write(rows: DataFrame, number: int, path: str, key: Sequence[str]) -> None:
    """Bring the table up to date with the rows of one micro-batch."""
    spark = rows.sparkSession
    old = read_manifest(spark.read, path)
    manifest = old or Manifest(tuple(key), _schema(rows).jsonValue())
    _check_same(manifest, rows, key)
    before = manifest.before(number)

    # Without this, every step below would run the micro-batch again.
    new = rows.withColumn(_PART, part_of(rows.schema, key)).persist()
    try:
        touched = sorted(row[0] for row in new.select(_PART).distinct().collect())
        if old and not touched and number > old.states[-1].batch:
            return
        state = State(number, before.place_of, before.written)
        free = manifest.free()
        if touched:
            place = next(free)
            known = [part for part in touched if part in before.place_of]
            present = _parts(spark, path, manifest, before, known)
            joined = _joined(new, present, key)
            filled = _filled(joined) if has_changes(new) else touched
            write_rows(joined, path, place)
            state = state.moved(filled, place).without({*touched} - {*filled})
        if resting := state.resting():
            place = next(free)
            write_rows(_parts(spark, path, manifest, state, resting), path, place)
            state = state.moved(resting, place)
        write_manifest(spark, path, manifest.with_state(state))
    finally:
        new.unpersist()


def read(spark: SparkSession, path: str) -> DataFrame:
    """Read the current rows; see `latecomer.current`."""
    # The older manifest may be overwritten while we read; the newer one is enough.
    manifest = read_manifest(spark.read.option("ignoreMissingFiles", value=True), path)
    if manifest is None:
        raise OptionError(
            f"there is no table of current rows under {path!r}.\n"
            "Hint: it is there once upsert() has been called with a first micro-batch; "
            "read other Parquet files with spark.read.parquet()."
        )
    state = manifest.states[-1]
    return _parts(spark, path, manifest, state, state.place_of).drop(_PART)


def read_manifest(reader: DataFrameReader, path: str) -> Manifest | None:
    """Read the newest manifest; None if there is none."""
    try:
        found = [Manifest.from_json(row.value) for row in reader.text(f"{path}/manifest").collect()]
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        found = []
    return max(found, key=lambda manifest: manifest.turn, default=None)


def write_manifest(spark: SparkSession, path: str, manifest: Manifest) -> None:
    """Write a manifest over the one before the last."""
    line = spark.range(0, 1, 1, 1).select(F.lit(manifest.to_json()).alias("value"))
    line.write.mode("overwrite").text(f"{path}/manifest/turn={manifest.turn % 2}")


def write_rows(rows: DataFrame, path: str, place: int) -> None:
    """Write parts to a place; what was there goes."""
    # Files of a good size: small parts in one each, large ones in several.
    rows = rows.hint("rebalance", _PART)
    rows.write.mode("overwrite").partitionBy(_PART).parquet(f"{path}/rows/place={place}")


def _parts(
    spark: SparkSession, path: str, manifest: Manifest, state: State, parts: Iterable[str]
) -> DataFrame:
    """Read some parts of a state, with the part of each row."""
    schema = StructType.fromJson(dict(manifest.columns))
    directories = [f"{path}/rows/place={state.place_of[part]}/{_PART}={part}" for part in parts]
    if directories:
        rows = spark.read.schema(schema).parquet(*directories)
    else:
        rows = spark.createDataFrame([], schema)
    return rows.withColumn(_PART, part_of(schema, manifest.key))


def _joined(new: DataFrame, present: DataFrame, key: Sequence[str]) -> DataFrame:
    if has_changes(new):
        present = present.withColumn(CHANGE_TYPE, F.lit(INSERT))
    both = new.withColumn(_IS_NEW, F.lit(1)).unionByName(present.withColumn(_IS_NEW, F.lit(0)))
    rows = one_per_key(both, key, F.col(_IS_NEW).desc()).drop(_IS_NEW)
    if has_changes(new):
        rows = rows.where(F.col(CHANGE_TYPE) == INSERT).drop(CHANGE_TYPE)
    return rows


def _filled(joined: DataFrame) -> list[str]:
    """List the parts in which there are rows: all of one may have gone."""
    return sorted(row[0] for row in joined.select(_PART).distinct().collect())


def _schema(rows: DataFrame) -> StructType:
    """Return the columns of the table, without what else Spark notes about them."""
    fields = (field for field in rows.schema.fields if field.name != CHANGE_TYPE)
    return StructType([StructField(field.name, field.dataType) for field in fields])


def _check_same(manifest: Manifest, rows: DataFrame, key: Sequence[str]) -> None:
    """Refuse rows that are not of this table."""
    if manifest.key != tuple(key):
        raise OptionError(
            f"the table tells rows apart by {', '.join(manifest.key)}; got key={list(key)}.\n"
            "Hint: keep the key, or write to a new path with a new checkpoint."
        )
    columns = StructType.fromJson(dict(manifest.columns)).simpleString()
    if columns != _schema(rows).simpleString():
        raise ColumnTypeError(
            f"the table has the columns {columns}; the micro-batch has "
            f"{_schema(rows).simpleString()}.\n"
            "Hint: keep the columns, or write to a new path with a new checkpoint."
        )
