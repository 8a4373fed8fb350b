import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.batch import Positions
from latecomer.kernels.jit import kernel
from latecomer.kernels.queues import (
    END,
    LINE,
    NEAR,
    PLACE,
    START,
    TIME,
    Queues,
    empty_queues,
    enter,
    first,
    leave,
    oldest,
    with_room,
)

LEAVE = -1
"""A step in which the first slot leaves; any other step is the time of a slot that enters."""


@kernel
def play(
    steps: Positions, next_slot: int, slots: Positions, queues: Queues, counters: Positions
) -> Positions:
    """Let slots enter and leave the second queue; return those that leave, −1 if it is empty."""
    left = np.empty((steps == LEAVE).sum(), np.int64)
    size = 0
    for step in steps:
        if step == LEAVE:
            left[size] = slot = first(1, slots, queues)
            size += 1
            if slot >= 0:
                leave(1, slot, slots, queues)
        else:
            slots[next_slot, TIME] = step
            enter(1, next_slot, slots, queues, counters)
            next_slot += 1
    return left


def by_a_list(steps: list[int]) -> list[int]:
    """Do the same with a list of times and slots."""
    queue: list[tuple[int, int]] = []
    left, next_slot = [], 0
    for step in steps:
        if step == LEAVE:
            left.append(min(queue, default=(0, -1))[1])
            queue = sorted(queue)[1:]
        else:
            queue.append((step, next_slot))
            next_slot += 1
    return left


some_steps = st.lists(st.integers(LEAVE, 5), max_size=40)
# Some come behind more slots than are passed in the line.
far = st.lists(st.integers(0, 2), max_size=6).map(lambda some: [*range(3, NEAR + 9), *some])


@given(before=st.one_of(st.just([]), far), steps=some_steps)
def test_slots_leave_in_order_of_time_and_equal_ones_as_they_entered(
    before: list[int], steps: list[int]
) -> None:
    every = np.array([*before, *steps, *[LEAVE] * (len(before) + len(steps) + 1)], np.int64)
    room = len(before) + len(steps)
    slots, counters = np.zeros((room, PLACE + 1), np.int64), np.zeros(2, np.int64)
    half = len(before) + len(steps) // 2
    queues = empty_queues(2, room)

    left = play(every[:half], 0, slots, queues, counters).tolist()
    queues = with_room(queues, 3)
    entered = int((every[:half] != LEAVE).sum())
    left += play(every[half:], entered, slots, queues, counters).tolist()

    assert left == by_a_list(every.tolist())
    assert oldest(slots, queues) == -1


def test_a_line_moves_to_its_start_when_it_has_come_to_its_end() -> None:
    slots, counters = np.zeros((40, PLACE + 1), np.int64), np.zeros(2, np.int64)
    queues = empty_queues(2, 2)
    steps = [1, *([2, LEAVE] * 19)]

    left = play(np.array(steps), 0, slots, queues, counters)

    assert left.tolist() == list(range(19))
    assert queues[1, END] - queues[1, START] == 1
    assert LINE <= queues[1, START] < LINE + 4


def test_the_oldest_is_the_first_of_all_queues() -> None:
    slots, counters = np.zeros((9, PLACE + 1), np.int64), np.zeros(2, np.int64)
    queues = empty_queues(3, 9)

    play(np.array([7, 4, 6]), 0, slots, queues, counters)

    assert oldest(slots, queues) == 1
