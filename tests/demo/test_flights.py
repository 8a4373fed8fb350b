from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from latecomer import demo
from latecomer.demo import flights as flights_module
from latecomer.demo.flights import read_flights, reported
from latecomer.errors import MissingPackageError


@pytest.fixture(scope="module")
def flights() -> pa.Table:
    return read_flights()


def test_all_flights_of_the_year_are_read(flights: pa.Table) -> None:
    assert flights.num_rows == 336_776
    assert flights.column_names == ["departed", "landed", "origin", "dest", "carrier", "flight"]


def test_cancelled_flights_have_no_time_but_an_arrival(flights: pa.Table) -> None:
    assert flights["departed"].null_count == 8_255
    assert flights["landed"].null_count == 0


def test_diverted_flights_count_as_reported_when_they_departed(flights: pa.Table) -> None:
    assert pc.sum(pc.equal(flights["departed"], flights["landed"])).as_py() == 1_175


def test_flights_come_in_the_order_in_which_they_landed(flights: pa.Table) -> None:
    landed = flights["landed"].to_numpy()

    assert (landed[1:] >= landed[:-1]).all()


def test_times_are_in_utc_and_count_the_minutes_after_schedule(flights: pa.Table) -> None:
    """UA 1545 left Newark on 1 January at 5:17, two minutes after schedule, for 227 minutes."""
    first = flights.filter(pc.equal(flights["flight"], 1545)).sort_by("departed").to_pylist()[0]

    assert first == {
        "departed": datetime(2013, 1, 1, 10, 17, tzinfo=UTC),
        "landed": datetime(2013, 1, 1, 14, 4, tzinfo=UTC),
        "origin": "EWR",
        "dest": "IAH",
        "carrier": "UA",
        "flight": 1545,
    }


def test_without_the_package_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flights_module, "find_spec", lambda _name: None)

    with pytest.raises(MissingPackageError, match=r'pip install "latecomer\[demo,spark,java\]"'):
        read_flights()


def test_a_stretch_has_no_flights_from_before_it(flights: pa.Table) -> None:
    stretch = reported(flights, demo.SINCE, hours=24)

    assert pc.min(stretch["departed"]).as_py() >= demo.SINCE
    assert pc.max(stretch["landed"]).as_py() < demo.SINCE + timedelta(hours=24)
    assert stretch["departed"].null_count > 0
