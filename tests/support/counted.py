"""Count the rows of both hosts, to compare them in any order."""

from collections import Counter
from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import Row


def counted(rows: Sequence[Row]) -> Counter[str]:
    return Counter(str(tuple(row)) for row in rows)


def of_step(table: pa.Table) -> Counter[str]:
    # PySpark returns instants without their zone.
    naive = [
        column.cast(pa.timestamp("us")) if pa.types.is_timestamp(column.type) else column
        for column in table.columns
    ]
    rows = pa.table(naive, table.column_names).to_pylist()
    return Counter(str(tuple(row.values())) for row in rows)
