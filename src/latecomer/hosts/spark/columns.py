"""Columns and schemas of a DataFrame, as the Spark host needs them."""

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StructType

from latecomer.errors import ColumnTypeError
from latecomer.hosts.spark.arrow_schema import in_arrow
from latecomer.hosts.spark.parcels import NOW, ArrowFunction, renaming
from latecomer.plan import Source


def expression(value: str | Column) -> Column:
    """Read a string as Spark SQL; a Column is one already."""
    if isinstance(value, str):
        return F.col("*") if value.strip() == "*" else F.expr(value)
    return value


def quoted(name: str) -> str:
    """Write the name of a column in Spark SQL, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def reference(name: str) -> Column:
    """Refer to a column, whatever characters its name has."""
    return F.col(quoted(name))


def map_in_arrow(df: DataFrame, function: ArrowFunction, schema: str | StructType) -> DataFrame:
    """Call `mapInArrow`, also where names of columns have dots or backticks.

    PySpark looks columns up by their bare names there. So they travel under other names, and get
    their own back in the worker.
    """
    names = df.columns
    if any("." in name or "`" in name for name in names):
        df = df.toDF(*(f"_lc_{at}" for at in range(len(names))))
        function = renaming(names, function)
    return df.mapInArrow(function, schema)


def with_wall_clock(df: DataFrame, source: Source) -> DataFrame:
    """Add the wall clock, where the source bounds how far ahead of it a row may be.

    In a micro-batch `current_timestamp` is the time of the batch, which Spark keeps in the offset
    log of the checkpoint: a batch that is run again sees the same clock.
    """
    if source.ahead is None:
        return df
    return df.withColumn(NOW, F.unix_micros(F.current_timestamp()))


def with_elements(df: DataFrame, name: str, value: str | Column) -> DataFrame:
    """Make a row of each element of a list; one without elements stays a row with a null."""
    kind = df.select(expression(value)).schema[0].dataType
    if not isinstance(kind, ArrayType):
        raise ColumnTypeError(
            f'select_many makes rows of lists; "{name}" is of type {kind.simpleString()}.\n'
            f'Hint: give an array, for example select_many({name}="map_entries(...)") or '
            f"select_many({name}=\"split(text, ',')\")."
        )
    return df.withColumn(name, F.explode_outer(expression(value)))


def arrow_schema(df: DataFrame) -> pa.Schema:
    """Say what rows look like in Arrow."""
    return in_arrow(df.schema)


def partitions(df: DataFrame) -> int:
    """Return over how many partitions the session of a DataFrame spreads rows."""
    return int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)


def without_own(rows: DataFrame) -> DataFrame:
    """Leave out columns that Latecomer has added for itself."""
    return rows.drop(*(name for name in rows.columns if name.startswith("_lc_")))
