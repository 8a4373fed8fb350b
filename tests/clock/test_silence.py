"""The clock advances while no rows come."""

from hypothesis import given
from hypothesis import strategies as st

from latecomer.clock.silence import Silence
from latecomer.time import NEVER


def reached(ticks: list[tuple[int, int]], idle: int = 20) -> list[int]:
    """Return the clock at each tick, given the newest time and the wall clock."""
    silence, found = Silence(), []
    for newest, now in ticks:
        silence = silence.ticked(newest, now, idle)
        found.append(silence.reached)
    return found


def test_after_a_silence_time_goes_on_with_the_wall_clock() -> None:
    ticks = [(7, 5 * at) for at in range(7)]

    assert reached([*ticks, (90, 35), (90, 40)]) == [7, 7, 7, 7, 7, 27, 32, 90, 90]


def test_a_query_does_not_take_its_own_absence_for_silence() -> None:
    assert reached([(7, 0), (7, 1), (7, 1_000), (7, 1_001), (7, 1_002), (80, 1_003)]) == [7] * 5 + [
        80
    ]


def test_ticks_that_are_far_apart_find_a_silence_too() -> None:
    assert reached([(7, 100 * at) for at in range(7)]) == [7, 7, 7, 7, 7, 27, 32]


def test_before_the_first_row_there_is_no_time_to_go_on() -> None:
    assert set(reached([(NEVER, 5 * at) for at in range(9)])) == {NEVER}


def test_time_does_not_go_back_when_rows_come_from_before_the_silence() -> None:
    ticks = [(7, 5 * at) for at in range(8)]

    assert reached([*ticks, (20, 40)])[-2:] == [37, 37]


def test_a_wall_clock_that_is_set_back_does_not_move_the_clock_back() -> None:
    assert reached([(7, 0), (7, 5), (7, 10), (7, 15), (7, 20), (7, 3), (7, 4)])[-2:] == [27, 27]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=20))
def test_time_never_goes_back_and_is_never_behind_the_newest(steps: list[tuple[int, int]]) -> None:
    newest, now, ticks = 0, 0, []
    for further, later in steps:
        newest, now = newest + further, now + later
        ticks.append((newest, now))

    found = reached(ticks, idle=5)

    assert found == sorted(found)
    assert all(time >= seen for time, (seen, _) in zip(found, ticks, strict=True))
