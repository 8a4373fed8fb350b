"""The reserve of misses that keeps single periods from missing the recall."""

from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.waits.reserve import FADING, LARGEST, MARGIN, Reserve

HOUR = 3_600_000_000


def after(*periods: tuple[int, int], may_miss: float = 0.01) -> Reserve:
    """Run periods of rows and misses, and begin another one."""
    reserve = Reserve(may_miss, HOUR)
    for hour, (rows, missed) in enumerate([*periods, (1, 0)]):
        reserve.learn(hour * HOUR + 5, rows, missed)
    return reserve


def test_without_misses_nothing_is_kept_back() -> None:
    found = after((1_000, 0), (1_000, 10))

    assert (found.share, found.periods, found.short) == (1, 2, 0)


def test_after_a_period_that_missed_the_recall_an_equal_one_reaches_it() -> None:
    found = after((1_000, 40))

    assert (found.periods, found.short) == (1, 1)
    assert found.share == pytest.approx(exp(-MARGIN) / 4)
    assert found.share * 0.04 < 0.01


def test_a_reserve_fades_in_calm_periods_and_not_in_those_that_barely_reach_the_recall() -> None:
    bad = (1_000, 40)

    assert after(bad, (1_000, 10)).share == after(bad).share
    assert after(bad, (1_000, 0)).share == pytest.approx(after(bad).share * exp(FADING))
    assert after(bad, *[(1_000, 0)] * 200).share == 1


@pytest.mark.parametrize("recall", [0.7, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_rounding_does_not_make_a_period_that_barely_reaches_the_recall_miss_it(
    recall: float,
) -> None:
    found = after((1_000, round(1_000 * (1 - recall))), may_miss=1 - recall)

    assert (found.share, found.periods, found.short) == (1, 1, 0)


def test_a_period_is_added_up_over_its_micro_batches() -> None:
    reserve = Reserve(0.01, HOUR)
    for minute in range(60):
        reserve.learn(minute * 60_000_000, 10, int(minute < 10))
    assert (reserve.periods, reserve.share) == (0, 1)
    reserve.learn(HOUR, 10, 0)

    assert (reserve.periods, reserve.short) == (1, 1)
    assert log(reserve.share) == pytest.approx(-log(100 / 60) - MARGIN)


def test_if_no_row_may_be_missed_the_reserve_is_the_largest() -> None:
    assert after((10, 1), may_miss=0.0).share == pytest.approx(exp(-LARGEST))


@given(
    st.lists(st.tuples(st.integers(1, 100), st.integers(0, 100)), max_size=30),
    st.sampled_from([0.0, 0.001, 0.1]),
)
def test_the_share_has_bounds_and_is_restored(
    periods: list[tuple[int, int]], may_miss: float
) -> None:
    played = [(rows, min(rows, missed)) for rows, missed in periods]
    reserve = after(*played, may_miss=may_miss)
    again = Reserve(may_miss, HOUR)
    again.load(reserve.save())

    assert exp(-LARGEST) - 1e-12 <= reserve.share <= 1
    assert reserve.periods == len(periods)
    assert reserve.short == sum(missed / rows > may_miss for rows, missed in played)
    for each in (reserve, again):
        each.learn(99 * HOUR, 5, 5)
    assert again.save().keys() == reserve.save().keys()
    assert (again.share, again.short) == (reserve.share, reserve.short)


@given(st.lists(st.tuples(st.integers(1, 400), st.floats(0, 1)), max_size=60), st.integers(1, 9))
def test_few_periods_fall_short_unless_the_reserve_is_at_its_largest(
    periods: list[tuple[int, float]], harm: int
) -> None:
    """An adversary misses as much as the reserve allows, times any factor up to 10^harm."""
    reserve, number = Reserve(0.01, HOUR), 0
    for rows, over in periods:
        missed = min(rows, round(rows * 0.01 * reserve.share * 10 ** (harm * over)))
        reserve.learn(number * HOUR, rows, missed)
        number += 1
        if reserve.share < exp(-LARGEST) + 1e-9:
            return
        assert reserve.short <= reserve.periods * FADING / (MARGIN + FADING) + LARGEST / (
            MARGIN + FADING
        )
    assert reserve.periods == max(number - 1, 0)
