"""Windows that change, compared with a list of all windows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.groupings import GONE, NEW, changed_windows


def windows(status: list[int], absent: int, size: int) -> set[tuple[int, ...]]:
    there = [at for at, each in enumerate(status) if each != absent]
    return {tuple(there[max(0, end - size) : end]) for end in range(1, len(there) + 1)}


@given(
    groups=st.lists(st.lists(st.integers(0, 2), max_size=9), max_size=4),
    size=st.integers(1, 4),
)
def test_windows_that_were_and_are_not_and_those_that_are_and_were_not(
    groups: list[list[int]], size: int
) -> None:
    bounds = np.cumsum([0, *map(len, groups)])
    status = np.array([each for group in groups for each in group], np.int8)
    for sign, absent, other in ((-1, NEW, GONE), (1, GONE, NEW)):
        expected = [
            tuple(int(start) + at for at in window)
            for start, group in zip(bounds[:-1], groups, strict=True)
            for window in sorted(
                windows(group, absent, size) - windows(group, other, size), key=lambda w: w[-1]
            )
        ]
        ends, starts, members = changed_windows(status, bounds, size, sign)
        found = np.split(members, starts[1:-1]) if len(ends) else []

        assert [tuple(each.tolist()) for each in found] == expected
        assert ends.tolist() == [window[-1] for window in expected]


def test_room_is_made_for_the_items_that_there_are() -> None:
    status, bounds = np.array([NEW, NEW], np.int8), np.array([0, 0, 2])

    _, starts, members = changed_windows(status, bounds, 1 << 60, 1)

    assert starts.tolist() == [0, 1, 3]
    assert members.tolist() == [0, 0, 1]
