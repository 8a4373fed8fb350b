from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest

import latecomer as lc
from tests.support.injection_streams import SECOND, disorder, fraction_of, stream


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
    with pytest.raises(lc.OptionError, match="a delay must be a string or a Delay; got datetime"):
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
