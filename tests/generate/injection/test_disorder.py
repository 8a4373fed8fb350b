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
from latecomer.profile.measures import measure
from latecomer.testing import replay
from latecomer.time import TimeColumn

if TYPE_CHECKING:
    from latecomer.generate.injection.report import DisorderReport

SECOND = 1_000_000
TIME = TimeColumn("time", "us")


def seconds(*times: int | None, **columns: object) -> pa.Table:
    return pa.table({"time": pa.array(times, pa.int64()), **columns})


def stream(rows: int = 20_000, gap: int = 10_000, seed: int = 1) -> pa.Table:
    """About one row per `gap` microseconds, in order, with a few of equal time."""
    gaps = np.random.default_rng(seed).integers(0, 2 * gap, rows)
    names = [f"d{i % 10}" for i in range(rows)]
    times = pa.array(np.cumsum(gaps), pa.timestamp("us", "UTC"))
    return pa.table({"time": times, "device": names, "number": range(rows)})


def fraction_of(table: pa.Table) -> float:
    return measure(TimeColumn("time", "us").micros(table)).share


def disorder(table: pa.Table, **options: object) -> pa.Table:
    given = {"time": "time", "delay": "uniform:1s:60s", "seed": 7, "unit": "s"} | options
    return lc.inject_disorder(table, **given)  # type: ignore[arg-type]


# --- what is promised ---------------------------------------------------------------------


@pytest.mark.parametrize("fraction", [0.0, 0.01, 0.3, 0.75])
@pytest.mark.parametrize(
    "delay",
    ["uniform:1s:60s", "constant:5s", "exponential:3s", "normal:9s:3s", "zipf:2:1s:90s"],
)
def test_the_fraction_asked_for_is_the_true_one(fraction: float, delay: str) -> None:
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
def test_with_a_wait_long_enough_nothing_shows(times: list[int], seed: int) -> None:
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


# --- the disorder that is there already ---------------------------------------------------


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


def test_more_disorder_than_asked_for_is_left_as_it_is() -> None:
    source = disorder(stream(), fraction=0.4).drop_columns(["arrival"])

    with pytest.warns(lc.FractionWarning, match=r"asked for 10.00 %.*got 40.*in the source"):
        result = disorder(source, fraction=0.1)

    assert result.drop_columns(["arrival"]).equals(source)


def test_a_table_has_arrived_in_the_order_of_its_rows() -> None:
    result = disorder(seconds(10, 14, 12, 19, 13), fraction=0.4)

    assert result["time"].to_pylist() == [10, 14, 12, 19, 13]
    assert result["arrival"].to_pylist() == [10, 14, 14, 19, 19]


def test_an_arrival_column_says_in_which_order_rows_came() -> None:
    result = disorder(seconds(1, 2, 3, came=[30, 10, 20]), fraction=1 / 3, arrival="came")

    assert result["time"].to_pylist() == [2, 3, 1]
    assert result["arrival"].to_pylist() == [10, 20, 30]


def test_an_arrival_column_of_that_name_is_replaced() -> None:
    rows = seconds(*range(1_000), arrival=list(range(1_000)))

    result = disorder(rows, fraction=0.5, arrival="arrival")

    assert result.column_names == ["time", "arrival"]
    assert fraction_of(result) == pytest.approx(0.5, abs=0.002)


# --- when it cannot be done ---------------------------------------------------------------


def test_delays_shorter_than_the_gaps_overtake_nothing() -> None:
    with pytest.warns(lc.FractionWarning, match=r"got 0.00 %.*overtakes.*constant:5s") as said:
        disorder(seconds(*range(0, 10_000, 10)), fraction=0.3, delay="constant:5s")

    assert "longer or more varied delays" in str(said[0].message)


def test_a_few_rows_cannot_meet_every_fraction() -> None:
    with pytest.warns(lc.FractionWarning, match="only 3 rows"):
        disorder(seconds(1, 2, 3), fraction=0.5)


@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan"), "0.3", None, True])
def test_a_fraction_that_is_none(fraction: object) -> None:
    with pytest.raises(lc.OptionError, match=r"fraction must be from 0 to 1; got .*\n.*30 %"):
        disorder(seconds(1), fraction=fraction)


def test_bad_options() -> None:
    with pytest.raises(lc.OptionError, match=r"seed must be a whole number; got 1\.5"):
        disorder(seconds(1), fraction=0, seed=1.5)
    with pytest.raises(lc.OptionError, match="unknown unit 'hours'"):
        disorder(seconds(1), fraction=0, unit="hours")
    with pytest.raises(lc.OptionError, match=r"DataFrame or an Arrow table; got list"):
        disorder([1, 2], fraction=0)  # type: ignore[arg-type]
    with pytest.raises(lc.OptionError, match="a delay is a text or a Delay"):
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


@pytest.mark.parametrize("unit", ["s", "ms", "ns"])
def test_arrivals_stay_within_their_unit(unit: str) -> None:
    last = {"s": 9 * 10**12, "ms": 9 * 10**15, "ns": 9 * 10**18}[unit]
    rows = seconds(*range(last, last + 1_000_000, 1_000))

    result = disorder(rows, fraction=0.1, unit=unit, delay="constant:1000000d")

    assert min(result["arrival"].to_pylist()) >= last - last % 1_000


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.timestamp("us", "UTC"), pa.timestamp("us", "UTC")),
        (pa.timestamp("s"), pa.timestamp("us")),
        (pa.timestamp("ns", "Asia/Tokyo"), pa.timestamp("us", "Asia/Tokyo")),
        (pa.date32(), pa.timestamp("us", "UTC")),
        (pa.int32(), pa.int64()),
    ],
)
def test_the_arrival_column_is_fine_enough_for_a_delay(
    kind: pa.DataType, expected: pa.DataType
) -> None:
    width = pa.int32() if kind in (pa.int32(), pa.date32()) else pa.int64()
    rows = pa.table({"time": pa.array([0, 1, 2], width).cast(kind)})

    result = lc.inject_disorder(rows, time="time", fraction=0, delay="constant:1ms", unit="s")

    assert result.schema.field("arrival").type == expected


def test_arrivals_in_a_coarse_unit_are_what_was_counted() -> None:
    rows = seconds(*range(2_000))

    result = disorder(rows, fraction=0.3, delay="uniform:1500ms:9500ms")

    by_arrival = np.argsort(np.asarray(result["arrival"]), kind="stable")
    assert (by_arrival == np.arange(2_000)).all()
    assert fraction_of(result) == pytest.approx(0.3, abs=0.002)


# --- patterns -----------------------------------------------------------------------------


def test_drift_makes_delays_grow_and_shrink() -> None:
    result = disorder(
        stream(), fraction=0.3, delay="constant:1s", patterns=[lc.Drift("100 seconds", 9)]
    )

    times, arrivals = (np.asarray(result[name]).astype(np.int64) for name in ("time", "arrival"))
    delays = arrivals - times
    phase = times % (100 * SECOND)
    near_the_start = delays[(delays > 0) & (phase < 5 * SECOND)]
    in_the_middle = delays[(delays > 0) & (abs(phase - 50 * SECOND) < 5 * SECOND)]
    assert near_the_start.max() < 1.3 * SECOND
    assert in_the_middle.min() > 8.5 * SECOND


def test_an_outage_holds_back_a_source_and_delivers_at_once() -> None:
    outage = lc.Outage(at="60 seconds", lasts="30 seconds", by="device", only=["d3"])

    with pytest.warns(lc.FractionWarning, match="with the patterns"):
        result = disorder(stream(), fraction=0, patterns=[outage])

    moved = result.filter(pa.array(np.asarray(result["arrival"]) != np.asarray(result["time"])))
    assert set(moved["device"].to_pylist()) == {"d3"}
    (back,) = set(moved["arrival"].to_pylist())
    assert back - timedelta(seconds=30) <= moved["time"][0].as_py()
    assert moved.num_rows == pytest.approx(300, abs=30)


def test_an_outage_of_all_leaves_the_order_as_it_is() -> None:
    result = disorder(
        stream(), fraction=0, patterns=[lc.Outage(at="60 seconds", lasts="30 seconds")]
    )

    assert fraction_of(result) == 0


def test_the_seed_draws_which_sources_fail() -> None:
    def failed(seed: int) -> set[str]:
        outage = lc.Outage(at="60 seconds", lasts="30 seconds", by="device", share=0.5)
        result = disorder(stream(), fraction=0.3, seed=seed, patterns=[outage])
        late = np.asarray(result["arrival"]).astype(np.int64)
        back = np.bincount(np.unique(late, return_inverse=True)[1]).argmax()
        return set(result["device"].filter(pa.array(late == np.unique(late)[back])).to_pylist())

    assert failed(1) != failed(2)
    assert 1 <= len(failed(1)) <= 9


def test_of_two_overrides_for_one_row_the_last_decides() -> None:
    def delayed(*fractions: float) -> float:
        patterns = [lc.Override("device", "d3", fraction=fraction) for fraction in fractions]
        result = disorder(stream(), fraction=0.3, patterns=patterns)
        is_d3 = np.asarray(result["device"].to_pylist()) == "d3"
        late = np.asarray(result["arrival"]) > np.asarray(result["time"])
        return float(late[is_d3].mean())

    assert delayed(0.5, 0.1) == delayed(0.1) < delayed(0.1, 0.5) == delayed(0.5)


def test_an_override_gives_one_source_its_own_delays() -> None:
    override = lc.Override("device", "d3", delay="constant:1h", fraction=0.9)

    result = disorder(stream(), fraction=0.2, patterns=[override])

    times, arrivals = (np.asarray(result[name]).astype(np.int64) for name in ("time", "arrival"))
    is_d3 = np.asarray(result["device"].to_pylist()) == "d3"
    assert ((arrivals - times)[is_d3] == 3_600 * SECOND).mean() == pytest.approx(0.9, abs=0.03)
    assert (arrivals - times)[~is_d3].max() <= 60 * SECOND
    assert fraction_of(result) == pytest.approx(0.2, abs=0.002)


def test_bad_patterns() -> None:
    with pytest.raises(lc.OptionError, match="period must be above 0"):
        lc.Drift("0 seconds", 2)
    with pytest.raises(lc.OptionError, match="factor must be 0 or more; got -1"):
        lc.Drift("1 hour", -1)
    with pytest.raises(lc.OptionError, match="share must be from 0 to 1; got 2"):
        lc.Outage(at="1s", lasts="1s", by="device", share=2)
    with pytest.raises(lc.OptionError, match=r"only=\['d3'\] needs a column"):
        lc.Outage(at="1s", lasts="1s", only=["d3"])
    with pytest.raises(lc.OptionError, match=r"share=0\.5 needs a column"):
        lc.Outage(at="1s", lasts="1s", share=0.5)
    with pytest.raises(lc.OptionError, match=r"list of values; got 'd3'.*\n.*only=\['d3'\]"):
        lc.Outage(at="1s", lasts="1s", by="device", only="d3")
    with pytest.raises(lc.OptionError, match="changes nothing"):
        lc.Override("device", "d3")
    with pytest.raises(lc.OptionError, match="a delay is a text or a Delay; got datetime"):
        lc.Override("device", "d3", delay=timedelta(hours=1))  # type: ignore[arg-type]
    with pytest.raises(lc.OptionError, match="patterns must be a list of Drift"):
        disorder(stream(10), fraction=0, patterns=lc.Drift("1 hour", 2))
    with pytest.raises(lc.OptionError, match="patterns must be a list of Drift"):
        disorder(stream(10), fraction=0, patterns=["drift"])
    with pytest.raises(lc.DurationError, match="cannot read lasts='soon'"):
        lc.Outage(at="1s", lasts="soon")
    with pytest.raises(lc.OptionError, match="unknown distribution 'often'"):
        lc.Override("device", "d3", delay="often")
    with pytest.raises(lc.ColumnNotFoundError, match='no column "phone"'):
        disorder(stream(10), fraction=0, patterns=[lc.Override("phone", 1, fraction=0.1)])
    with pytest.raises(lc.OptionError, match=r"\"number\" is of type int64, and cannot be 'd3'"):
        disorder(stream(10), fraction=0, patterns=[lc.Override("number", "d3", fraction=0.1)])


# --- the report ---------------------------------------------------------------------------


def test_the_report_says_what_was_done() -> None:
    seen: list[DisorderReport] = []

    result = disorder(stream(), fraction=0.3, report=seen.append)

    (report,) = seen
    assert (report.rows, report.asked) == (20_000, 0.3)
    assert report.fraction == fraction_of(result)
    assert report.measures is not None
    assert report.measures.runs == 1 + np.count_nonzero(
        np.diff(np.asarray(result["time"]).astype(np.int64)) < 0
    )
    assert str(report).startswith("20,000 rows, 30.0")
    assert "asked for  30.00 %; 0.00 % in the source" in str(report)
    assert "interleaved" in str(report)
