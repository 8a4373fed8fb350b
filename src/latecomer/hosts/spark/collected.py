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

from latecomer.batch import concat, decode, retyped
from latecomer.hosts.spark.arrow_schema import in_arrow
from latecomer.hosts.spark.columns import partitions
from latecomer.hosts.spark.durable import totals
from latecomer.hosts.spark.local_rows import LocalRows, are_plain
from latecomer.hosts.tally import TALLY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.types import StructType

BYTES = 4 << 20
"""Size of the outputs of a micro-batch that are unpacked on the driver."""
PART = 256 << 10
"""Largest size of a part of an output that is unpacked on the driver."""


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

    def rows(self, spark: SparkSession, output: str, schema: StructType) -> LocalRows | None:
        """Return the rows of an output; None if they must be read from the workers.

        An output that the micro-batch does not have is one without rows.
        """
        blobs = self.blobs.get(output, [])
        if blobs is None or not are_plain(schema):
            return None
        columns = in_arrow(schema)
        table = concat([retyped(decode(blob), columns) for blob in blobs], columns)
        return LocalRows.of(spark, table, schema)


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
