"""Streams whose reports are looked at."""

import numpy as np
import pyarrow as pa

SECOND = 1_000_000


def disordered_table(rows: int = 3_000) -> pa.Table:
    """Rows of a few sources, one of them slow; a stream such as any."""
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
