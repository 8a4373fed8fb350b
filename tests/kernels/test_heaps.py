import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.heaps import NUMBER, TIME, UNUSED, pop, push


@given(times=st.lists(st.integers(0, 5), max_size=20), before=st.integers(0, 20))
def test_slots_leave_in_order_of_time_and_equal_ones_by_their_numbers(
    times: list[int], before: int
) -> None:
    slots = np.zeros((UNUSED + 1, 20), np.int64)
    slots[TIME, : len(times)] = times
    slots[NUMBER] = np.arange(20)
    heaps, size, left = np.empty((2, 20), np.int64), 0, []
    for slot in range(len(times)):
        push(heaps, 1, size, slot, slots)
        size += 1
        # Some items leave before all have come.
        if slot == before:
            left.append(pop(heaps, 1, size, slots))
            size -= 1

    early = sorted(range(min(before + 1, len(times))), key=lambda slot: times[slot])[: len(left)]
    late = sorted(set(range(len(times))) - set(early), key=lambda slot: (times[slot], slot))
    while size:
        left.append(pop(heaps, 1, size, slots))
        size -= 1
    assert left == early + late
