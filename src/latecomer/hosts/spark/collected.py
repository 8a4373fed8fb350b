"""Small outputs of a micro-batch, which come to the driver together with its counts.

The driver collects the counts of every micro-batch and the names of its outputs. Outputs that are
small come along, are unpacked on the driver, and are written from there. Spark then needs no second
job with Python workers for each output, which costs more than a small output itself. Large outputs
stay with the workers.

A bucket has few parts, so all of them together have about `BYTES`. Late rows are the exception:
they may have a part for every 262,144 rows that are read. `PART` bounds these to a byte per row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
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

from latecomer.batch import concat, decode, retyped
from latecomer.hosts.spark import outputs as reading
from latecomer.hosts.spark.arrow_schema import in_arrow
from latecomer.hosts.spark.columns import partitions, without_own
from latecomer.hosts.spark.durable import totals
from latecomer.hosts.tally import TALLY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

BYTES = 4 << 20
"""Size of the outputs of a micro-batch that are unpacked on the driver."""
PART = 256 << 10
"""Largest size of a part of an output that is unpacked on the driver."""

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
class Collected:
    """The counts of a micro-batch, and its small outputs."""

    counts: totals.Counted
    blobs: dict[str, list[bytes] | None]
    """The parts of each output that the micro-batch has; None if they stay with the workers."""

    @classmethod
    def of(cls, packed: DataFrame) -> Collected:
        """Run a micro-batch, and collect its counts and small outputs."""
        rows = small_parts(packed)
        counts = totals.of_parts(
            (row.output, row.rows, row.blob if row.output == TALLY else None) for row in rows
        )
        return cls(counts, _by_output(rows))

    def rows(self, spark: SparkSession, output: str, schema: StructType) -> DataFrame | None:
        """Return the rows of an output; None if they must be read from the workers.

        An output that the micro-batch does not have is one without rows.
        """
        blobs = self.blobs.get(output, [])
        if blobs is None or not all(map(_is_plain, schema)):
            return None
        columns = in_arrow(schema)
        table = concat([retyped(decode(blob), columns) for blob in blobs], columns)
        return without_own(reading.local(spark, table, schema), schema.names)


def small_parts(packed: DataFrame) -> list[Row]:
    """Collect all parts of a micro-batch; those that are large come without their bytes."""
    most = min(PART, BYTES // max(1, partitions(packed)))
    blob = F.col("blob")
    is_small = (F.col("output") == TALLY) | (F.length(blob) <= most)
    return packed.select("output", "rows", F.when(is_small, blob).alias("blob")).collect()


def _by_output(rows: list[Row]) -> dict[str, list[bytes] | None]:
    found: dict[str, list[bytes] | None] = {}
    for row in rows:
        parts = found.setdefault(row.output, [])
        if row.blob is None or parts is None:
            found[row.output] = None
        else:
            parts.append(bytes(row.blob))
    return found


def _is_plain(field: StructField) -> bool:
    kind = field.dataType
    if isinstance(kind, StructType):
        # The fields of a null are null. Arrow refuses that if they must not be; workers do not.
        return all(_is_plain(each) and (each.nullable or not field.nullable) for each in kind)
    return isinstance(kind, _PLAIN)
