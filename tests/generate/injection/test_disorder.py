import warnings
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import latecomer as lc
from latecomer.operators.sort import Sort
from latecomer.testing import replay
from latecomer.time import TimeColumn
from tests.support.injection_streams import disorder, fraction_of, seconds, stream

if TYPE_CHECKING:
    from latecomer.generate.injection.report import DisorderReport

SECOND = 1_000_000
TIME = TimeColumn("time", "us")


# --- guarantees ---------------------------------------------------------------------------


@pytest.mark.parametrize("fraction", [0.0, 0.01, 0.3, 0.75])
@pytest.mark.parametrize(
    "delay",
    ["uniform:1s:60s", "constant:5s", "exponential:3s", "normal:9s:3s", "zipf:2:1s:90s"],
)
def test_the_requested_fraction_is_the_true_one(fraction: float, delay: str) -> None:
    result = disorder(stream(), fraction=fraction, delay=delay)

    assert fraction_of(result) == pytest.approx(fraction, abs=0.002)


@given(
    times=st.lists(st.one_of(st.none(), st.integers(-50, 50)), max_size=30),
    fraction=st.floats(0, 1),
    seed=st.integers(),
    has_arrival=st.booleans(),
)
def test_rows_and_times_stay_and_arrivals_ascend(
    times: list[int | None], fraction: float, seed: int, *, has_arrival: bool
) -> None:
    came = [7 * i % 11 for i in range(len(times))]
    rows = seconds(*times, number=list(range(len(times))), came=pa.array(came, pa.int64()))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lc.FractionWarning)
        result = disorder(
            rows, fraction=fraction, seed=seed, arrival="came" if has_arrival else None
        )

    assert Counter(map(str, result.drop_columns(["arrival"]).to_pylist())) == Counter(
        map(str, rows.to_pylist())
    )
    arrivals = result["arrival"].drop_null().to_pylist()
    assert arrivals == sorted(arrivals)
    assert len(arrivals) == (len(times) if has_arrival or any(t is not None for t in times) else 0)


@given(times=st.lists(st.integers(-50, 50), max_size=40), seed=st.integers(0, 99))
def test_with_a_long_enough_wait_disorder_changes_nothing(times: list[int], seed: int) -> None:
    rows = seconds(*sorted(times))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lc.FractionWarning)
        result = disorder(rows, fraction=0.4, seed=seed, delay="uniform:1s:20s")

    arrived = [result["time"].to_pylist()[at : at + 3] for at in range(0, result.num_rows, 3)]
    seen = replay(Sort(TIME), arrived, wait=20)

    assert (seen.ready, seen.late) == (sorted(times), [])


def test_the_same_seed_gives_the_same_stream_and_another_another() -> None:
    rows = stream()

    assert disorder(rows, fraction=0.3).equals(disorder(rows, fraction=0.3))
    assert not disorder(rows, fraction=0.3).equals(disorder(rows, fraction=0.3, seed=8))


def test_which_rows_are_delayed_does_not_depend_on_where_they_stand() -> None:
    rows = stream()
    shuffled = rows.take(np.random.default_rng(2).permutation(rows.num_rows))

    def arrivals(result: pa.Table) -> dict[int, Any]:
        return dict(zip(result["number"].to_pylist(), result["arrival"].to_pylist(), strict=True))

    named = rows.append_column("came", rows["time"])
    moved = shuffled.append_column("came", shuffled["time"])

    assert arrivals(disorder(named, fraction=0.3, arrival="came")) == arrivals(
        disorder(moved, fraction=0.3, arrival="came")
    )


def test_a_larger_fraction_delays_the_same_rows_and_some_more() -> None:
    def delayed(fraction: float) -> set[int]:
        result = disorder(stream(), fraction=fraction)
        late = np.asarray(result["arrival"]) != np.asarray(result["time"])
        return set(result["number"].filter(pa.array(late)).to_pylist())

    assert delayed(0.1) < delayed(0.3)


# --- disorder in the source ---------------------------------------------------------------


def test_rows_out_of_order_in_the_source_count_and_stay() -> None:
    source = disorder(stream(), fraction=0.2, delay="constant:2s").drop_columns(["arrival"])
    seen: list[DisorderReport] = []

    result = disorder(source, fraction=0.5, seed=9, report=seen.append)

    times = TIME.micros(source)
    newest = dict(zip(source["number"].to_pylist(), np.maximum.accumulate(times), strict=True))
    arrivals = dict(
        zip(result["number"].to_pylist(), TimeColumn("arrival", "us").micros(result), strict=True)
    )
    there = source["number"].filter(pa.array(times < np.maximum.accumulate(times))).to_pylist()
    assert all(arrivals[number] == newest[number] for number in there)
    assert fraction_of(result) == pytest.approx(0.5, abs=0.002)
    assert seen[0].source_fraction == pytest.approx(0.2, abs=0.002)
    assert seen[0].delayed == pytest.approx(0.3 * source.num_rows, rel=0.1)


def test_more_disorder_than_requested_is_left_unchanged() -> None:
    source = disorder(stream(), fraction=0.4).drop_columns(["arrival"])

    with pytest.warns(lc.FractionWarning, match=r"asked for 10.00 %.*got 40.*in the source"):
        result = disorder(source, fraction=0.1)

    assert result.drop_columns(["arrival"]).equals(source)


def test_a_table_has_arrived_in_the_order_of_its_rows() -> None:
    result = disorder(seconds(10, 14, 12, 19, 13), fraction=0.4)

    assert result["time"].to_pylist() == [10, 14, 12, 19, 13]
    assert result["arrival"].to_pylist() == [10, 14, 14, 19, 19]


def test_an_arrival_column_gives_the_order_of_rows() -> None:
    result = disorder(seconds(1, 2, 3, came=[30, 10, 20]), fraction=1 / 3, arrival="came")

    assert result["time"].to_pylist() == [2, 3, 1]
    assert result["arrival"].to_pylist() == [10, 20, 30]


def test_an_arrival_column_of_that_name_is_replaced() -> None:
    rows = seconds(*range(1_000), arrival=list(range(1_000)))

    result = disorder(rows, fraction=0.5, arrival="arrival")

    assert result.column_names == ["time", "arrival"]
    assert fraction_of(result) == pytest.approx(0.5, abs=0.002)


# --- impossible requests ------------------------------------------------------------------


def test_delays_shorter_than_the_gaps_overtake_nothing() -> None:
    with pytest.warns(lc.FractionWarning, match=r"got 0.00 %.*overtakes.*constant:5s") as said:
        disorder(seconds(*range(0, 10_000, 10)), fraction=0.3, delay="constant:5s")

    assert "longer or more varied delays" in str(said[0].message)


def test_a_few_rows_cannot_meet_every_fraction() -> None:
    with pytest.warns(lc.FractionWarning, match="only 3 rows"):
        disorder(seconds(1, 2, 3), fraction=0.5)


@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan"), "0.3", None, True])
def test_an_invalid_fraction_is_refused(fraction: object) -> None:
    with pytest.raises(lc.OptionError, match=r"fraction must be from 0 to 1; got .*\n.*30 %"):
        disorder(seconds(1), fraction=fraction)


def test_bad_options() -> None:
    with pytest.raises(lc.OptionError, match=r"seed must be a whole number; got 1\.5"):
        disorder(seconds(1), fraction=0, seed=1.5)
    with pytest.raises(lc.OptionError, match="unknown unit 'hours'"):
        disorder(seconds(1), fraction=0, unit="hours")
    with pytest.raises(lc.OptionError, match=r"DataFrame or an Arrow table; got list"):
        disorder([1, 2], fraction=0)  # type: ignore[arg-type]
    with pytest.raises(lc.OptionError, match="a delay must be a string or a Delay"):
        disorder(seconds(1), fraction=0, delay=timedelta(seconds=1))


def test_bad_columns() -> None:
    with pytest.raises(lc.ColumnNotFoundError, match=r'no column "when"; the rows have "time"'):
        disorder(seconds(1), fraction=0, time="when")
    with pytest.raises(lc.ColumnNotFoundError, match=r'no column "came".*\n.*arrival='):
        disorder(seconds(1), fraction=0, arrival="came")
    with pytest.raises(lc.ColumnTypeError, match=r'"time" is of type int64.*\n.*unit='):
        disorder(seconds(1), fraction=0, unit=None)
    with pytest.raises(lc.ColumnTypeError, match=r'"time" is of type string.*\n.*convert it'):
        disorder(pa.table({"time": ["12:00"]}), fraction=0)
    with pytest.raises(lc.ColumnNameError, match=r'column "arrival".*\n.*arrival="arrival"'):
        disorder(seconds(1, arrival=[1]), fraction=0)
    with pytest.raises(lc.ColumnTypeError, match='1 rows have no "came"'):
        disorder(seconds(1, 2, came=[1, None]), fraction=0, arrival="came")


# --- boundaries ---------------------------------------------------------------------------


def test_a_file_without_rows_has_a_time_column_without_a_type() -> None:
    result = disorder(pa.table({"time": pa.nulls(0)}), fraction=0.3)

    assert (result.num_rows, result.column_names) == (0, ["time", "arrival"])


def test_no_rows() -> None:
    result = disorder(seconds(), fraction=0.3)

    assert (result.num_rows, result.column_names) == (0, ["time", "arrival"])


def test_one_row_is_never_out_of_order() -> None:
    with pytest.warns(lc.FractionWarning, match="is only 1 row,"):
        assert disorder(seconds(5), fraction=0.3)["arrival"].to_pylist() == [5]


def test_rows_without_a_time_are_kept_where_they_were_and_reported() -> None:
    seen: list[DisorderReport] = []

    result = disorder(seconds(None, 1, 2, None, 3), fraction=0, report=seen.append)

    assert result["time"].to_pylist() == [None, 1, 2, None, 3]
    assert result["arrival"].to_pylist() == [1, 1, 2, 2, 3]
    assert seen[0].without_time == 2
    assert "2 rows, kept and not delayed" in str(seen[0])


def test_rows_that_are_alike_are_delayed_one_by_one() -> None:
    result = disorder(seconds(*[1] * 5_000, *[2] * 5_000), fraction=0.2)

    assert fraction_of(result) == pytest.approx(0.2, abs=0.002)


def test_delays_at_the_end_of_time_do_not_wrap_around() -> None:
    end = 2**63 - 3
    rows = seconds(-end, *range(end - 99, end))

    result = disorder(rows, fraction=0.1, unit="us", delay="constant:10000w")

    arrivals = result["arrival"].to_pylist()
    assert arrivals == sorted(arrivals)
    assert max(arrivals) <= 2**63 - 2
