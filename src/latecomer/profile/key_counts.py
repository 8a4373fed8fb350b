"""Count rows, rows out of order and the largest delay of each key, to find the worst keys.

A delay is measured against the newest row of *all* keys, because that is what makes a row late. The
worst key is the one with the largest delay, because its rows need the longest wait.

Memory grows with the number of keys, not with the number of rows.
"""

import numpy as np
import pyarrow as pa

from latecomer.errors import ColumnNameError
from latecomer.profile.delay_counts import Delays
from latecomer.time import FOREVER

COUNTED = ("rows", "out_of_order", "largest")
"""Columns in addition to the key: two counts, and a delay in microseconds."""

_PENDING = 1 << 20


class KeyCounter:
    """Counts rows by key as they come."""

    def __init__(self, key: tuple[str, ...]) -> None:
        self._key = list(key)
        self._counted: list[pa.Table] = []
        self._pending = 0

    def add(self, keys: pa.Table, delays: Delays) -> None:
        """Count more rows, given their keys and their delays."""
        rows = {
            "rows": pa.array(np.ones(len(delays), np.int64)),
            "out_of_order": pa.array((delays > 0).astype(np.int64)),
            # A delay of more than 292,000 years counts as 292,000 years.
            "largest": pa.array(np.minimum(delays, np.uint64(FOREVER)).astype(np.int64)),
        }
        for name, column in rows.items():
            keys = keys.append_column(name, column)
        self._counted.append(self._added([keys]))
        self._pending += self._counted[-1].num_rows
        if self._pending >= _PENDING:
            self._counted = [self._added(self._counted)]
            # Counts that are already combined are combined again only after as many have come.
            self._pending = -self._counted[0].num_rows

    def result(self) -> pa.Table | None:
        """Return the counts so far, the worst key first; None if there were no rows."""
        return worst_first(self._added(self._counted)) if self._counted else None

    def _added(self, parts: list[pa.Table]) -> pa.Table:
        # The integer type of a key may differ from file to file.
        together = pa.concat_tables(parts, promote_options="permissive")
        counts = [("rows", "sum"), ("out_of_order", "sum"), ("largest", "max")]
        added = together.group_by(self._key, use_threads=False).aggregate(counts)
        return added.rename_columns([*self._key, *COUNTED])


def worst_first(counted: pa.Table) -> pa.Table:
    """Sort keys by largest delay, descending; equal ones by rows out of order, then by rows."""
    keys = [(name, "ascending") for name in counted.column_names if name not in COUNTED]
    return counted.sort_by(
        [("largest", "descending"), ("out_of_order", "descending"), ("rows", "descending"), *keys]
    )


def check_key_names(key: tuple[str, ...]) -> None:
    """Refuse a key column with the name of a count, in any case: to Spark, "Rows" is "rows"."""
    for name in key:
        if str(name).lower() in COUNTED:
            raise ColumnNameError(
                f'the key column "{name}" has a name that a profile gives to a column of its own.\n'
                f'Hint: rename it first, for example to "{name}_key".'
            )
