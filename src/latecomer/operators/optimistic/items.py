"""Items, and the tombstones that take them back.

A step on rows in order need not wait for the order. It computes with the rows that have come. When
a row comes out of order, it is put in its place, the results that were wrong are taken back by
*tombstones*, and the right results follow. The next step does the same with what it receives:

    arriving       running sum, as it is emitted
    5 at 12:01     + 12:01  5
    3 at 12:03     + 12:03  8
    2 at 12:02     − 12:03  8     + 12:02  7     + 12:03  10

An item is a row with additional columns that users do not see:

    _lc_sign       1, or -1 for a tombstone
    _lc_order      a hash of its first key: orders rows of one time, in any number of buckets
    _lc_source     a number, given where the row came in: orders rows of one time and key by arrival
    _lc_child_0 …  for each step that may make several rows of one: the number of the row
    _lc_trace      a hash of what the item was made of

**Items are ordered by time, then by order, source and children**: the items made of an item follow
it and precede the next one. **A tombstone takes back the item that is equal to it in all of these
and in its trace.** The trace distinguishes two versions of one item: the one taken back, and the
one that replaces it.

Paper: Kuralenok, Marshalkin, Trofimov, Novikov: An Optimistic Approach to Handle Out-of-Order
    Events within Analytical Stream Processing (2018), Sections V-A and V-D.
Symbols: meta-information -> the columns above; source id -> `_lc_order`, `_lc_source`.
Departures: items come in micro-batches, and are put in place together. Items that a step would emit
    and take back within one micro-batch are not emitted: `settled`.
Holds: of items that are equal in time, order, source and children, at most one is valid.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from latecomer.batch import Batch, Mask, Positions, gather, row_text
from latecomer.errors import TombstoneError
from latecomer.kernels.order import stable_order
from latecomer.operators.aggregates.base import one_array
from latecomer.operators.aggregates.slices import Values, group_order
from latecomer.time import TimeColumn

HIDDEN = "_lc_"
SIGN, ORDER, SOURCE, TRACE, CHILD = (
    f"{HIDDEN}{name}" for name in ("sign", "order", "source", "trace", "child_")
)

Signs = npt.NDArray[np.int8]

MARKS = (
    pa.field(SIGN, pa.int8()),
    pa.field(ORDER, pa.int64()),
    pa.field(SOURCE, pa.int64()),
    pa.field(TRACE, pa.int64()),
)
"""Columns that an item has in addition to its row, before the first step."""


def is_hidden(name: str) -> bool:
    """Return True if users do not see a column."""
    return name.startswith(HIDDEN)


def shown(schema: pa.Schema) -> pa.Schema:
    """Return the columns that users see."""
    return pa.schema([field for field in schema if not is_hidden(field.name)])


def marks(schema: pa.Schema) -> pa.Schema:
    """Return the columns that users do not see."""
    return pa.schema([field for field in schema if is_hidden(field.name)])


def children(schema: pa.Schema) -> list[str]:
    """Return the names of the columns of child numbers, from the first step to the last."""
    return [name for name in schema.names if name.startswith(CHILD)]


def signs(items: Batch) -> Signs:
    """Return the signs: 1 for items, -1 for tombstones."""
    return one_array(items.column(SIGN)).to_numpy()


def signed(items: Batch, sign: int) -> Batch:
    """Return all items with one sign: 1 makes items, -1 makes tombstones."""
    values = pa.array(np.full(items.num_rows, sign, np.int8))
    return items.set_column(items.schema.get_field_index(SIGN), MARKS[0], values)


def identity(items: Batch, time: TimeColumn) -> list[Values]:
    """Return the columns that order and identify items; the trace is last."""
    names = [ORDER, SOURCE, *children(items.schema), TRACE]
    return [time.micros(items), *(one_array(items.column(name)).to_numpy() for name in names)]


def in_order(identities: Sequence[Values], before: Values | None = None) -> tuple[Positions, Mask]:
    """Return the positions of items in order of their identities, of which the time is first.

    Args:
        identities: The columns that identify items.
        before: A small number for each item, to order by before the time.

    Returns:
        The order, and a mask of the items that are not equal to the one before them in it.
    """
    times = identities[0]
    if before is None:
        order = stable_order(times)
    else:
        order = group_order(before, before.max(initial=0) + 1, times)
    first = (times,) if before is None else (before, times)
    starts = are_new([each[order] for each in first])
    if starts.all():
        return order, starts
    # Most times occur once; only items of equal time need all columns.
    is_tied = ~starts
    is_tied[:-1] |= ~starts[1:]
    tied = order[is_tied]
    others = [each[tied] for each in identities[:0:-1]]
    order[is_tied] = tied[np.lexsort((*others, np.cumsum(starts)[is_tied]))]
    tied = np.flatnonzero(~starts)
    for each in identities[1:]:
        starts[tied] |= each[order[tied]] != each[order[tied - 1]]
    return order, starts


def are_new(values: Sequence[Values]) -> Mask:
    """Mark the items that are not equal to the one before them."""
    found = np.zeros(len(values[0]), np.bool_)
    found[:1] = True
    for each in values:
        found[1:] |= each[1:] != each[:-1]
    return found


class Settled(NamedTuple):
    """Items and tombstones that are left after those that match have cancelled each other."""

    items: Batch
    """Tombstones first, then items, both in order."""
    cancelled: int
    """Number of items and tombstones that were cancelled."""


def settled(changes: Batch, time: TimeColumn) -> Settled:
    """Return the items and tombstones of a micro-batch that do not cancel each other.

    Raises:
        TombstoneError: An item comes twice, or is taken back twice.
    """
    if not changes.num_rows:
        return Settled(changes, 0)
    values = identity(changes, time)
    order, is_new = in_order(values)
    of = signs(changes)[order].astype(np.int64)
    starts = np.flatnonzero(is_new)
    if len(starts) == len(order):
        kept = order
    else:
        total = np.add.reduceat(of, starts)
        if (np.abs(total) > 1).any():
            at = int(order[starts[np.flatnonzero(np.abs(total) > 1)[0]]])
            raise twice(changes.slice(at, 1))
        # Of equal items, keep any that has the sign of their sum.
        ends = np.append(starts[1:], len(order))
        of_group = np.repeat(total, ends - starts)
        fits = np.flatnonzero((of == of_group) & (of_group != 0))
        groups = np.repeat(np.arange(len(starts)), ends - starts)[fits]
        kept = order[fits[np.flatnonzero(np.diff(groups, prepend=-1))]]
    is_back = signs(changes)[kept] < 0
    kept = np.concatenate([kept[is_back], kept[~is_back]])
    return Settled(gather(changes, kept), changes.num_rows - len(kept))


def twice(item: Batch) -> TombstoneError:
    """Return the error for an item that came, or was taken back, more than once."""
    what = "was taken back" if signs(item)[0] < 0 else "came"
    return TombstoneError(f"an item {what} twice: {row_text(as_dict(item))}.\n{_HINT}")


def missing(tombstone: Batch) -> TombstoneError:
    """Return the error for a tombstone that has no item to take back."""
    message = (
        f"there is no item for this tombstone to delete: {row_text(as_dict(tombstone))}.\n{_HINT}"
    )
    return TombstoneError(message)


_HINT = (
    "Hint: a function of flat_map must return the same rows whenever it is called with the same "
    "row, and must not change during the life of a checkpoint."
)


def as_dict(item: Batch) -> dict[str, object]:
    """Return the row of an item as a dict, without hidden columns."""
    row: dict[str, object] = item.slice(0, 1).to_pylist()[0]
    return {name: value for name, value in row.items() if not is_hidden(name)}
