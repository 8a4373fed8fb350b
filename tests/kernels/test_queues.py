import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.queues import (
    NEAR,
    PLACE,
    TIME,
    empty_queues,
    enter,
    first,
    leave,
    with_room,
)

# A queue is driven by numbers: a time enters, and None lets the first one leave.
steps = st.lists(st.one_of(st.integers(0, 5), st.none()), max_size=40)
# Some come behind more tuples than are passed in the line.
far = st.lists(st.integers(0, 2), max_size=6).map(lambda some: [*range(3, NEAR + 9), *some])


@given(before=st.one_of(st.just([]), far), steps=steps)
def test_slots_leave_in_order_of_time_and_equal_ones_as_they_entered(
    before: list[int], steps: list[int | None]
) -> None:
    room = len(before) + 40
    slots = np.zeros((room, PLACE + 1), np.int64)
    queues, counters = empty_queues(2, room), np.zeros(2, np.int64)
    expected: list[tuple[int, int]] = []
    for slot, time in enumerate([*before, *steps]):
        if slot == len(before) + 20:
            queues = with_room(queues, 3)
        if time is not None:
            slots[slot, TIME] = time
            enter(1, slot, slots, queues, counters)
            expected.append((time, slot))
            continue
        assert first(1, slots, queues) == min(expected, default=(0, -1))[1]
        if expected:
            leave(1, min(expected)[1], slots, queues)
            expected.remove(min(expected))
    for _, slot in sorted(expected):
        assert first(1, slots, queues) == slot
        leave(1, slot, slots, queues)
    assert first(1, slots, queues) == first(0, slots, queues) == -1


def test_a_line_moves_to_its_start_when_it_has_come_to_its_end() -> None:
    slots = np.zeros((2, PLACE + 1), np.int64)
    queues, counters = empty_queues(1, 2), np.zeros(2, np.int64)
    enter(0, 0, slots, queues, counters)
    for time in range(1, 9):
        slot = time % 2
        slots[slot, TIME] = time
        enter(0, slot, slots, queues, counters)
        assert first(0, slots, queues) == 1 - slot
        leave(0, 1 - slot, slots, queues)
