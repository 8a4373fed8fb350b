"""Rows with an id, a second and a key."""

import pyarrow as pa

from latecomer.time import TimeColumn
from tests.support.batches import SECOND

TIME = TimeColumn("time")
SCHEMA = pa.schema({"id": pa.int64(), "time": pa.timestamp("us", "UTC"), "key": pa.string()})


def batch(*rows: tuple[int, int | None, str | None]) -> pa.Table:
    """Return rows of id, second and key."""
    return pa.table(
        [
            [number for number, _, _ in rows],
            pa.array([t if t is None else t * SECOND for _, t, _ in rows]).cast(
                SCHEMA.field("time").type
            ),
            [key for _, _, key in rows],
        ],
        SCHEMA,
    )
