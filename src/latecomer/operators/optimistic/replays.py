"""Which items a function has to be run on again, when some came and some went.

    items            1   2   3   4   5   6
    kept states          s           s   s        the last one, and one in some
    4 is new                     +
    run again                3   4   5   6        from the state behind 2
    outputs anew                 4   5   6
    kept then            s       s       s        here, in two

Of each key in which something changed, this is all from the last kept state before the first
change on. What comes before that change is run only to have the state there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latecomer.batch import Mask, Positions
from latecomer.operators.aggregates.slices import Slices
from latecomer.operators.optimistic.buckets import KEPT, Merged

SHARE = 8
"""Of the items of a key that are not final, eight states are kept, or more."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What to run, key by key; only keys in which something changed."""

    rows: Positions
    """The items to run, in order."""
    slices: Slices
    """Which of them are of one key; there may be none."""
    begins: Positions
    """The item behind which the state stands that a key begins with; -1 for the initial one."""
    is_anew: Mask
    """Of each item to run: whether its outputs count, because it is not before the first change."""
    is_kept: Mask
    """Of each item to run: whether to keep its state."""
    is_behind: Mask
    """Of each item to run: whether its state was kept before, and all changes are before it."""
    is_cleared: Mask
    """Of all items: whether a state need no longer be kept, because it is not the last one."""

    @classmethod
    def of(cls, merged: Merged, has_state: Mask, is_final: Mask, every: int) -> Replay:
        """Find out what to run.

        Args:
            merged: Items that were held and items that came.
            has_state: Which of them a state is kept behind.
            is_final: Which of them are behind the watermark.
            every: Of how many items of a key one state is kept at the least.
        """
        slices, at = merged.slices, np.arange(merged.items.num_rows)
        dirty = merged.is_dirty
        first, last = slices.first(dirty), slices.last(dirty)
        groups = np.flatnonzero(first >= 0)
        has_state = has_state & (merged.status == KEPT)
        marked = _last_marked(has_state)
        starts = slices.bounds[:-1][groups]
        begins = _before(marked, first[groups], starts)
        # How long ago the state before that was kept: the one it begins with may be in between.
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
        # Rows are held back to a kept state. Where few are not final, that must not be far.
        live = slices.keep(merged.is_present & ~is_final).lengths[groups]
        apart = np.clip(live // SHARE, 1, every)
        # Unless it is the last one again, or is needed to forget what is before it.
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


def _last_marked(mask: Mask) -> Positions:
    """Return for each place the last marked one up to it; -1 if there is none."""
    return np.maximum.accumulate(np.where(mask, np.arange(len(mask)), -1))


def _before(marked: Positions, places: Positions, starts: Positions) -> Positions:
    """Find the last marked place before some others, but not before `starts`; else -1."""
    found = np.where(places > starts, marked[np.maximum(places - 1, 0)], -1)
    return np.where(found >= starts, found, -1)
