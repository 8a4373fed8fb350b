from latecomer.plan import LATE_POLICIES, Source
from latecomer.time import TimeColumn


def test_late_rows_of_the_first_stream_are_called_late_and_those_of_others_have_a_number() -> None:
    names = [Source(TimeColumn("time"), number=number).late for number in range(3)]

    assert names == ["late", "late_1", "late_2"]


def test_late_rows_can_be_treated_in_four_ways() -> None:
    assert LATE_POLICIES == ("divert", "drop", "adjust", "raise")
