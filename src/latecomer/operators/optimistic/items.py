"""Items, and the tombstones that take them back.

A step on rows in order need not wait for the order. It computes with what has come; when a
straggler comes, it is put where it belongs, what was wrong is taken back by *tombstones*, and the
right answers follow. The next step does the same with what it receives:

    arriving       running sum, as it is said
    5 at 12:01     + 12:01  5
    3 at 12:03     + 12:03  8
    2 at 12:02     − 12:03  8     + 12:02  7     + 12:03  10

An item is a row with columns more, which no user sees:

    _lc_sign       1, or -1 for a tombstone
    _lc_order      a hash of its first key: one order for rows of one time, whatever the buckets
    _lc_source     a number, given where the row came in: rows of one time and key as they arrived
    _lc_child_0 …  for each step that may make several of one: which of them it is
    _lc_trace      what it was made of, as a hash

**Items are ordered by time, then by order, source and children**: what is made of an item follows
it and precedes the next one. **A tombstone takes back the item that is equal to it in all of these
and in its trace.** The trace tells two versions of one item apart: the one taken back, and the one
that takes its place.

Paper: Kuralenok, Marshalkin, Trofimov, Novikov: An Optimistic Approach to Handle Out-of-Order
    Events within Analytical Stream Processing (2018), Sections V-A and V-D.
Symbols: meta-information -> the columns above; source id -> `_lc_order`, `_lc_source`.
Departures: items come in micro-batches, and are put in place together. Of what a step would say
    and take back within one, nothing is said: `settled`.
Holds: of items that are equal in time, order, source and children, at most one is valid.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from latecomer.batch import Batch, Mask, Positions, gather
from latecomer.errors import TombstoneError
from latecomer.kernels.order import stable_order
from latecomer.operators.aggregates.base import one_array
from latecomer.operators.aggregates.slices import Values
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
"""What an item has besides its row, before the first step."""


def is_hidden(name: str) -> bool:
    """Return True if a column is one of those that no user sees."""
    return name.startswith(HIDDEN)


def shown(schema: pa.Schema) -> pa.Schema:
    """Leave out the columns that no user sees."""
    return pa.schema([field for field in schema if not is_hidden(field.name)])


def marks(schema: pa.Schema) -> pa.Schema:
    """Name the columns that no user sees."""
    return pa.schema([field for field in schema if is_hidden(field.name)])


def children(schema: pa.Schema) -> list[str]:
    """Name the columns that say which of several an item is, from the first step to the last."""
    return [name for name in schema.names if name.startswith(CHILD)]


def signs(items: Batch) -> Signs:
    """Return the signs: 1 for items, -1 for tombstones."""
    return one_array(items.column(SIGN)).to_numpy()


def signed(items: Batch, sign: int) -> Batch:
    """Make items, or tombstones, of all."""
    values = pa.array(np.full(items.num_rows, sign, np.int8))
    return items.set_column(items.schema.get_field_index(SIGN), MARKS[0], values)


def identity(items: Batch, time: TimeColumn) -> list[Values]:
    """Return the columns that order and identify items; the trace is last."""
    names = [ORDER, SOURCE, *children(items.schema), TRACE]
    return [time.micros(items), *(one_array(items.column(name)).to_numpy() for name in names)]


def in_order(identities: Sequence[Values], before: Values | None = None) -> Positions:
    """Put items in order.

    Args:
        identities: What they are ordered by, the time first.
        before: A small number that counts before the time.
    """
    times = identities[0]
    order = stable_order(times)
    if before is not None:
        # NumPy sorts 16-bit numbers by counting them: one pass.
        few = before.astype(np.uint16) if before.max(initial=0) < _FEW else before
        order = order[np.argsort(few[order], kind="stable")]
    first = (times,) if before is None else (before, times)
    starts = are_new([each[order] for each in first])
    if starts.all():
        return order
    # Most times are there once; only the others need all columns.
    is_tied = ~starts
    is_tied[:-1] |= ~starts[1:]
    tied = order[is_tied]
    others = [each[tied] for each in identities[:0:-1]]
    order[is_tied] = tied[np.lexsort((*others, np.cumsum(starts)[is_tied]))]
    return order


_FEW = 1 << 16


def are_new(values: Sequence[Values]) -> Mask:
    """Mark those in a row of items that are not equal to the one before."""
    found = np.zeros(len(values[0]), np.bool_)
    found[:1] = True
    for each in values:
        found[1:] |= each[1:] != each[:-1]
    return found


class Settled(NamedTuple):
    """What is left of items and tombstones, once they have met."""

    items: Batch
    """Tombstones first, then items, both in order."""
    cancelled: int
    """How many items and tombstones met."""


def settled(changes: Batch, time: TimeColumn) -> Settled:
    """Let items and tombstones of one micro-batch meet.

    Raises:
        TombstoneError: An item comes twice, or is taken back twice.
    """
    if not changes.num_rows:
        return Settled(changes, 0)
    values = identity(changes, time)
    order = in_order(values)
    of = signs(changes)[order].astype(np.int64)
    starts = np.flatnonzero(are_new([each[order] for each in values]))
    if len(starts) == len(order):
        kept = order
    else:
        total = np.add.reduceat(of, starts)
        if (np.abs(total) > 1).any():
            at = int(order[starts[np.flatnonzero(np.abs(total) > 1)[0]]])
            raise twice(changes.slice(at, 1))
        # Of equal items, any that has the sign of what is left.
        ends = np.append(starts[1:], len(order))
        of_group = np.repeat(total, ends - starts)
        fits = np.flatnonzero((of == of_group) & (of_group != 0))
        groups = np.repeat(np.arange(len(starts)), ends - starts)[fits]
        kept = order[fits[np.flatnonzero(np.diff(groups, prepend=-1))]]
    is_back = signs(changes)[kept] < 0
    kept = np.concatenate([kept[is_back], kept[~is_back]])
    return Settled(gather(changes, kept), changes.num_rows - len(kept))


def twice(item: Batch) -> TombstoneError:
    """Make the error for an item that came, or was taken back, more than once."""
    what = "was taken back" if signs(item)[0] < 0 else "came"
    return TombstoneError(f"an item {what} twice; it is {as_dict(item)}.\n{_HINT}")


def missing(tombstone: Batch) -> TombstoneError:
    """Make the error for a tombstone that has nothing to take back."""
    message = f"nothing is there that this would take back: {as_dict(tombstone)}.\n{_HINT}"
    return TombstoneError(message)


_HINT = (
    "Hint: a function of flat_map must give the same rows whenever it is given the same row, and "
    "must not change during the life of a checkpoint."
)


def as_dict(item: Batch) -> dict[str, object]:
    """Show the row of an item."""
    row: dict[str, object] = item.slice(0, 1).to_pylist()[0]
    return {name: value for name, value in row.items() if not is_hidden(name)}
