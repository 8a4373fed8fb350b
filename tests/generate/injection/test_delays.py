from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer import ColumnTypeError, Delay, DurationError, OptionError

SECOND = 1_000_000
EVENLY = (np.arange(10_000) + 0.5) / 10_000
FORMS = [
    "constant:5s",
    "uniform:1s:60s",
    "exponential:5s",
    "exponential:5s:1s:20s",
    "normal:30s:10s",
    "normal:2s:10s:1s:15s",
    "lognormal:5s:1.5",
    "lognormal:5s:1.5:1s:1min",
    "zipf:2:100ms:20s",
    "zipf:1.2:1s:60s:5s",
]


def seconds(text: str) -> np.ndarray:
    return Delay.parse(text).draw(EVENLY) / SECOND


@pytest.mark.parametrize("form", FORMS)
@given(uniform=st.lists(st.floats(0, 1, exclude_max=True)))
def test_every_delay_is_from_the_minimum_to_the_maximum(form: str, uniform: list[float]) -> None:
    delay = Delay.parse(form)

    drawn = delay.draw(np.array([*uniform, 0.0, np.nextafter(1, 0)]))

    assert drawn.dtype == np.int64
    assert drawn.min() >= delay.minimum
    assert drawn.max() <= delay.maximum


@pytest.mark.parametrize("form", FORMS)
def test_a_larger_draw_gives_no_shorter_delay(form: str) -> None:
    assert (np.diff(seconds(form)) >= 0).all()


def test_a_constant_delay() -> None:
    assert set(seconds("constant:5s")) == {5}


def test_uniform_delays_reach_both_ends() -> None:
    drawn = Delay.parse("uniform:1us:3us").draw(EVENLY)

    assert np.bincount(drawn).tolist()[1:] == [3333, 3334, 3333]


def test_exponential_delays_have_their_mean() -> None:
    assert seconds("exponential:5s").mean() == pytest.approx(5, rel=0.01)
    assert np.median(seconds("exponential:5s")) == pytest.approx(5 * np.log(2), rel=0.01)


def test_normal_delays_have_mean_and_deviation() -> None:
    drawn = seconds("normal:100s:10s")

    assert (drawn.mean(), drawn.std()) == (pytest.approx(100, 0.01), pytest.approx(10, 0.01))


def test_cut_delays_do_not_pile_up_at_the_limit() -> None:
    drawn = seconds("normal:0s:10s:1s:15s")

    assert np.count_nonzero(drawn == 1) < 5
    assert np.count_nonzero(drawn == 15) < 5
    assert np.histogram(drawn, bins=[1, 8, 15])[0][0] > 5_000


def test_lognormal_delays_have_their_median() -> None:
    drawn = seconds("lognormal:5s:1.5")

    assert np.median(drawn) == pytest.approx(5, rel=0.01)
    assert np.log(drawn).std() == pytest.approx(1.5, rel=0.01)


def test_zipf_delays_are_steps_with_falling_weights() -> None:
    steps = (seconds("zipf:2:100ms:20s") * 10).round().astype(int)

    weights = np.arange(1.0, 201) ** -2
    assert np.bincount(steps)[1:4] / 10_000 == pytest.approx(
        (weights / weights.sum())[:3], abs=0.001
    )
    assert 190 < steps.max() <= 200


def test_empirical_delays_are_those_of_the_rows_out_of_order(tmp_path: Path) -> None:
    times = pa.array([10, 14, 12, 19, 13], pa.timestamp("s"))
    pq.write_table(pa.table({"time": times}), tmp_path / "seen.parquet")

    drawn = Delay.parse(f"empirical:{tmp_path}/seen.parquet:time").draw(EVENLY)

    assert np.unique(drawn / SECOND, return_counts=True)[1].tolist() == [5_000, 5_000]
    assert set(drawn / SECOND) == {2, 6}


def test_empirical_delays_of_rows_that_say_when_they_arrived() -> None:
    table = pa.table({"time": [5, 7, None, 6], "came": [3, 1, 0, 2]})

    delay = Delay.empirical(table, time="time", arrival="came", unit="s")

    assert set(delay.draw(EVENLY) / SECOND) == {1, 2}


def test_a_stream_in_order_has_no_delays_to_draw_from() -> None:
    with pytest.raises(OptionError, match='no row is out of order by "time"'):
        Delay.empirical(pa.table({"time": [1, 2]}), time="time", unit="s")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("unifrom:1s:60s", r"unknown distribution 'unifrom'.*\n.*uniform:MIN:MAX"),
        ("uniform:60s:1s", "the shortest delay, 1 minute, is longer than the longest, 1 second"),
        ("exponential:5s:9s:8s", "longer than the longest"),
        ("uniform:1s", r"has 1 parts.*\n.*uniform:MIN:MAX"),
        ("constant:5s:6s", "has 2 parts"),
        ("constant:0s", "must be above 0"),
        ("lognormal:5s:0", "sigma must be a number above 0; got '0'"),
        ("zipf:x:1s:5s", "skew must be a number above 0; got 'x'"),
        ("zipf:2:10s:5s", "leaves no delays"),
        ("zipf:2:1ms:1h", r"has 3,600,000 steps; at most 100,000 are"),
        ("normal:1s:1s:1h:2h", "leaves no delays"),
        ("empirical:nowhere.parquet:time", 'there is no file "nowhere.parquet"'),
    ],
)
def test_a_delay_that_cannot_be(text: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Delay.parse(text)


def test_empirical_delays_need_columns_that_are_times(tmp_path: Path) -> None:
    pq.write_table(pa.table({"time": [10, 14, 12]}), tmp_path / "seen.parquet")

    with pytest.raises(ColumnTypeError, match='"time" is of type int64'):
        Delay.parse(f"empirical:{tmp_path}/seen.parquet:time")


def test_a_part_that_is_no_duration() -> None:
    with pytest.raises(DurationError, match="cannot read mean='5'"):
        Delay.parse("exponential:5")
