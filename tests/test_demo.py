from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime
from io import StringIO
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from rich.console import Console

from latecomer import demo
from latecomer.demo import flights as flights_module
from latecomer.demo.flights import read_flights
from latecomer.demo.outcome import Outcome
from latecomer.errors import MissingPackageError

if TYPE_CHECKING:
    from pathlib import Path


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

    with pytest.raises(MissingPackageError, match=r'pip install "latecomer\[demo\]"'):
        read_flights()


@pytest.mark.usefixtures("spark")
def test_a_week_of_flights_comes_out_in_order_and_adds_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    screen = StringIO()

    demo.run(Console(file=screen, width=80), days=7, batches=4)

    printed = screen.getvalue()
    rows = {
        name: int(count.replace(",", ""))
        for count, name in re.findall(
            r"^ *([\d,]+)  (rows in|ready|late|no time|held) ", printed, re.MULTILINE
        )
    }
    assert rows == {"rows in": 6_099, "ready": 5_996, "late": 20, "no time": 35, "held": 48}
    assert 5_996 + 20 + 35 + 48 == 6_099
    assert "of the flights that departed were reported out of order" in printed
    assert "Jan 01 10:17  Jan 01 14:04  EWR" in printed
    assert "_behind" in printed
    assert "…" not in printed
    assert list(tmp_path.iterdir()) == []


def departures(*hours: int) -> pa.Table:
    departed = [datetime(2013, 1, 1, hour, tzinfo=UTC) for hour in hours]
    return pa.table(
        {"departed": pa.array(departed, pa.timestamp("us", "UTC")), "origin": ["JFK"] * len(hours)}
    )


def test_a_lost_row_is_noticed() -> None:
    with pytest.raises(AssertionError, match="3 rows in, 1 ready and 0 late leave 2 held; 1 are"):
        Outcome(departures(1, 2, 5), [departures(1)], [], wait=3 * 3_600_000_000).check()


@pytest.mark.parametrize(
    "ready", [[departures(2, 1)], [departures(2), departures(1)]], ids=["within", "between"]
)
def test_disorder_within_or_between_micro_batches_is_noticed(ready: list[pa.Table]) -> None:
    with pytest.raises(AssertionError, match="came before one that departed earlier"):
        Outcome(departures(2, 1), ready, [], wait=0).check()


def test_small_talk_is_left_out_and_everything_else_is_passed_on() -> None:
    talk = "Streaming TransformWithStateInPandas Python worker"
    program = f"""
import subprocess, sys
from latecomer.demo.quiet import without_small_talk
with without_small_talk():
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=2, text=True)
child.communicate("one\\n\\nStarting {talk}.\\n\\n{talk} received\\n\\n\\ntwo\\n")
print("three", file=sys.stderr)
"""

    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert sorted(answer.stderr.splitlines()) == ["", "", "one", "three", "two"]


def test_what_was_said_before_a_failure_stands_above_the_error() -> None:
    program = """
import os, subprocess
from latecomer.demo.quiet import without_small_talk
with without_small_talk():
    subprocess.run(["sh", "-c", "echo no memory >&2"])
    raise SystemExit("did not start")
"""

    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert answer.stderr.splitlines() == ["no memory", "did not start"]
