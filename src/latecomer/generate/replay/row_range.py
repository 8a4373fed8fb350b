"""Read a range of rows of a Parquet file, independent of its row groups."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from latecomer.errors import ColumnTypeError

_BATCH = 65_536


@dataclass(frozen=True, slots=True)
class RowRange:
    """A range of rows of one file, `[first, end)`."""

    path: str
    first: int
    end: int

    def __len__(self) -> int:
        return self.end - self.first

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the rows with the columns of a schema, cast where a type differs."""
        with open_parquet(self.path) as file:
            starts = group_starts(file.metadata)
            groups = [
                number
                for number in range(file.metadata.num_row_groups)
                if starts[number] < self.end and starts[number + 1] > self.first
            ]
            at = starts[groups[0]] if groups else 0
            # Threads would compete with Spark's other tasks for the same cores.
            batches = file.iter_batches(_BATCH, groups, schema.names, use_threads=False)
            for batch in batches:
                first, end = max(self.first - at, 0), min(self.end - at, batch.num_rows)
                at += batch.num_rows
                if first < end:
                    yield self._cast(batch.slice(first, end - first), schema)
                if at >= self.end:
                    return

    def _cast(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        columns = []
        for field, column in zip(schema, batch.select(schema.names).columns, strict=True):
            # Spark has no nanoseconds, so times may be truncated. All other values must fit.
            how = pc.CastOptions(target_type=field.type, allow_time_truncate=True)
            try:
                columns.append(column if column.type == field.type else column.cast(options=how))
            except pa.ArrowException as error:
                raise ColumnTypeError(
                    f'column "{field.name}" of "{self.path}", of type {column.type}, cannot be '
                    f"read as {field.type}: {error}\n"
                    "Hint: leave schema() out, or give the column a type that holds its values."
                ) from error
        return pa.RecordBatch.from_arrays(columns, schema=schema)


def open_parquet(path: str, footer: pq.FileMetaData | None = None) -> pq.ParquetFile:
    """Open a file; if its footer is passed, it is not read again."""
    # Spark may write times as int96, with a resolution of a microsecond.
    return pq.ParquetFile(path, metadata=footer, coerce_int96_timestamp_unit="us")


def group_starts(footer: pq.FileMetaData) -> list[int]:
    """Return the number of the first row of each row group, and the number of all rows."""
    starts = [0]
    for group in range(footer.num_row_groups):
        starts.append(starts[-1] + footer.row_group(group).num_rows)
    return starts
