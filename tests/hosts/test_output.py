from latecomer.hosts.output import DROPPED, IN_TIME, READY, Output, in_time


def test_the_count_of_a_wait_has_its_microseconds_in_its_name() -> None:
    assert in_time(5_000_000) == "in_time_5000000"
    assert in_time(0).removeprefix(IN_TIME) == "0"


def test_no_count_has_the_name_of_rows() -> None:
    assert len({READY, DROPPED, in_time(0), in_time(1)}) == 4


def test_dropped_rows_are_counted_and_not_carried() -> None:
    assert Output(DROPPED, 3, None).batch is None
