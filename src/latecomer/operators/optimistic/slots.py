"""The slots over which the keys of a bucket are spread, by the bits of their hashes.

There are 16 slots at first. A slot with many items, of which a micro-batch changes few, is split in
two by the next bit. So a micro-batch with few keys reads and writes few items, however many are
held:

    hash     … 0 0 1 0 1          slot 5 = 0101      full ─▶   slot 37 = 1 00101
                 ▲ └─ 4 bits                                   slot 53 = 1 10101
                 the next

A slot with more than four bits has its bits and a one before them as its number, so no two slots
have the same number. Numbers below 16 are those of the first slots.

Holds: which slots are split follows from the slots that have items, so it is the same in a process
that has just started.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from latecomer.batch import Positions

FIRST = 4
"""Bits that choose one of the first slots."""
MOST = 8
"""Most bits: a bucket has at most 256 slots, because each read or write takes time."""


def numbers(bits: Positions, used: Iterable[int]) -> Positions:
    """Return the slot of each hash, given its last bits and the slots that have items."""
    # Most micro-batches split no slot.
    table = _table(frozenset(parent for slot in used for parent in _parents(slot)))
    return table[bits % len(table)]


@lru_cache(maxsize=64)
def _table(split: frozenset[int]) -> Positions:
    """Return the slot for each value of the last bits, given the slots that are split."""
    every = np.arange(1 << MOST)
    table = every % (1 << FIRST)
    for length in range(FIRST, MOST):
        is_split = np.isin(table, [*split])
        longer = 1 << (length + 1)
        table = np.where(is_split, longer + every % longer, table)
    return table


def halves(slot: int) -> tuple[int, int] | None:
    """Return the two slots that a slot is split into; None if it has the most bits."""
    length = _length(slot)
    if length == MOST:
        return None
    bits = slot % (1 << length)
    longer = 1 << (length + 1)
    return longer + bits, longer + (1 << length) + bits


def _parents(slot: int) -> Iterable[int]:
    """Yield the slots that were split to make a slot."""
    for length in range(FIRST, _length(slot)):
        bits = slot % (1 << length)
        yield bits if length == FIRST else (1 << length) + bits


def _length(slot: int) -> int:
    """Return the number of bits of a slot."""
    return max(slot.bit_length() - 1, FIRST)
