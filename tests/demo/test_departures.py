import inspect
import re

from latecomer.demo import departures
from latecomer.demo.departures import ASKED, SIZE_MICROS, WAIT_MICROS, WAITS

HOUR = 3_600_000_000


def test_the_code_that_is_shown_is_what_a_user_would_write() -> None:
    assert ASKED == (
        '.tumbling("1 hour").wait(["1 hour", "3 hours", "5 hours"])',
        '.group_by("origin").aggregate(departures=agg.count())',
    )


def test_the_code_that_is_shown_is_the_query_of_the_demo() -> None:
    steps = re.compile(r"\.(tumbling|wait|group_by|aggregate)\(")

    asked = steps.findall(inspect.getsource(departures.start))

    assert asked == steps.findall("".join(ASKED)) == ["tumbling", "wait", "group_by", "aggregate"]


def test_waits_grow_and_are_counted_in_microseconds() -> None:
    assert WAIT_MICROS == (HOUR, 3 * HOUR, 5 * HOUR)
    assert (SIZE_MICROS, len(WAITS)) == (HOUR, 3)
