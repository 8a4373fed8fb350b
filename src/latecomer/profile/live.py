"""Profile a stream while it runs: one row for each micro-batch.

The profile answers two questions, by two rules.

*How disordered is the stream?* A row is **out of order** if a newer one came before it, in an
earlier micro-batch or in its own. This does not depend on the trigger.

*How long should `sort` wait?* `sort` compares a row with the newest row of *earlier* micro-batches:
rows of one micro-batch never make each other late. So the **delay** of a row is here that newest
time − its own time, and 0 if it is not behind:

    micro-batch      1           2
    time          10 14 12    19 13
    newest before  –  –  –    14 14
    delay          0  0  0     0  1      row 12 and row 13 are out of order; a wait of 1 keeps both

So the larger micro-batches are, the shorter are the delays. The share in time for a wait is exactly
the share that `sort(wait=...)` would keep of the same micro-batches.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from latecomer.clock.watermark import tick
from latecomer.profile.measures import delays
from latecomer.time import (
    DAY,
    HOUR,
    MINUTE,
    NEVER,
    SECOND,
    Times,
    Unit,
    from_micros,
    in_millis,
    minus,
)

BOUNDS = (
    *(0, 1_000, 10_000, 100_000),
    *(n * SECOND for n in (1, 2, 5, 10, 30)),
    *(n * MINUTE for n in (1, 2, 5, 10, 30)),
    *(n * HOUR for n in (1, 2, 6, 12)),
    *(n * DAY for n in (1, 2, 7, 30, 365)),
)
"""Upper bounds of the histogram of delays, in microseconds; longer delays are counted together."""

_IN_TIME = pa.list_(pa.struct({"wait": pa.string(), "rows": pa.int64(), "share": pa.float64()}))
_DELAYS = pa.list_(pa.struct({"up_to": pa.int64(), "rows": pa.int64()}))


def profile_batch(
    times: Times,
    newest: int,
    waits: Mapping[int, str],
    kind: pa.DataType,
    unit: Unit | None = None,
) -> pa.Table:
    """Return the profile of one micro-batch.

    Args:
        times: Its times in microseconds, in order of arrival.
        newest: The newest time of all earlier micro-batches, or `NEVER`.
        waits: The waits for which rows in time are counted, with the text of each.
        kind: The type of the time column, and of the newest time in the result.
        unit: The unit of the time column, if it is an integer.

    Returns:
        One row. Its newest time is that of all rows so far, including this micro-batch.
    """
    clock = tick(newest)
    behind = np.where(times < clock, minus(clock, times), 0)
    known = [newest] if newest != NEVER else []
    since = np.concatenate([np.array(known, np.int64), times])
    last = from_micros(since.max()[None], kind, unit) if len(since) else pa.nulls(1, kind)
    in_time = [int(np.count_nonzero(behind <= wait)) for wait in waits]
    share = [rows / len(times) if len(times) else 1.0 for rows in in_time]
    return pa.table(
        {
            "newest": last,
            "out_of_order": pa.array([int(np.count_nonzero(delays(since)))], pa.int64()),
            "largest": pa.array([int(in_millis(behind.max(initial=0)))], pa.int64()),
            "in_time": _listed(_IN_TIME, [*waits.values()], in_time, share),
            "delays": _listed(_DELAYS, *_histogram(behind)),
        }
    )


def _histogram(behind: Times) -> tuple[list[int | None], list[int]]:
    """Return the bounds that have rows, and their counts; None stands for beyond all bounds."""
    counts = np.bincount(np.searchsorted(BOUNDS, behind), minlength=len(BOUNDS) + 1)
    bounds = [*in_millis(np.array(BOUNDS)).tolist(), None]
    filled = np.flatnonzero(counts).tolist()
    return [bounds[at] for at in filled], [int(counts[at]) for at in filled]


def _listed(kind: pa.ListType, *columns: Sequence[float | str | None]) -> pa.Array:
    """Return one row that holds a list of structs."""
    fields = list(kind.value_type)
    arrays = [pa.array(values, f.type) for values, f in zip(columns, fields, strict=True)]
    values = pa.StructArray.from_arrays(arrays, fields=fields)
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values).cast(kind)
