from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from rich.console import Console

from latecomer import demo
from latecomer.demo import flights as flights_module
from latecomer.demo.checks import check, check_recall
from latecomer.demo.flights import read_flights, reported
from latecomer.demo.picture import picture
from latecomer.demo.summary import show
from latecomer.errors import MissingPackageError
from latecomer.hosts.late import NO_TIME
from latecomer.operators.base import LATE
from tests.support.demo_locally import locally

if TYPE_CHECKING:
    from latecomer.demo.outcome import Outcome


@pytest.fixture(scope="module")
def flights() -> pa.Table:
    return read_flights()


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return locally()


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


def test_a_stretch_has_no_flights_from_before_it(flights: pa.Table) -> None:
    stretch = reported(flights, demo.SINCE, hours=24)

    assert pc.min(stretch["departed"]).as_py() >= demo.SINCE
    assert pc.max(stretch["landed"]).as_py() < demo.SINCE + timedelta(hours=24)
    assert stretch["departed"].null_count > 0


@pytest.mark.usefixtures("spark")
def test_spark_answers_as_the_local_host_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "work"))
    screen = StringIO()
    html = tmp_path / "picture.html"

    demo.run(Console(file=screen, width=80), hours=12, every="3 hours", html=html)

    outcome = locally(hours=12, every="3 hours")
    printed = screen.getvalue()
    assert outcome.totals == [172, 222, 238]
    assert shown(outcome) in printed
    assert "417 real flights" in printed
    assert html.read_text(encoding="utf-8") == picture(outcome)
    assert "in 5 micro-batches" in printed
    assert f"The picture is in {html}." in printed
    assert "…" not in printed
    assert list((tmp_path / "work").iterdir()) == []


def shown(outcome: Outcome) -> str:
    screen = StringIO()
    show(Console(file=screen, width=80), outcome)
    return screen.getvalue()


def test_the_demo_adds_up_and_its_answers_get_better(outcome: Outcome) -> None:
    check(outcome)

    assert outcome.totals == [545, 724, 858]
    assert outcome.rows_late == {LATE: 8, NO_TIME: 73}
    assert outcome.held == 136
    assert 858 + 8 + 73 + 136 == outcome.flights.num_rows == 1_075
    assert [outcome.refined(level) for level in (1, 2)] == [53, 33]


def test_what_the_readme_shows_of_the_demo_is_what_it_prints(outcome: Outcome) -> None:
    readme = Path(__file__).parents[2].joinpath("README.md").read_text(encoding="utf-8")
    block = readme.partition("$ latecomer demo\n")[2].partition("```")[0]
    printed = [line.rstrip() for line in shown(outcome).splitlines()]

    assert len(block.splitlines()) > 10
    assert [line for line in block.splitlines() if line not in printed] == []


def test_a_demo_in_which_nothing_closes_says_so() -> None:
    outcome = locally(hours=4)

    check(outcome)
    check_recall(outcome, [], {0, 1, 2})

    assert outcome.closed == []
    assert "recall" not in shown(outcome)
    assert "No window has closed yet." in picture(outcome)


def changed(outcome: Outcome, level: int, **changes: int | bool) -> Outcome:
    """Change one answer of the first window that has three and late flights."""
    windows = [*outcome.windows]
    at = next(i for i, window in enumerate(windows) if all(window.answers) and window.late)
    answers = [*windows[at].answers]
    answer = answers[level]
    assert answer is not None
    answers[level] = replace(answer, **changes)
    windows[at] = replace(windows[at], answers=tuple(answers))
    return replace(outcome, windows=windows)


def test_a_lost_flight_is_noticed(outcome: Outcome) -> None:
    with pytest.raises(
        AssertionError, match="1,075 flights in, 858 counted and 80 late leave 137 held; 136 are"
    ):
        check(replace(outcome, late=outcome.late.slice(1)))


def test_a_wrong_final_answer_is_noticed_even_if_the_sum_is_right(outcome: Outcome) -> None:
    windows = [*outcome.windows]
    (first, a), (second, b) = [(i, w) for i, w in enumerate(windows) if w.final][:2]
    windows[first], windows[second] = (
        replace(a, answers=b.answers),
        replace(b, answers=a.answers),
    )

    with pytest.raises(AssertionError, match="flights in time, but the last answer is"):
        check(replace(outcome, windows=windows))


@pytest.mark.parametrize("changes", [{"departures": 999}, {"is_changed": False}])
def test_an_answer_that_gets_worse_or_is_mislabelled_is_noticed(
    outcome: Outcome, changes: dict[str, int | bool]
) -> None:
    with pytest.raises(AssertionError, match="answers that do not get better as they say"):
        check(changed(outcome, 1, **changes))


def test_the_recall_that_a_query_tells_is_that_of_its_answers(outcome: Outcome) -> None:
    every = {window.final.batch for window in outcome.closed if window.final}

    check_recall(outcome, [545 / 858, 724 / 858, 1.0], every)
    with pytest.raises(AssertionError, match=r"told a recall of .*; its answers add up to \[545,"):
        check_recall(outcome, [0.5, 0.8, 1.0], every)


def test_a_picture_that_cannot_be_written_is_told_and_does_no_harm(
    outcome: Outcome, tmp_path: Path
) -> None:
    assert demo._drawn(outcome, None) == ""
    told = demo._drawn(outcome, tmp_path / "nowhere" / "picture.html")
    assert re.fullmatch(r"No picture: .* No such file or directory: '.*picture.html'\.", told)


def test_small_talk_is_left_out_and_everything_else_is_passed_on() -> None:
    talk = "Streaming TransformWithStateInPandas Python worker"
    program = f"""
import subprocess, sys, threading
from latecomer.demo.quiet import without_small_talk
with without_small_talk():
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=2, text=True)
child.communicate("one\\n\\nStarting {talk}.\\n\\n{talk} received\\n\\n\\ntwo\\n")
print("three", file=sys.stderr)
# The relay ends once nobody can write any more; a program that ends before would cut it off.
[thread.join() for thread in threading.enumerate() if thread.daemon]
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
