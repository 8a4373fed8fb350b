"""Streams for tests of reports."""

import numpy as np
import pyarrow as pa

SECOND = 1_000_000


def disordered_table(rows: int = 3_000) -> pa.Table:
    """Return an ordinary stream: rows of 20 sources, one of them slow."""
    draw = np.random.default_rng(11)
    times = np.arange(rows) * SECOND
    source = draw.integers(0, 20, rows)
    delay = draw.exponential(3 * SECOND, rows) * np.where(source == 7, 300, 1)
    order = np.argsort(times + delay, kind="stable")
    start = 1_700_000_000 * SECOND
    return pa.table(
        {
            "at": pa.array((times + start)[order], pa.timestamp("us", "UTC")),
            "source": [f"<device {n}> & co" for n in source[order]],
        }
    )
