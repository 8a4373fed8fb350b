from latecomer.clock.policy import ClockByRecall, OneClock
from latecomer.hosts.output import DROPPED, FOLDED, IN_TIME, READY, Output, in_time, levels


def test_the_count_of_a_wait_has_its_microseconds_in_its_name() -> None:
    assert in_time(5_000_000) == "in_time_5000000"
    assert in_time(0).removeprefix(IN_TIME) == "0"


def test_the_name_of_a_count_differs_from_that_of_rows() -> None:
    assert len({READY, DROPPED, FOLDED, in_time(0), in_time(1)}) == 5


def test_a_horizon_is_no_further_wait() -> None:
    assert levels(OneClock((0, 5))) == ["in_time_0", "in_time_5"]
    assert levels(OneClock((0, 5), horizon=9)) == ["in_time_0", "in_time_5", FOLDED]
    assert levels(ClockByRecall(recalls=(0.9,), horizon=9)) == []


def test_dropped_rows_are_counted_and_not_carried() -> None:
    assert Output(DROPPED, 3, None).batch is None
