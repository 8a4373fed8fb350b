"""Make the synthetic stream of the Impatience paper, with a given share of rows moved back in time.

Rows are recorded one per unit of time, in order. Then some of them are moved to an earlier time,
but keep their place:

    arrival   0   1   2   3   4   5   6
    time      0   1   2   0   4   5   3      the rows at 3 and 6 were moved back by 3

Use this stream where disorder should be a parameter: the share of rows that are moved, and how
far. Unlike in the logs of `latecomer.generate.logs`, rows are moved one by one, never a whole
source at once.

Paper: Chandramouli, Goldstein, Li: Impatience Is a Virtue (ICDE 2018), Section VI-A.
Symbols: p is `percent`, d is `amount`.
Departures: the paper names no unit for d; ours is the distance between two rows. It does not say
    how the p % are picked; ours are drawn without repetition, so their number is exact. Distances
    are rounded to whole units, so a row drawn to move by less than half a unit stays in place.
"""

import numpy as np
import pyarrow as pa

from latecomer.errors import OptionError

_ALL = 100
_MOST = 10**15


def synthetic(rows: int, *, percent: float, amount: float, seed: int) -> pa.Table:
    """Make a stream in which a share of the rows is moved back in time.

    Args:
        rows: Number of rows.
        percent: Percentage of rows that are moved, 0 to 100; rounded to whole rows.
        amount: Standard deviation, in units of time, of a normal distribution with mean 0. The
            distances are its absolute values. There is one row per unit of time.
        seed: Equal seeds give equal streams.

    Returns:
        `time` and `arrival`, in order of arrival, which is 0, 1, 2 and so on.

    Raises:
        OptionError: `percent` is not from 0 to 100, or `rows` or `amount` is negative or too large.
    """
    if not 0 <= percent <= _ALL:
        message = f"percent must be from 0 to 100; got {percent}.\nHint: 30 moves 30 % of the rows."
        raise OptionError(message)
    for name, value in (("rows", rows), ("amount", amount)):
        if not 0 <= value <= _MOST:
            message = f"{name} must be from 0 to {_MOST:,}; got {value}.\nHint: 64 for example."
            raise OptionError(message)
    random = np.random.default_rng(seed)
    arrivals = np.arange(rows, dtype=np.int64)
    moved = random.choice(rows, round(rows * percent / _ALL), replace=False, shuffle=False)
    times = arrivals.copy()
    times[moved] -= np.rint(np.abs(random.normal(0, amount, len(moved)))).astype(np.int64)
    return pa.table({"time": times, "arrival": arrivals})
