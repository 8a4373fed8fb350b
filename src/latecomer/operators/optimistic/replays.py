"""The items on which a function has to run again, after some items came and some were taken back.

    items            1   2   3   4   5   6
    kept states          s           s   s        the last one, and one in some
    4 is new                     +
    run again                3   4   5   6        from the state behind 2
    outputs anew                 4   5   6
    kept then            s       s       s        here, in two

In each key that changed, the function runs on all items after the last kept state before the first
change. Items before that change are run only to get the state there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latecomer.batch import Mask, Positions
from latecomer.operators.aggregates.slices import Slices
from latecomer.operators.optimistic.buckets import KEPT, Merged

SHARE = 8
"""Smallest number of states that are kept among the non-final items of a key, if it has as many."""


@dataclass(frozen=True, slots=True)
class Replay:
    """The items to run, key by key; only keys that changed."""

    rows: Positions
    """Items to run, in order."""
    slices: Slices
    """Items to run of each key; there may be none."""
    begins: Positions
    """For each key, the item whose kept state the run begins with; -1 for the initial state."""
    is_anew: Mask
    """For each item to run, whether its outputs are new: it is not before the first change."""
    is_kept: Mask
    """For each item to run, whether to keep its state."""
    is_behind: Mask
    """For each item to run, whether its state was kept before, and all changes are before it."""
    is_cleared: Mask
    """For each of all items, whether its kept state is dropped: it is no longer the last one."""

    @classmethod
    def of(cls, merged: Merged, has_state: Mask, is_final: Mask, every: int) -> Replay:
        """Return the items to run.

        Args:
            merged: Held items and new items.
            has_state: Whether the state of an item is kept.
            is_final: Whether an item is before the watermark.
            every: The largest number of items of a key that share one kept state.
        """
        slices, at = merged.slices, np.arange(merged.items.num_rows)
        dirty = merged.is_dirty
        first, last = slices.first(dirty), slices.last(dirty)
        groups = np.flatnonzero(first >= 0)
        has_state = has_state & (merged.status == KEPT)
        # The last marked item up to each one; -1 if there is none.
        marked = np.maximum.accumulate(np.where(has_state, at, -1))
        starts = slices.bounds[:-1][groups]
        begins = _before(marked, first[groups], starts)
        # Number of items since the kept state before that: the one it begins with may be dropped.
        previous = _before(marked, begins, starts)
        present = np.concatenate([[0], np.cumsum(merged.is_present)])
        from_start = np.where(previous < 0, starts, previous + 1)
        since = np.where(begins < 0, 0, present[begins + 1] - present[from_start])
        beyond = len(at)
        per_group = np.full(len(slices), beyond)
        per_group[groups] = np.where(begins < 0, starts, begins + 1)
        rows = np.flatnonzero(merged.is_present & (at >= slices.spread(per_group)))
        ends = slices.bounds[1:][groups]
        own = Slices(np.concatenate([[0], np.searchsorted(rows, ends)]).astype(np.int64))
        # Items are held from a kept state on. With few non-final items, that state must be near.
        live = slices.keep(merged.is_present & ~is_final).lengths[groups]
        apart = np.clip(live // SHARE, 1, every)
        # The state that a run begins with is dropped if it is too close to the one before. It is
        # kept if it is the last one again, or is final: it is needed to forget earlier items.
        is_cleared = np.zeros(len(at), np.bool_)
        cleared = (begins >= 0) & (since < apart) & (own.lengths > 0)
        cleared[cleared] &= ~is_final[begins[cleared]]
        is_cleared[begins[cleared]] = True
        since[~cleared] = 0
        first_of = slices.spread(np.where(first < 0, beyond, first))
        last_of = slices.spread(last)
        rank = np.arange(len(rows)) - own.spread(own.bounds[:-1]) + own.spread(since) + 1
        is_behind = has_state[rows] & (rows > last_of[rows])
        is_kept = (rank % own.spread(apart) == 0) | is_behind
        is_kept[own.bounds[1:][own.lengths > 0] - 1] = True
        is_anew = rows >= first_of[rows]
        return cls(rows, own, begins, is_anew, is_kept, is_behind, is_cleared)


def _before(marked: Positions, places: Positions, starts: Positions) -> Positions:
    """Return the last marked place before each of `places`; -1 if it is before `starts`."""
    found = np.where(places > starts, marked[np.maximum(places - 1, 0)], -1)
    return np.where(found >= starts, found, -1)
