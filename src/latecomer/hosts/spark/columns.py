"""Columns and schemas of a DataFrame, as the Spark host needs them."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, LongType, StructType

from latecomer.errors import ColumnTypeError, OptionError
from latecomer.hosts.spark.arrow_schema import in_arrow
from latecomer.hosts.spark.declared import DeclaredFrame, quoted
from latecomer.hosts.spark.local_frame import LocalFrame, spark_only
from latecomer.hosts.spark.parcels import NOW, ArrowFunction, renamed
from latecomer.plan import Source

Frame = DataFrame | LocalFrame | DeclaredFrame
"""Rows that a stream begins with."""


def expression(value: str | Column) -> Column:
    """Return a string of Spark SQL as a Column; a Column is returned as it is."""
    if not isinstance(value, str):
        return value
    try:
        return F.col("*") if value.strip() == "*" else F.expr(value)
    except (AssertionError, PySparkRuntimeError) as error:
        raise OptionError(
            f"{value!r} is Spark SQL, and there is no Spark session.\n"
            "Hint: start one with latecomer.session(); without Spark, name a column, or give an "
            'Arrow expression, for example pc.field("price") * 2.'
        ) from error


def reference(name: str) -> Column:
    """Return a reference to a column, whatever characters its name has."""
    return F.col(quoted(name))


def map_in_arrow(df: DataFrame, function: ArrowFunction, schema: str | StructType) -> DataFrame:
    """Call `mapInArrow`, also where names of columns have dots or backticks.

    PySpark looks up the columns by their unquoted names. So they travel under other names, and get
    their own back in the worker.
    """
    names = df.columns
    if any("." in name or "`" in name for name in names):
        df = df.toDF(*(f"_lc_{at}" for at in range(len(names))))
        function = partial(renamed, names, function)
    return df.mapInArrow(function, schema)


def with_wall_clock(df: Frame, source: Source) -> DataFrame:
    """Add the wall clock, where the source bounds how far ahead of it a row may be.

    In a micro-batch `current_timestamp` is the time of the batch, which Spark keeps in the offset
    log of the checkpoint: a batch that is run again sees the same clock.

    Spark writes the number into the code that it generates, and compiles that again in every
    micro-batch. A struct or an array does not prevent it, and what does costs more for each row.
    """
    if source.ahead is None:
        return cast("DataFrame", df)
    now = {NOW: F.unix_micros(F.current_timestamp())}
    return cast(
        "DataFrame",
        df.typed(now, LongType()) if isinstance(df, DeclaredFrame) else df.withColumns(now),
    )


def as_data(number: str, column: str) -> str:
    """Return SQL for a number that changes with each micro-batch; any column of the rows is needed.

    Spark writes numbers into the code that it generates. New code is compiled, and runs slowly
    until Java has optimised it, which takes longer than many a micro-batch. The elements of an
    array are passed to the code as data, if Spark cannot know which of them is read. (In a stream,
    Spark writes `current_timestamp` after it has made such arrays, so this does not help there.)
    """
    return f"array({number})[hash({quoted(column)}) & 0]"


def with_flags(df: Frame, columns: Mapping[str, Column]) -> DataFrame:
    """Add columns that are true or false."""
    if isinstance(df, DeclaredFrame):
        return cast("DataFrame", df.typed(columns, BooleanType()))
    return cast("DataFrame", df.withColumns(dict(columns)) if columns else df)


def with_elements(df: DataFrame, name: str, value: str | Column) -> DataFrame:
    """Make a row of each element of a list; an empty list gives one row with a null."""
    spark_only(df, "select_many")
    kind = df.select(expression(value)).schema[0].dataType
    if not isinstance(kind, ArrayType):
        raise ColumnTypeError(
            f'select_many needs a list; "{name}" is of type {kind.simpleString()}.\n'
            f'Hint: give an array, for example select_many({name}="map_entries(...)") or '
            f"select_many({name}=\"split(text, ',')\")."
        )
    return df.withColumn(name, F.explode_outer(expression(value)))


def selected(df: Frame, columns: Sequence[str | Column]) -> DataFrame:
    """Keep columns, or expressions in Spark SQL."""
    if isinstance(df, LocalFrame | DeclaredFrame):
        return cast("DataFrame", df.select(*columns))
    return df.select(*map(expression, columns))


def kept(df: DataFrame, names: Iterable[str]) -> DataFrame:
    """Keep only some columns, whatever characters their names have."""
    return df.select(*map(quoted, names))


def with_copy(df: Frame, name: str, of: str) -> DataFrame:
    """Add a column that is a copy of another."""
    return with_first(df, name, [of])


def with_first(df: Frame, name: str, of: Sequence[str]) -> DataFrame:
    """Add a column with the first value of some columns that is not null."""
    if isinstance(df, LocalFrame):
        return cast("DataFrame", df.withColumns({name: pc.coalesce(*map(pc.field, of))}))
    column = {name: F.coalesce(*map(reference, of))}
    if isinstance(df, DeclaredFrame):
        return cast("DataFrame", df.typed(column, df.schema[of[0]].dataType))
    return df.withColumns(column)


def arrow_schema(df: Frame) -> pa.Schema:
    """Return the Arrow schema of the rows."""
    return df.arrow if isinstance(df, LocalFrame) else in_arrow(df.schema)


def partitions(df: Frame) -> int:
    """Return the number of shuffle partitions of the session of a DataFrame."""
    if isinstance(df, LocalFrame):
        return 1
    return int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)


def without_own(rows: DataFrame, names: Iterable[str]) -> DataFrame:
    """Return the rows without those of the named columns that Latecomer has added for itself."""
    return rows.drop(*filter(is_own, names))


def is_own(name: str) -> bool:
    """Return True for the name of a column that Latecomer has added for itself."""
    return name.startswith("_lc_")
