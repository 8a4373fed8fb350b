"""Small outputs as Parquet files that this process writes, as Spark would write them.

To write a few rows, Spark plans and runs a job, which takes far longer than the rows themselves.
Where this process can use the file system itself, it writes small outputs of plain types without
Spark.

**Readers see no difference.** Spark keeps its schema in the footer of a file, with nullability
and metadata, and finds it here too. Timestamps are of the type and files of the compression that
the session is set to. A session with settings that this module does not know writes by Spark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import StructField, StructType, TimestampNTZType

from latecomer.batch import with_nulls
from latecomer.hosts.spark.durable.ledger import sync_names, write_whole
from latecomer.hosts.spark.local_rows import FEW, LocalRows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType

_CODECS = {
    "snappy": "snappy",
    "gzip": "gzip",
    "zstd": "zstd",
    "none": "none",
    "uncompressed": "none",
}
_TIMESTAMPS = {"INT96": True, "TIMESTAMP_MICROS": False}
_ENCRYPTED = "parquet.crypto.factory.class"


@dataclass(frozen=True, slots=True)
class ParquetWriter:
    """Writes Parquet files with the settings of a session."""

    version: str
    """Spark's, by which readers know how times before 1900 are written."""
    codec: str
    is_int96: bool
    """Whether timestamps are written as the type that Spark has always used."""

    @classmethod
    def of(cls, spark: SparkSession) -> ParquetWriter | None:
        """Return a writer for this session; None if it is set to what only Spark can write."""
        codec = str(spark.conf.get("spark.sql.parquet.compression.codec", "snappy")).lower()
        kind = str(spark.conf.get("spark.sql.parquet.outputTimestampType", "INT96")).upper()
        encrypted = (
            spark.conf.get(name, None) for name in (_ENCRYPTED, f"spark.hadoop.{_ENCRYPTED}")
        )
        if codec not in _CODECS or kind not in _TIMESTAMPS or any(encrypted):
            return None
        return cls(spark.version, _CODECS[codec], _TIMESTAMPS[kind])

    def write(self, rows: LocalRows, directory: Path) -> bool:
        """Write rows to a directory; return False if only Spark can, and nothing was written."""
        if not rows.are_plain or rows.table.nbytes > FEW or any(directory.glob("*")):
            return False
        # Arrow knows one type for all timestamps of a file.
        if self.is_int96 and _has_local_times(rows.schema):
            return False
        self.put(rows, directory / "part-00000.parquet")
        # The directories of the micro-batch and of the run may be new as well.
        sync_names(directory.parent)
        sync_names(directory.parent.parent)
        return True

    def put(self, rows: LocalRows, file: Path) -> None:
        """Write rows to a file. They are plain."""
        write_whole(file, self._encoded(rows))

    def _encoded(self, rows: LocalRows) -> bytes:
        table, sink = with_nulls(rows.table), pa.BufferOutputStream()
        with pq.ParquetWriter(
            sink,
            table.schema,
            compression=self.codec,
            use_deprecated_int96_timestamps=self.is_int96,
            store_decimal_as_integer=True,
            store_schema=False,
        ) as file:
            file.write_table(table)
            file.add_key_value_metadata(
                {
                    "org.apache.spark.version": self.version,
                    "org.apache.spark.sql.parquet.row.metadata": _as_nullable(rows.schema).json(),
                }
            )
        return sink.getvalue().to_pybytes()


def _as_nullable(kind: StructType) -> StructType:
    """Return the schema as Spark writes it: all columns may be null."""
    return StructType(
        [
            StructField(
                field.name,
                _as_nullable(field.dataType)
                if isinstance(field.dataType, StructType)
                else field.dataType,
                nullable=True,
                metadata=field.metadata,
            )
            for field in kind
        ]
    )


def _has_local_times(kind: DataType) -> bool:
    """Return True if there is a timestamp without a time zone, at any depth."""
    if isinstance(kind, StructType):
        return any(_has_local_times(field.dataType) for field in kind)
    return isinstance(kind, TimestampNTZType)
