"""Stretches between the begins and ends of states, and the aggregates that need no tree.

    states        ├── a ────────┤
                        ├── b ────────┤
    stretches     ├─────┼───────┼─────┤
    covered by       a     a b     b

`latecomer.operators.temporal.aggregate` explains when a tree is needed; `kernels.stretches` has the
loops.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Positions
from latecomer.kernels.order import stable_order
from latecomer.operators.aggregates.base import Aggregate, Columns
from latecomer.operators.aggregates.slices import dense_codes, group_order
from latecomer.operators.temporal.edges import Edges
from latecomer.time import FOREVER, Times


@dataclass(frozen=True, slots=True)
class Stretches:
    """Stretches between the begins and ends of states, for each key; see `kernels.stretches.cut`.

    They are in order of time as far as the states are.
    """

    starts: Times
    ends: Times
    """End of each stretch; `FOREVER` for the last one of a key, which is still open."""
    before: Positions
    """For each stretch, the one before it of the same key; -1 if there is none."""
    rows: Positions
    """Number of states in each stretch."""
    one_state: Positions
    """For each stretch, any state of its key."""
    firsts: Positions
    stops: Positions
    """For each state: its first stretch, and the one after its last; -1 if it has not ended."""
    lasts: Positions
    """For each key, its last stretch."""
    codes: Positions
    """For each state, the number of its key."""

    @classmethod
    def of(cls, states: Edges, keys: tuple[str, ...], until: Times) -> Stretches:
        from latecomer.kernels.stretches import cut

        columns = [states.payload.column(name) for name in keys]
        codes, count = dense_codes(columns, len(states))
        ended = np.flatnonzero((states.other <= until) & (states.other < FOREVER))
        ended = ended[stable_order(states.other[ended])]
        return cls(*cut(states.at, states.other, ended, codes, count), codes)

    def by_key(self) -> tuple[Positions, Positions, Positions]:
        """Number the stretches one key after the other.

        Returns:
            The number of each stretch; and for each state the number of its first stretch, and of
            the one after its last.
        """
        codes = self.codes[self.one_state]
        order = group_order(codes, len(self.lasts))
        numbers = np.empty(len(order), np.int64)
        numbers[order] = np.arange(len(order))
        ends = np.searchsorted(codes[order], self.codes, side="right")
        return numbers, numbers[self.firsts], np.where(self.stops < 0, ends, numbers[self.stops])


def is_direct(aggregate: Aggregate, rows: pa.Schema) -> bool:
    """Return True if the states of stretches can be computed without a tree."""
    return aggregate.adds_up(rows) or aggregate.has_ranks(rows)


def covered(
    aggregate: Aggregate, states: Columns, stretches: Stretches, of: Positions
) -> Columns | None:
    """Return one merged state for each stretch in `of`; None if that needs a tree."""
    found: list[pa.Array | None]
    if (ranks := aggregate.ranks(states)) is not None:
        found = [_largest(states[0], ranks, stretches, of)]
    else:
        found = [_sums(column, stretches, of) for column in states]
    columns = [column for column in found if column is not None]
    return columns if len(columns) == len(found) else None


def _sums(column: pa.Array, stretches: Stretches, of: Positions) -> pa.Array | None:
    """Return the sum of integers for each stretch in `of`; None if the sums might overflow."""
    from latecomer.kernels.stretches import cover_sums

    values = (column.fill_null(0) if column.null_count else column).to_numpy()
    largest = max(abs(int(values.min(initial=0))), abs(int(values.max(initial=0))))
    if (
        largest * len(values) >= FOREVER // 2
        and np.abs(values.astype(np.float64)).sum() >= FOREVER // 2
    ):
        return None
    span = (stretches.firsts, stretches.stops)
    sums = cover_sums(*span, values, stretches.before)[of]
    if not column.null_count:
        return pa.array(sums)
    valid = np.asarray(column.is_valid()).astype(np.int64)
    return pa.array(sums, mask=cover_sums(*span, valid, stretches.before)[of] == 0)


def _largest(
    column: pa.Array, ranks: Positions, stretches: Stretches, of: Positions
) -> pa.Array | None:
    """Return the value of highest rank for each stretch in `of`; None if that is too slow."""
    from latecomer.kernels.stretches import cover_largest

    is_counted = (
        np.asarray(column.is_valid()) if column.null_count else np.ones(len(column), np.bool_)
    )
    found = cover_largest(stretches.firsts, stretches.stops, ranks, is_counted, stretches.before)
    if len(found) != len(stretches.before):
        return None
    found = found[of]
    is_none = found < 0
    return column.take(pa.array(found, mask=is_none if is_none.any() else None))
