"""Time goes on when nothing comes."""

from hypothesis import given
from hypothesis import strategies as st

from latecomer.disorder.silence import Silence
from latecomer.time import NEVER


def reached(ticks: list[tuple[int, int]], idle: int = 20) -> list[int]:
    """How far time is at each tick, given the newest time and the wall clock."""
    silence, found = Silence(), []
    for newest, now in ticks:
        silence = silence.ticked(newest, now, idle)
        found.append(silence.reached)
    return found


def test_after_a_silence_time_goes_on_with_the_wall_clock() -> None:
    ticks = [(7, 0), (7, 10), (7, 20), (7, 30), (7, 40), (90, 50), (90, 60)]

    assert reached(ticks) == [7, 7, 7, 27, 37, 90, 90]


def test_time_in_which_the_query_was_stopped_is_no_silence() -> None:
    assert reached([(7, 0), (7, 1_000), (80, 1_010)]) == [7, 7, 80]


def test_before_the_first_row_there_is_no_time_to_go_on() -> None:
    assert reached([(NEVER, 0), (NEVER, 50), (NEVER, 100)]) == [NEVER, NEVER, NEVER]


def test_time_does_not_go_back_when_rows_come_from_before_the_silence() -> None:
    assert reached([(7, 0), (7, 30), (7, 60), (7, 61), (20, 62)])[-2:] == [67, 67]


def test_a_wall_clock_that_is_set_back_moves_nothing_back() -> None:
    assert reached([(7, 0), (7, 50), (7, 10), (7, 20)]) == [7, 7, 57, 57]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=20))
def test_time_never_goes_back_and_is_never_behind_the_newest(steps: list[tuple[int, int]]) -> None:
    newest, now, ticks = 0, 0, []
    for further, later in steps:
        newest, now = newest + further, now + later
        ticks.append((newest, now))

    found = reached(ticks, idle=5)

    assert found == sorted(found)
    assert all(time >= seen for time, (seen, _) in zip(found, ticks, strict=True))
