"""Rows of an output that are in this process, not with Spark's workers.

Small outputs come to the driver, and so do the answers of states that the driver keeps. A sink that
writes files can write such rows itself (`durable.parquet`); for any other sink they become a
DataFrame.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DateType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from latecomer.hosts.spark.arrow_schema import in_arrow
from latecomer.hosts.spark.columns import is_own

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

FEW = 4 << 20
"""Size of rows up to which a second task, and a second file, cost more than they save."""

_PLAIN = (
    BinaryType,
    BooleanType,
    DateType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)
"""The types of which Spark takes the same values from the driver as from its workers."""


@dataclass(frozen=True, slots=True)
class LocalRows:
    """Rows of this process, their columns in Spark, and the session that knows them."""

    spark: SparkSession
    table: pa.Table
    schema: StructType

    @classmethod
    def of(cls, spark: SparkSession, table: pa.Table, schema: StructType) -> LocalRows:
        """Return rows without the columns that Latecomer has added for itself."""
        own = [name for name in schema.names if is_own(name)]
        shown = StructType([field for field in schema if field.name not in own])
        return cls(spark, table.drop_columns(own), shown)

    @classmethod
    def none(cls, spark: SparkSession, schema: StructType) -> LocalRows:
        """Return an output without rows."""
        return cls.of(spark, in_arrow(schema).empty_table(), schema)

    @property
    def are_plain(self) -> bool:
        """Whether all columns are of types that this process writes as Spark does."""
        return are_plain(self.schema)

    def frame(self) -> DataFrame:
        """Return the rows as a DataFrame; few rows are in one partition, so in one file."""
        if not self.table.num_rows:
            return self.spark.createDataFrame([], self.schema)
        df = self.spark.createDataFrame(self.table, self.schema)
        return df.coalesce(1) if self.table.nbytes <= FEW else df


def framed(rows: DataFrame | LocalRows) -> DataFrame:
    """Return rows as a DataFrame, wherever they are."""
    return rows.frame() if isinstance(rows, LocalRows) else rows


def session_of(rows: DataFrame | LocalRows) -> SparkSession:
    """Return the session of rows, wherever they are."""
    return rows.spark if isinstance(rows, LocalRows) else rows.sparkSession


def are_plain(schema: StructType) -> bool:
    """Return True if Spark takes the same values of all columns from the driver."""
    return all(map(_is_plain, schema))


def _is_plain(field: StructField) -> bool:
    kind = field.dataType
    if isinstance(kind, StructType):
        # The fields of a null are null. Arrow refuses that if they must not be; workers do not.
        return all(_is_plain(each) and (each.nullable or not field.nullable) for each in kind)
    return isinstance(kind, _PLAIN)
