import numpy as np

from latecomer.kernels.queues import LINE
from latecomer.operators.window_join.slots import FIRST, Slots
from latecomer.operators.window_join.tuples import Tuples


def tuples(*times: int) -> Tuples:
    zeros = np.zeros(len(times), np.int64)
    return Tuples(zeros, np.array(times, np.int64), np.arange(len(times)), zeros)


def test_tuples_are_told_in_the_order_in_which_they_came() -> None:
    slots = Slots(3)
    slots.fill(tuples(5, 3, 4, 3), np.array([1, 0, 1, 0]))

    assert slots.tuples(slots.in_order(0)).times.tolist() == [3, 3]
    assert slots.tuples(slots.in_order(1)).times.tolist() == [5, 4]
    assert slots.tuples(slots.in_order(0, 1, 2)).rows.tolist() == [0, 1, 2, 3]
    assert (len(slots), slots.oldest) == (4, 3)


def test_empty_slots_have_no_oldest_tuple() -> None:
    assert Slots(2).oldest is None


def test_there_is_room_for_as_many_as_are_to_come() -> None:
    slots = Slots(1)
    slots.fill(tuples(1, 2), np.array([0, 0]))
    slots.make_room(FIRST - 2)
    assert slots.room == FIRST

    slots.make_room(5 * FIRST)

    properties, free, queues, counters = slots.held
    assert slots.room == len(properties) == (queues.shape[1] - LINE) // 3 >= 5 * FIRST + 2
    unused = free[: counters[0]].tolist()
    assert len(set(unused)) == len(unused) == slots.room - 2
    assert slots.tuples(slots.in_order(0)).times.tolist() == [1, 2]
