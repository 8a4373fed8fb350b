import pyarrow as pa

from latecomer.clock.policy import OneClock
from latecomer.hosts.output import DROPPED, IN_TIME, READY, Output, in_time, with_wait_text


def test_a_wait_is_named_as_the_user_wrote_it() -> None:
    waits = pa.array([60_000_000, 0, 60_000_000], pa.duration("us"))
    output = Output(READY, 3, pa.table({"n": [1, 2, 3], "wait": waits, "is_final": [True] * 3}))
    clock = OneClock((0, 60_000_000), texts=("0 s", "60 seconds"))

    named = with_wait_text(output, clock).batch

    assert named is not None
    assert named.column_names == ["n", "wait", "is_final"]
    assert named["wait"].to_pylist() == ["60 seconds", "0 s", "60 seconds"]
    assert OneClock(clock.waits).wait_texts == ("0 seconds", "1 minute")


def test_the_count_of_a_wait_has_its_microseconds_in_its_name() -> None:
    assert in_time(5_000_000) == "in_time_5000000"
    assert in_time(0).removeprefix(IN_TIME) == "0"


def test_no_count_has_the_name_of_rows() -> None:
    assert len({READY, DROPPED, in_time(0), in_time(1)}) == 4


def test_dropped_rows_are_counted_and_not_carried() -> None:
    assert Output(DROPPED, 3, None).batch is None
