"""The slots of keys."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.operators.optimistic import slots

HASHES = np.arange(1 << 10)


def test_there_are_sixteen_slots_at_first() -> None:
    assert slots.numbers(HASHES, ()).tolist() == [each % 16 for each in HASHES]


def test_a_slot_is_split_by_the_next_bit() -> None:
    assert slots.halves(5) == (0b1_00101, 0b1_10101)
    assert slots.halves(0b1_00101) == (0b1_000101, 0b1_100101)

    found = slots.numbers(HASHES, [0b1_10101])

    assert found[0b10101] == 0b1_10101
    assert found[0b00101] == 0b1_00101
    assert found[6] == 6


def test_a_slot_is_not_split_for_ever() -> None:
    slot, splits = 3, 0
    while (halves := slots.halves(slot)) is not None:
        slot, splits = halves[1], splits + 1

    assert splits == slots.MOST - slots.FIRST


@given(st.lists(st.tuples(st.integers(0, 1_023), st.booleans()), max_size=40))
def test_splits_move_hashes_of_the_split_slot_only(steps: list[tuple[int, bool]]) -> None:
    used: set[int] = set()
    for hashed, is_split in steps:
        before = slots.numbers(HASHES, used)
        slot = int(before[hashed])
        halves = slots.halves(slot) if is_split else None
        used = used | {slot} if halves is None else (used - {slot}) | {*halves}
        after = slots.numbers(HASHES, used)

        moved = before != after
        assert (before[moved] == slot).all()
        assert halves is None or {*after[before == slot].tolist()} == {*halves}
