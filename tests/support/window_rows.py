"""Random rows of time, key and value, drawn by Hypothesis."""

from collections.abc import Sequence

import pyarrow as pa
from hypothesis import strategies as st

from latecomer.time import TimeColumn

TIME = TimeColumn("time", "ms")
MS = 1_000
SCHEMA = pa.schema({"time": pa.int64(), "key": pa.string(), "value": pa.int64()})
Row = tuple[int, str, int]
rows_of_a_stream = st.lists(
    st.tuples(st.integers(-20, 60), st.sampled_from("ab"), st.integers(-5, 5)), max_size=30
)


def table(rows: Sequence[Row]) -> pa.Table:
    return pa.table([list(column) for column in zip(*rows, strict=True)] or [[], [], []], SCHEMA)
