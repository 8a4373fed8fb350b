from __future__ import annotations

import pytest

from latecomer.clock.policy import (
    ClockByRecall,
    ClockBySource,
    ClockPerKey,
    ClockPolicy,
    OneClock,
)
from latecomer.clock.watermark import Clock
from latecomer.errors import OptionError
from latecomer.time import FOREVER, NEVER

SECOND = 1_000_000
ONE = OneClock((SECOND, 5 * SECOND))
PER_KEY = ClockPerKey((SECOND,), 60 * SECOND, ("device",))
BY_RECALL = ClockByRecall(recalls=(0.9, 0.99))


def test_the_last_wait_decides_what_is_late() -> None:
    clock = Clock.at(60 * SECOND, 0)

    assert ONE.wait == 5 * SECOND
    folding = OneClock((SECOND,), horizon=9 * SECOND)
    assert (folding.wait, folding.levels, folding.waits) == (
        9 * SECOND,
        (SECOND, 9 * SECOND),
        (SECOND,),
    )
    assert str(folding) == "wait 1 second, horizon 9 seconds"
    assert ONE.of(clock).watermark == 55 * SECOND
    assert OneClock().wait == 0


def test_a_watermark_that_buckets_choose_is_taken_as_it_is() -> None:
    clock = Clock(60 * SECOND, 42 * SECOND)

    assert BY_RECALL.of(clock).watermark == 42 * SECOND
    assert PER_KEY.of(clock).watermark == 59 * SECOND


def test_a_stream_that_has_waited_otherwise_before_does_not_fall_behind_its_floor() -> None:
    longer = OneClock((9 * SECOND,)).after([5 * SECOND], 55 * SECOND)

    assert longer.former == (5 * SECOND,)
    assert longer == OneClock((9 * SECOND,))
    assert longer.read(60 * SECOND).watermark == 55 * SECOND
    assert longer.read(70 * SECOND).watermark == 61 * SECOND
    assert longer.of(Clock(60 * SECOND, NEVER)).watermark == 55 * SECOND
    assert longer.of(Clock(60 * SECOND, FOREVER)).watermark == FOREVER
    assert longer.read(NEVER).watermark == 55 * SECOND


def test_at_the_end_all_streams_are_at_it() -> None:
    end = Clock(60 * SECOND, FOREVER)

    assert {policy.of(end).watermark for policy in (ONE, PER_KEY, BY_RECALL)} == {FOREVER}
    assert ONE.of(Clock(NEVER, NEVER)).watermark == NEVER


@pytest.mark.parametrize(
    ("policy", "answers", "columns", "recalls"),
    [
        (ONE, 2, (), ()),
        (PER_KEY, 1, ("device",), ()),
        (BY_RECALL, 2, (), (0.9, 0.99)),
    ],
)
def test_a_policy_knows_the_number_of_answers_and_their_names(
    policy: ClockPolicy, answers: int, columns: tuple[str, ...], recalls: tuple[float, ...]
) -> None:
    assert (policy.answers, policy.columns, policy.recalls) == (answers, columns, recalls)


def test_only_one_clock_is_shared_by_all_buckets() -> None:
    assert [policy.is_shared for policy in (ONE, PER_KEY, BY_RECALL)] == [True, False, False]


def test_rows_with_different_clocks_are_not_grouped_together() -> None:
    PER_KEY.check_group(["site", "device"])
    ONE.check_group([])
    BY_RECALL.check_group(["site"])

    with pytest.raises(OptionError, match='because each "device" has a clock of its own'):
        PER_KEY.check_group(["site"])
    with pytest.raises(OptionError, match="cannot be grouped by nothing"):
        PER_KEY.check_group([])


def test_rows_travel_a_second_time_unless_buckets_wait_differently() -> None:
    ONE.check_travel(["site"])
    PER_KEY.check_travel(["site"])

    with pytest.raises(OptionError, match=r'grouping by "site".*\nHint: name this key'):
        BY_RECALL.check_travel(["site"])


def test_a_clock_by_sources_is_known_where_rows_are_read() -> None:
    policy = ClockBySource((SECOND,), None, (), "_lc_promise", "is_last", sources=("partition",))

    assert policy.is_shared
    assert policy.reads == ("partition", "_lc_promise")
    assert policy.identity == {
        "clock": "the clock of the slowest partition",
        "wait": SECOND,
        "promise": "is_last",
    }
    assert str(policy) == (
        "wait 1 second, by the clock of the slowest partition, with promises where is_last"
    )
    assert policy.of(Clock(9 * SECOND, 4 * SECOND)).watermark == 4 * SECOND
    with pytest.raises(OptionError, match=r'grouping by "site".*\nHint: name this key'):
        policy.check_travel(["site"])
    for one in (policy, ClockPerKey((SECOND,), None, ("device",), "_lc_promise", "is_last")):
        with pytest.raises(OptionError, match="cannot be combined with another stream"):
            one.check_meeting(ONE, {})


def test_streams_meet_at_a_common_time() -> None:
    other = ClockPerKey((SECOND,), None, ("machine",))
    ONE.check_meeting(ONE, {"device": "device"})
    PER_KEY.check_meeting(PER_KEY, {})
    PER_KEY.check_meeting(other, {"device": "machine"})

    for one, another, names in [(PER_KEY, ONE, {}), (ONE, PER_KEY, {}), (PER_KEY, other, {})]:
        with pytest.raises(
            OptionError, match=r"different clocks cannot be combined.*\nHint: give both the same"
        ):
            one.check_meeting(another, names)
    with pytest.raises(OptionError, match="cannot be combined with another stream"):
        BY_RECALL.check_meeting(BY_RECALL, {})


def test_a_checkpoint_identifies_the_clock_and_its_waits() -> None:
    assert OneClock((5,)).identity == {"clock": "one clock", "wait": 5}
    assert ONE.identity == {"clock": "one clock", "wait": [SECOND, 5 * SECOND]}
    assert PER_KEY.identity == {
        "clock": "a clock for each device",
        "wait": SECOND,
        "idle": 60 * SECOND,
    }
    assert BY_RECALL.identity == {
        "clock": "waits that follow from a recall",
        "recall": [0.9, 0.99],
        "within": None,
    }


def test_a_policy_says_in_words_how_long_a_stream_waits() -> None:
    assert str(ONE) == "wait 1 second, 5 seconds"
    assert str(PER_KEY) == "wait 1 second, with a clock for each device"
    assert str(BY_RECALL) == "recall 0.9, 0.99, by which each bucket chooses its wait"
    each_hour = ClockByRecall(recalls=(0.9,), within=3_600 * SECOND)
    assert str(each_hour) == "recall 0.9 in each 1 hour, by which each bucket chooses its wait"
