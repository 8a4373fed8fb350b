from __future__ import annotations

import numpy as np
import pytest

from latecomer.errors import OptionError
from latecomer.generate.join_streams import join_streams, zipf

SECOND = 1_000_000


def test_three_streams_have_one_attribute_each() -> None:
    made = join_streams(3, seed=1, minutes=1)

    assert {name: table.schema.names for name, table in made.items()} == {
        "S1": ["time", "arrival", "a1"],
        "S2": ["time", "arrival", "a1"],
        "S3": ["time", "arrival", "a1"],
    }


def test_the_first_of_four_streams_shares_an_attribute_with_each_other_one() -> None:
    made = join_streams(4, seed=1, minutes=1)

    assert {name: table.schema.names for name, table in made.items()} == {
        "S1": ["time", "arrival", "a1", "a2", "a3"],
        "S2": ["time", "arrival", "a1"],
        "S3": ["time", "arrival", "a2"],
        "S4": ["time", "arrival", "a3"],
    }


def test_half_an_hour_has_a_hundred_rows_a_second_in_every_stream() -> None:
    for table in join_streams(3, seed=1).values():
        arrivals = table["arrival"].to_numpy()

        assert table.num_rows == 180_000
        assert arrivals[0] == 10_000
        assert set(np.diff(arrivals)) == {10_000}


@pytest.mark.parametrize(("streams", "skews"), [(3, [2, 3, 3]), (4, [3, 3, 3, 4])])
def test_delays_fall_off_by_the_skew_of_their_stream(streams: int, skews: list[int]) -> None:
    for table, skew in zip(join_streams(streams, seed=1).values(), skews, strict=True):
        delays = table["arrival"].to_numpy() - table["time"].to_numpy()
        on_time, next_step = (np.mean(delays == delay) for delay in (0, SECOND // 10))

        assert set(delays % (SECOND // 10)) == {0}
        assert 0 <= delays.min() <= delays.max() <= 20 * SECOND
        assert on_time / next_step == pytest.approx(2**skew, rel=0.05)


def test_an_attribute_goes_through_phases_of_different_skew() -> None:
    values = join_streams(3, seed=1)["S1"]["a1"].to_numpy()
    ones_per_minute = np.mean(values.reshape(30, -1) == 1, axis=1)

    assert (values.min(), values.max()) == (1, 100)
    assert ones_per_minute[0] == pytest.approx(1 / sum(1 / r for r in range(1, 101)), abs=0.02)
    assert ones_per_minute.max() - ones_per_minute.min() > 0.3


@pytest.mark.parametrize("skew", [0.0, 1.0, 5.0])
def test_ranks_are_drawn_in_proportion_to_their_power(skew: float) -> None:
    drawn = zipf(skew, 4, 100_000, np.random.default_rng(1))
    shares = np.bincount(drawn, minlength=5)[1:] / len(drawn)
    weights = np.array([1, 2, 3, 4]) ** -skew

    assert shares == pytest.approx(weights / weights.sum(), abs=0.01)


def test_equal_seeds_give_equal_streams_and_others_do_not() -> None:
    first, again, other = (join_streams(4, seed=seed, minutes=1) for seed in (1, 1, 2))

    assert first == again
    assert all(first[name] != other[name] for name in first)


def test_streams_of_no_length_have_no_rows() -> None:
    assert [table.num_rows for table in join_streams(3, seed=1, minutes=0).values()] == [0, 0, 0]


def test_other_numbers_of_streams_are_refused() -> None:
    with pytest.raises(OptionError, match="there are 3 streams or 4; got 2\\.\nHint: "):
        join_streams(2, seed=1)


def test_a_negative_length_is_refused() -> None:
    with pytest.raises(OptionError, match="minutes cannot be negative; got -1\\.\nHint: "):
        join_streams(3, seed=1, minutes=-1)
