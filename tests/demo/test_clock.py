from latecomer.demo.clock import clock


def test_a_time_is_written_in_utc_without_the_year() -> None:
    assert clock(1_373_371_140_000_000) == "Jul 09 11:59"
    assert clock(0) == "Jan 01 00:00"


def test_seconds_are_left_out_and_not_rounded() -> None:
    assert clock(59_999_999) == "Jan 01 00:00"
